"""Tests of results in JSON of any schema."""

import pytest

from tenure.sources.search.json_results import find_links, find_results
from tenure.sources.search.provider import SearchResult

A = {"url": "https://a.org/", "title": "A", "snippet": "About a.", "date": "2026-01-05"}
SAME = SearchResult("https://a.org/", "A", "About a.", "2026-01-05")


@pytest.mark.parametrize(
    "value",
    [
        [A],
        {"results": [A], "suggestions": ["b"]},
        {"data": {"webPages": {"value": [A]}}, "ads": []},
        [{"id": "https://a.org/", "name": "A", "url": "", "text": "About a.", "published": "2026-01-05"}],
        {
            "items": [
                {"link": "https://a.org/", "headline": "A", "description": "About a.", "date": "2026-01-05"},
                {"x": 1},
            ]
        },
    ],
)
def test_a_list_of_urls_is_found(value: object) -> None:
    """The names of keys do not matter."""
    assert find_results(value) == [SAME]


def test_the_longest_list_is_used() -> None:
    """Advertisements are fewer than results."""
    assert len(find_results({"ads": [A], "results": [A, A, A]})) == 3


@pytest.mark.parametrize(
    "value", [None, 7, "https://a.org/", {}, [], [1], {"a": {"url": "javascript:x"}}, [{"url": 7}]]
)
def test_without_a_list_there_are_no_results(value: object) -> None:
    """Numbers, texts and other URLs than those of the web are no results."""
    assert find_results(value) == []


def test_depth_is_limited() -> None:
    """A deeply nested list is ignored."""
    deep: object = [A]
    for _ in range(20):
        deep = {"x": deep}

    assert find_results(deep) == []


def test_links_in_a_text_are_found() -> None:
    """Markdown links and plain URLs are found, without trailing punctuation."""
    text = "1. [Rye](https://a.org/rye)\n   see <https://b.org/x>, or https://c.org/y."

    assert find_links(text) == [
        SearchResult("https://a.org/rye", "Rye"),
        SearchResult("https://b.org/x"),
        SearchResult("https://c.org/y"),
    ]
