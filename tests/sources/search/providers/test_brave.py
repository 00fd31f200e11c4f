"""Brave, in the format of its API."""

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


async def test_the_request_is_what_brave_takes(searched: Searched) -> None:
    """Key, time range, language, safe search and domains each have their place."""
    wish = {"k": 50, "time_range": "week", "language": "de-CH", "domains": ("a.org",), "safe_search": False}
    results, (asked,) = await searched(Brave, REPLY, **wish)

    assert results == [SearchResult("https://a.org/", "Rye", "A grass.", "2026-01-05T00:00:00")]
    assert asked.path == "/web/search"
    assert asked.headers["x-subscription-token"] == KEY
    assert asked.query == {
        "q": "rye starter site:a.org",
        "count": "20",
        "safesearch": "off",
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
async def test_languages_have_names_of_their_own(searched: Searched, tag: str, name: str | None) -> None:
    """Where Brave's name differs from everybody's, it is used; none is asked for where none is wished."""
    _, (asked,) = await searched(Brave, REPLY, language=tag)

    assert asked.query.get("search_lang") == name


async def test_a_long_query_is_cut(searched: Searched) -> None:
    """Brave refuses more than 400 characters or 50 words."""
    _, (asked,) = await searched(Brave, REPLY, query="so " * 100)

    assert asked.query["q"] == " ".join(["so"] * 50)


async def test_nothing_found_is_an_answer(searched: Searched) -> None:
    """Without results there is no list of them."""
    assert (await searched(Brave, {"type": "search", "query": {}}))[0] == []


async def test_something_else_is_no_answer(searched: Searched) -> None:
    """JSON of another service is not an empty list."""
    with pytest.raises(SearchRefused, match="unexpected response"):
        await searched(Brave, {"results": []})
