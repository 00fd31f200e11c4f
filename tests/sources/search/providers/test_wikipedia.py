"""Tests of the Wikipedia provider."""

import pytest

from tenure.sources.search.provider import SearchRefused, SearchResult, SearchUnavailable
from tenure.sources.search.providers.wikipedia import Wikipedia
from tests.sources.search.conftest import Searched

HIT = {"ns": 0, "title": "Rye bread/Überblick", "pageid": 7, "snippet": '<span class="searchmatch">Rye</span> is'}
REPLY = {"batchcomplete": True, "query": {"searchinfo": {"totalhits": 1}, "search": [HIT]}}


@pytest.mark.parametrize(("language", "wiki"), [("", "en"), ("de-AT", "de"), ("x-klingon", "en"), ("../evil", "en")])
async def test_the_language_selects_the_wiki(searched: Searched, language: str, wiki: str) -> None:
    """The language is part of the host; an invalid tag means English."""
    results, (asked,) = await searched(Wikipedia, REPLY, path="/{language}", language=language, k=5)

    assert asked.path == f"/{wiki}/w/api.php"
    assert results == [
        SearchResult(f"https://{wiki}.wikipedia.org/wiki/Rye_bread/%C3%9Cberblick", "Rye bread/Überblick", "Rye is")
    ]
    assert asked.query == {
        "action": "query",
        "list": "search",
        "srsearch": "rye starter",
        "srlimit": "5",
        "srprop": "snippet",
        "format": "json",
        "formatversion": "2",
    }


async def test_an_error_is_raised(searched: Searched) -> None:
    """MediaWiki returns errors with status 200."""
    with pytest.raises(SearchUnavailable, match="cirrussearch-backend-error"):
        await searched(Wikipedia, {"error": {"code": "cirrussearch-backend-error", "info": "…"}})
    with pytest.raises(SearchRefused, match="unexpected response"):
        await searched(Wikipedia, {"batchcomplete": True})
