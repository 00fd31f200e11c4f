"""SearXNG, in the format of its JSON."""

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


async def test_the_request_is_what_searxng_takes(http: HttpConnections) -> None:
    """Time range, language, safe search and domains are handed on, and JSON is asked for."""
    wish = WebSearchRequest(
        query="rye", k=2, time_range="month", language="de-CH", safe_search=False, domains=("a.org",)
    )
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
        "safesearch": "0",
    }
    assert results[1] == SearchResult("https://a.org/1/1", "Rye 1", "A grass.", "2026-01-05T00:00:00")
    assert results[0].published == ""


@pytest.mark.parametrize(
    ("tag", "name"), [("", "all"), ("de", "de"), ("de-CH", "de-CH"), ("zh-Hant", "zh"), ("German", "all")]
)
async def test_languages_are_in_the_form_that_is_taken(http: HttpConnections, tag: str, name: str) -> None:
    """A script is left out, and what is no tag asks for any."""
    with FakeSearchServer(page) as server:
        await Searxng(ApiClient(http, "searxng", server.url)).search(WebSearchRequest(query="rye", k=1, language=tag))

    assert server.requests[0].query["language"] == name


async def test_pages_are_asked_for_until_there_is_enough(http: HttpConnections) -> None:
    """One page may hold less than is wanted; when nothing new comes, there is no more."""
    with FakeSearchServer(page) as server:
        results = await Searxng(ApiClient(http, "searxng", server.url)).search(WebSearchRequest(query="rye", k=50))

    assert len(results) == 6
    assert [asked.query["pageno"] for asked in server.requests] == ["1", "2", "3"]


async def test_engines_that_were_not_heard_make_no_empty_answer(http: HttpConnections) -> None:
    """Nothing found while servers behind the instance failed says nothing, and is told with their names."""
    silent = {"results": [], "unresponsive_engines": [["one", "timeout"], ["two", "access denied"]]}
    with (
        FakeSearchServer(FakeResponse(silent)) as server,
        pytest.raises(SearchUnavailable, match="one: timeout, two: access denied"),
    ):
        await Searxng(ApiClient(http, "searxng", server.url)).search(WebSearchRequest(query="rye"))


async def test_an_instance_without_json_is_told_what_to_set(http: HttpConnections) -> None:
    """The refusal of a format is the usual fault of a new instance."""
    with FakeSearchServer(FakeResponse("Forbidden", 403)) as server, pytest.raises(SearchRefused, match="add `json`"):
        await Searxng(ApiClient(http, "searxng", server.url)).search(WebSearchRequest(query="rye"))


async def test_other_refusals_stay_what_they_are(http: HttpConnections) -> None:
    """A wrong address is not a question of formats."""
    with FakeSearchServer(FakeResponse("Not found", 404)) as server, pytest.raises(SearchRefused, match="status 404"):
        await Searxng(ApiClient(http, "searxng", server.url)).search(WebSearchRequest(query="rye"))
