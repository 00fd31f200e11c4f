"""Tests of the Tavily provider."""

from tenure.sources.search.provider import SearchResult
from tenure.sources.search.providers.tavily import Tavily
from tests.sources.search.conftest import KEY, Searched

HIT = {"url": "https://a.org/", "title": "Rye", "content": "A grass.", "score": 0.9}
REPLY = {"query": "rye", "results": [HIT, {**HIT, "published_date": "Mon, 05 Jan 2026 10:00:00 GMT"}]}


async def test_the_request_has_all_parameters(searched: Searched) -> None:
    """Domains and time range are fields of the body, and the key is a bearer token."""
    wish = {"k": 50, "time_range": "week", "domains": ("a.org",), "excluded_domains": ("b.org",)}
    results, (asked,) = await searched(Tavily, REPLY, **wish)

    assert results[0] == SearchResult("https://a.org/", "Rye", "A grass.")
    assert results[1].published == "Mon, 05 Jan 2026 10:00:00 GMT"
    assert (asked.method, asked.path, asked.headers["authorization"]) == ("POST", "/search", f"Bearer {KEY}")
    assert asked.json == {
        "query": "rye starter",
        "max_results": 20,
        "search_depth": "basic",
        "time_range": "week",
        "include_domains": ["a.org"],
        "exclude_domains": ["b.org"],
    }


async def test_a_plain_request_has_no_filters(searched: Searched) -> None:
    """A plain search has a plain body, truncated to the limits of Tavily."""
    _, (asked,) = await searched(Tavily, {"results": []}, query="rye " * 200)

    assert asked.json.keys() == {"query", "max_results", "search_depth"}
    assert len(asked.json["query"]) <= 400
