"""Tests of the arXiv provider."""

import pytest

from tenure.sources.search.provider import SearchRefused, SearchResult, SearchUnavailable
from tenure.sources.search.providers.arxiv import Arxiv
from tests.sources.search.conftest import Searched

REPLY = b"""<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>http://arxiv.org/abs/2601.00001v2</id>
<updated>2026-02-01T00:00:00Z</updated><published>2026-01-05T00:00:00Z</published><title>On
 rye</title><summary>A grass.</summary><link href="http://arxiv.org/abs/2601.00001v2" rel="alternate" type="text/html"/>
<link title="pdf" href="http://arxiv.org/pdf/2601.00001v2" rel="related"/></entry></feed>"""
ERROR = b"""<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>http://arxiv.org/api/errors#bad</id><title>Error</title>
<summary>bad</summary><link href="http://arxiv.org/api/errors#bad" rel="alternate"/></entry></feed>"""


async def test_papers_match_any_word(searched: Searched) -> None:
    """Content words are searched; a paper has the URL of its abstract and the date of its first version."""
    results, (asked,) = await searched(Arxiv, REPLY, query="What is the rye, rye starter?", k=5)

    assert results == [SearchResult("http://arxiv.org/abs/2601.00001v2", "On rye", "A grass.", "2026-01-05T00:00:00Z")]
    assert (asked.path, asked.query["max_results"]) == ("/api/query", "5")
    assert asked.query["search_query"] == "(all:rye OR all:starter)"


async def test_the_time_range_filters_by_submission(searched: Searched) -> None:
    """The filter starts with the first day of the range."""
    _, (asked,) = await searched(Arxiv, REPLY, time_range="month")

    assert " AND submittedDate:[20" in asked.query["search_query"]


async def test_a_query_without_content_words_sends_no_request(searched: Searched) -> None:
    """An empty search would find everything."""
    assert await searched(Arxiv, REPLY, query="what is it?") == ([], [])


async def test_errors_are_not_results(searched: Searched) -> None:
    """The API returns errors as entries of a feed; other text is an unexpected response."""
    with pytest.raises(SearchUnavailable, match="returned an error"):
        await searched(Arxiv, ERROR)
    for body in (b"<html></html>", b"no xml"):
        with pytest.raises(SearchRefused, match="unexpected response"):
            await searched(Arxiv, body)
