"""Tests of the OpenAlex provider."""

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
async def test_works_have_the_url_of_their_open_access_text(
    searched: Searched, locations: dict[str, object], address: str
) -> None:
    """Otherwise the URL is the landing page, the DOI or the record; the abstract is restored from its index."""
    results, _ = await searched(OpenAlex, {"results": [{**WORK, **locations}]})

    assert results == [SearchResult(address, "Rye", "Rye is grass.", "2026-01-05")]


async def test_the_request_has_all_parameters(searched: Searched) -> None:
    """Operators are removed from the query; time range and language are filters."""
    wish = {"query": 'Is "rye" OR spelt better?', "time_range": "year", "language": "de-CH", "k": 7}
    _, (asked,) = await searched(OpenAlex, {"results": []}, **wish)

    assert (asked.path, asked.query["search"], asked.query["per_page"]) == ("/works", "Is rye spelt better", "7")
    assert asked.query["api_key"] == KEY
    since, language = asked.query["filter"].split(",")
    assert (since.partition(":")[0], language) == ("from_publication_date", "language:de")


async def test_a_plain_request_has_no_filter(searched: Searched) -> None:
    """Without a key no empty parameter is sent; a work without fields is no error."""
    results, (asked,) = await searched(OpenAlex, {"results": [{}]}, key="")

    assert results == [SearchResult("")]
    assert asked.query.keys() == {"search", "per_page", "select"}
