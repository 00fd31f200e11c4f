"""Tests of the SearXNG provider."""

import pytest

from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.api_client import ApiClient, HttpConnections
from tenure.sources.search.provider import SearchRefused, SearchResult, SearchUnavailable
from tenure.sources.search.providers.searxng import Searxng
from tests.sources.search.fake_search_server import FakeResponse, FakeSearchServer, RecordedRequest


def page(asked: RecordedRequest) -> FakeResponse:
    """Return one of two pages of three results each."""
    number = int(asked.query["pageno"])
    results = [
        {
            "url": f"https://a.org/{number}/{n}",
            "title": f"Rye {n}",
            "content": "A <em>grass</em>.",
            "publishedDate": "2026-01-05T00:00:00" if n else None,
            "server": "somewhere",
            "servers": ["somewhere"],
            "score": 1.0,
        }
        for n in range(3 if number < 3 else 0)
    ]
    return FakeResponse(
        {"query": asked.query["q"], "number_of_results": 0, "results": results, "unresponsive_engines": []}
    )


async def test_the_request_has_all_parameters(http: HttpConnections) -> None:
    """Time range, language, safe search and domains are passed on, and the format is JSON."""
    wish = WebSearchRequest(query="rye", k=2, time_range="month", language="de-CH", domains=("a.org",))
    with FakeSearchServer(page) as server:
        results = await Searxng(ApiClient(http, "searxng", server.url)).search(wish)

    (asked,) = server.requests
    assert asked.path == "/search"
    assert asked.query == {
        "q": "rye site:a.org",
        "format": "json",
        "categories": "general",
        "pageno": "1",
        "time_range": "month",
        "language": "de-CH",
        "safesearch": "1",
    }
    assert results[1] == SearchResult("https://a.org/1/1", "Rye 1", "A grass.", "2026-01-05T00:00:00")
    assert results[0].published == ""


@pytest.mark.parametrize(
    ("tag", "name"), [("", "all"), ("de", "de"), ("de-CH", "de-CH"), ("zh-Hant", "zh"), ("German", "all")]
)
async def test_languages_are_mapped(http: HttpConnections, tag: str, name: str) -> None:
    """A script is removed, and an invalid tag means any language."""
    with FakeSearchServer(page) as server:
        await Searxng(ApiClient(http, "searxng", server.url)).search(WebSearchRequest(query="rye", k=1, language=tag))

    assert server.requests[0].query["language"] == name


async def test_pages_are_requested_until_there_are_enough_results(http: HttpConnections) -> None:
    """A page may have fewer results than requested; a page without new results is the last."""
    with FakeSearchServer(page) as server:
        results = await Searxng(ApiClient(http, "searxng", server.url)).search(WebSearchRequest(query="rye", k=50))

    assert len(results) == 6
    assert [asked.query["pageno"] for asked in server.requests] == ["1", "2", "3"]


async def test_an_empty_page_with_failed_engines_is_an_error(http: HttpConnections) -> None:
    """If engines of the instance failed, an empty result is an error that names them."""
    silent = {"results": [], "unresponsive_engines": [["one", "timeout"], ["two", "access denied"]]}
    with (
        FakeSearchServer(FakeResponse(silent)) as server,
        pytest.raises(SearchUnavailable, match="one: timeout, two: access denied"),
    ):
        await Searxng(ApiClient(http, "searxng", server.url)).search(WebSearchRequest(query="rye"))


async def test_an_instance_without_json_is_reported(http: HttpConnections) -> None:
    """A new instance usually does not permit the JSON format."""
    with FakeSearchServer(FakeResponse("Forbidden", 403)) as server, pytest.raises(SearchRefused, match="add `json`"):
        await Searxng(ApiClient(http, "searxng", server.url)).search(WebSearchRequest(query="rye"))


async def test_other_errors_are_unchanged(http: HttpConnections) -> None:
    """A wrong URL is not reported as a problem of the format."""
    with FakeSearchServer(FakeResponse("Not found", 404)) as server, pytest.raises(SearchRefused, match="status 404"):
        await Searxng(ApiClient(http, "searxng", server.url)).search(WebSearchRequest(query="rye"))
