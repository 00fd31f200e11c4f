"""OpenAlex, in the format of its API."""

import pytest

from tenure.sources.search.provider import SearchResult
from tenure.sources.search.providers.openalex import OpenAlex
from tests.sources.search.conftest import KEY, Searched

WORK = {
    "id": "https://openalex.example/W1",
    "doi": "https://doi.example/10.1/x",
    "display_name": "Rye",
    "publication_date": "2026-01-05",
    "abstract_inverted_index": {"grass.": [2], "Rye": [0], "is": [1]},
}
FREE = {"landing_page_url": "https://a.org/x", "pdf_url": "https://a.org/x.pdf"}
PAGE = {"landing_page_url": "https://b.org/x", "pdf_url": None}


@pytest.mark.parametrize(
    ("locations", "address"),
    [
        ({"best_oa_location": FREE, "primary_location": PAGE}, "https://a.org/x.pdf"),
        ({"best_oa_location": None, "primary_location": PAGE}, "https://b.org/x"),
        ({}, "https://doi.example/10.1/x"),
        ({"doi": None}, "https://openalex.example/W1"),
    ],
)
async def test_works_are_offered_by_their_free_text(
    searched: Searched, locations: dict[str, object], address: str
) -> None:
    """Else by their page, their DOI, or what OpenAlex says; the abstract is put together from its words."""
    results, _ = await searched(OpenAlex, {"results": [{**WORK, **locations}]})

    assert results == [SearchResult(address, "Rye", "Rye is grass.", "2026-01-05")]


async def test_the_request_is_what_openalex_takes(searched: Searched) -> None:
    """Operators in a question are words at the most; time range and language are filters."""
    wish = {"query": 'Is "rye" OR spelt better?', "time_range": "year", "language": "de-CH", "k": 7}
    _, (asked,) = await searched(OpenAlex, {"results": []}, **wish)

    assert (asked.path, asked.query["search"], asked.query["per_page"]) == ("/works", "Is rye spelt better", "7")
    assert asked.query["api_key"] == KEY
    since, language = asked.query["filter"].split(",")
    assert (since.partition(":")[0], language) == ("from_publication_date", "language:de")


async def test_without_wishes_there_is_no_filter(searched: Searched) -> None:
    """And without a key no empty one is sent; a work that says nothing is no error."""
    results, (asked,) = await searched(OpenAlex, {"results": [{}]}, key="")

    assert results == [SearchResult("")]
    assert asked.query.keys() == {"search", "per_page", "select"}
