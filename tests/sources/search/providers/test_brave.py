"""Tests of the Brave provider."""

import pytest

from tenure.sources.search.provider import SearchRefused, SearchResult
from tenure.sources.search.providers.brave import Brave
from tests.sources.search.conftest import KEY, Searched

HIT = {
    "url": "https://a.org/",
    "title": "Rye",
    "description": "A <strong>grass</strong>.",
    "page_age": "2026-01-05T00:00:00",
}
REPLY = {"type": "search", "query": {"original": "rye"}, "web": {"type": "search", "results": [HIT]}}


async def test_the_request_has_all_parameters(searched: Searched) -> None:
    """Key, time range, language, safe search and domains are sent."""
    wish = {"k": 50, "time_range": "week", "language": "de-CH", "domains": ("a.org",)}
    results, (asked,) = await searched(Brave, REPLY, **wish)

    assert results == [SearchResult("https://a.org/", "Rye", "A grass.", "2026-01-05T00:00:00")]
    assert asked.path == "/web/search"
    assert asked.headers["x-subscription-token"] == KEY
    assert asked.query == {
        "q": "rye starter site:a.org",
        "count": "20",
        "safesearch": "moderate",
        "freshness": "pw",
        "search_lang": "de",
        "result_filter": "web",
        "text_decorations": "false",
    }


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        ("", None),
        ("en", "en"),
        ("ja-JP", "jp"),
        ("zh", "zh-hans"),
        ("zh-TW", "zh-hant"),
        ("pt", "pt-pt"),
        ("pt-BR", "pt-br"),
        ("tlh", None),
    ],
)
async def test_languages_are_mapped(searched: Searched, tag: str, name: str | None) -> None:
    """The language codes of Brave differ from BCP 47; an unsupported language is not sent."""
    _, (asked,) = await searched(Brave, REPLY, language=tag)

    assert asked.query.get("search_lang") == name


async def test_a_long_query_is_truncated(searched: Searched) -> None:
    """Brave rejects more than 400 characters or 50 words."""
    _, (asked,) = await searched(Brave, REPLY, query="so " * 100)

    assert asked.query["q"] == " ".join(["so"] * 50)


async def test_an_empty_result_is_an_answer(searched: Searched) -> None:
    """Without results, the response has no list."""
    assert (await searched(Brave, {"type": "search", "query": {}}))[0] == []


async def test_an_unexpected_response_is_an_error(searched: Searched) -> None:
    """JSON of another service is not an empty list."""
    with pytest.raises(SearchRefused, match="unexpected response"):
        await searched(Brave, {"results": []})
