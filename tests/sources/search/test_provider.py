"""Tests of the helpers of search providers."""

import time
from datetime import date

import pytest

from tenure.contracts.choices import TimeRange
from tenure.contracts.evidence.web import WebSearchRequest
from tenure.sources.search.provider import (
    MAX_SNIPPET_LENGTH,
    add_site_operators,
    build_result,
    compute_first_day,
    parse_primary_language,
    strip_markup,
    truncate_query,
)


@pytest.mark.parametrize(
    ("marked", "words"),
    [
        ("the <strong>sour</strong>dough", "the sourdough"),
        ("<jats:p>One.</jats:p><jats:p>Two.</jats:p>", "One. Two."),
        ("a < b and c > d", "a < b and c > d"),
        ("R&amp;D <!-- hidden --> &lt;b&gt;", "R&D <b>"),
        ("  much \n\t space ", "much space"),
    ],
)
def test_markup_is_stripped(marked: str, words: str) -> None:
    """Inline tags vanish, other tags separate words, entities are decoded once, and comparison signs are kept."""
    assert strip_markup(marked, 100) == words


def test_missing_and_long_fields_are_handled() -> None:
    """A missing field is empty, and a long field is truncated."""
    result = build_result(None, None, "x" * 10**6)

    assert (result.url, result.title, len(result.snippet)) == ("", "", MAX_SNIPPET_LENGTH)


@pytest.mark.parametrize(
    ("time_range", "first"), [("day", "2026-03-09"), ("week", "2026-03-03"), ("month", "2026-02-07")]
)
def test_a_time_range_ends_today(time_range: TimeRange, first: str) -> None:
    """The range starts as many days ago as its name says."""
    assert compute_first_day(time_range, date(2026, 3, 10)).isoformat() == first


def test_domains_become_operators() -> None:
    """Web search engines accept domains as part of the query."""
    assert add_site_operators(WebSearchRequest(query="rye")) == "rye"
    assert add_site_operators(WebSearchRequest(query="rye", domains=("a.org",))) == "rye site:a.org"
    both = WebSearchRequest(query="rye", domains=("a.org", "b.org"), excluded_domains=("c.org",))
    assert add_site_operators(both) == "rye (site:a.org OR site:b.org) -site:c.org"


def test_a_query_is_truncated_between_words() -> None:
    """A truncated query contains whole words."""
    assert truncate_query("rye flour starter", 17) == "rye flour starter"
    assert truncate_query("rye flour starter", 10) == "rye flour"
    assert truncate_query("rye flour starter", 9) == "rye flour"
    assert truncate_query("Donaudampfschiff", 5) == "Donau"


@pytest.mark.parametrize(
    ("tag", "language"), [("", ""), ("de", "de"), ("pt-BR", "pt"), ("zh_Hant", "zh"), ("German", "")]
)
def test_the_language_of_a_tag(tag: str, language: str) -> None:
    """Region and script are removed, and the name of a language is no tag."""
    assert parse_primary_language(tag) == language


def test_a_number_of_thousands_of_digits_is_one_character() -> None:
    """A character reference that `int` refuses does not make a search fail."""
    assert strip_markup(f"Rye &#{'1' * 5_000};", 300) == "Rye \ufffd"


@pytest.mark.parametrize("text", ["<" + "a" * 20_000, "<!--" * 5_000, "<a " * 7_000])
def test_markup_without_an_end_is_read_in_linear_time(text: str) -> None:
    """A tag or comment that does not end does not hold up the event loop."""
    started = time.process_time()
    strip_markup(text, 1_000)

    assert time.process_time() - started < 0.2  # 0.001 s; a tag took 0.9 s, comments 0.5 s
