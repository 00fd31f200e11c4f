"""Tests of the GitHub provider."""

from tenure.sources.search.provider import SearchResult
from tenure.sources.search.providers.github import GitHub
from tests.sources.search.conftest import KEY, Searched
from tests.sources.search.fake_search_server import FakeResponse, RecordedRequest

PROJECT = {
    "html_url": "https://github.com/a/rye",
    "full_name": "a/rye",
    "description": None,
    "pushed_at": "2026-01-05T00:00:00Z",
}
THREAD = {
    "html_url": "https://github.com/a/rye/issues/1",
    "title": "It fails",
    "body": "Why?",
    "created_at": "2026-01-06T00:00:00Z",
}


def answer(asked: RecordedRequest) -> FakeResponse:
    return FakeResponse({"total_count": 2, "items": [PROJECT] if "repositories" in asked.path else [THREAD, THREAD]})


async def test_repositories_and_issues_alternate(searched: Searched) -> None:
    """Both are requested with the token."""
    results, asked = await searched(GitHub, answer, k=5)

    assert [result.url.removeprefix("https://github.com/") for result in results] == [
        "a/rye",
        "a/rye/issues/1",
        "a/rye/issues/1",
    ]
    assert results[1] == SearchResult("https://github.com/a/rye/issues/1", "It fails", "Why?", "2026-01-06T00:00:00Z")
    assert {one.path: one.query for one in asked} == {
        "/search/repositories": {"q": "rye starter", "per_page": "5"},
        "/search/issues": {"q": "rye starter is:issue", "per_page": "5"},
    }
    assert {one.headers["authorization"] for one in asked} == {f"Bearer {KEY}"}


async def test_the_time_range_becomes_qualifiers(searched: Searched) -> None:
    """Repositories are filtered by push and issues by creation; the query is truncated for the qualifiers."""
    _, asked = await searched(GitHub, answer, query="rye " * 200, time_range="week", key="")

    queries = {one.path: one.query["q"] for one in asked}
    assert " pushed:>=20" in queries["/search/repositories"]
    assert " is:issue created:>=20" in queries["/search/issues"]
    assert all(len(query) <= 256 for query in queries.values())
    assert all("authorization" not in one.headers for one in asked)
