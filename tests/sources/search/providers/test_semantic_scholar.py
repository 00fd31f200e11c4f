"""Tests of the Semantic Scholar provider."""

from tenure.sources.search.provider import SearchResult
from tenure.sources.search.providers.semantic_scholar import SemanticScholar
from tests.sources.search.conftest import KEY, Searched

PAPER = {
    "paperId": "1",
    "url": "https://s2.example/1",
    "title": "Rye",
    "abstract": None,
    "year": 2026,
    "publicationDate": None,
}
FREE = {**PAPER, "publicationDate": "2026-01-05", "openAccessPdf": {"url": "https://a.org/x.pdf", "status": "GREEN"}}
SHUT = {**PAPER, "openAccessPdf": {"url": "", "status": None}, "year": None}


async def test_papers_have_the_url_of_their_open_access_pdf(searched: Searched) -> None:
    """Otherwise the URL is the page about the paper; a year replaces a missing date."""
    results, (asked,) = await searched(
        SemanticScholar, {"total": 3, "data": [PAPER, FREE, SHUT]}, query="rye-bread", k=3
    )

    assert results == [
        SearchResult("https://s2.example/1", "Rye", "", "2026"),
        SearchResult("https://a.org/x.pdf", "Rye", "", "2026-01-05"),
        SearchResult("https://s2.example/1", "Rye"),
    ]
    assert asked.headers["x-api-key"] == KEY
    assert asked.query == {
        "query": "rye bread",
        "limit": "3",
        "fields": "title,abstract,url,year,publicationDate,openAccessPdf",
    }


async def test_the_time_range_filters_by_publication(searched: Searched) -> None:
    """The range has no end; without a key none is sent, and without papers the response has no list."""
    results, (asked,) = await searched(SemanticScholar, {"total": 0}, key="", time_range="year")

    assert results == []
    assert asked.query["publicationDateOrYear"].endswith(":")
    assert "x-api-key" not in asked.headers
