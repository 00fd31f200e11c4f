"""Tests of the Crossref provider."""

import pytest

from tenure.sources.search.provider import SearchRefused, SearchResult
from tenure.sources.search.providers.crossref import Crossref
from tests.sources.search.conftest import Searched

WORK = {
    "DOI": "10.1/x",
    "URL": "https://doi.example/10.1/x",
    "title": ["Rye", "and more"],
    "abstract": "<jats:p>A grass.</jats:p>",
    "issued": {"date-parts": [[2026, 1, 5]]},
}


async def test_works_have_the_url_of_their_doi(searched: Searched) -> None:
    """A date may be incomplete or missing."""
    month = {**WORK, "issued": {"date-parts": [[2026, 1]]}}
    never = {"URL": "https://doi.example/y", "issued": {"date-parts": [[None]]}}
    works = [WORK, month, never, {**never, "issued": {}}]

    results, (asked,) = await searched(Crossref, {"status": "ok", "message": {"items": works}}, k=4)

    assert results == [
        SearchResult("https://doi.example/10.1/x", "Rye and more", "A grass.", "2026-01-05"),
        SearchResult("https://doi.example/10.1/x", "Rye and more", "A grass.", "2026-01"),
        SearchResult("https://doi.example/y"),
        SearchResult("https://doi.example/y"),
    ]
    assert asked.path == "/works"
    assert asked.query == {
        "query": "rye starter",
        "rows": "4",
        "select": "DOI,URL,title,abstract,issued",
        "mailto": "me@a.org",
    }


async def test_the_time_range_is_a_filter(searched: Searched) -> None:
    """The filter starts with the first day of the range."""
    _, (asked,) = await searched(Crossref, {"message": {"items": []}}, time_range="day")

    assert asked.query["filter"].startswith("from-pub-date:20")


async def test_an_unexpected_response_is_an_error(searched: Searched) -> None:
    """A list of errors is not an empty list of works."""
    with pytest.raises(SearchRefused, match="unexpected response"):
        await searched(Crossref, {"status": "failed", "message": [{"type": "validation-failure"}]})
