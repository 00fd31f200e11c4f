"""Tests of noun phrases, identifiers and their keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.text.phrases import MAX_PHRASE_WORDS, extract_terms, is_identifier, normalize_term


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The vector index returns approximate neighbours quickly.", ("vector index", "approximate neighbours")),
        ("A hybrid search asks two indexes.", ("hybrid search", "two indexes")),
        ("It is a read-only mode, and nothing else.", ("read-only mode",)),
        ("They are read-only.", ("read-only",)),
        (
            "Call `merge_insert` or table.optimize() of the HTTPServer.",
            ("merge_insert", "table.optimize()", "HTTPServer"),
        ),
        ("BM25 is a ranking function.", ("BM25", "ranking function")),
        ("In 1694 3 ships arrived.", ()),
        ("The rows were compacted.", ()),
        ("Une recherche hybride, deux index.", ("Une recherche hybride", "deux index")),
        ("one two three four five six seven", ()),
        ("", ()),
    ],
)
def test_phrases_are_runs_between_boundaries(sentence: str, expected: tuple[str, ...]) -> None:
    """A run of two to four content words is a phrase; a single word is a term only if its spelling marks it."""
    assert expected == extract_terms(sentence)


def test_each_term_occurs_once() -> None:
    """Singular and plural are one term in its first spelling."""
    assert extract_terms("A vector index, many vector indexes and one vector index.") == ("vector index",)
    assert extract_terms("Vector indices; vector queries; a vector query.") == ("Vector indices", "vector queries")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vector indexes", "vector index"),
        ("hybrid searches", "hybrid search"),
        ("two queries", "two query"),
        ("old glasses", "old glass"),
        ("many wishes", "many wish"),
        ("linear equations", "linear equation"),
        ("rough analysis", "rough analysis"),
        ("United States", "united states"),
        ("the boundary layer", "boundary layer"),
        ("gas", "gas"),
        ("", ""),
        ("…", ""),
    ],
)
def test_term_key_is_singular(text: str, expected: str) -> None:
    """The last word of a term becomes singular unless it is capitalised."""
    assert expected == normalize_term(text)


@pytest.mark.parametrize(
    "word", ["merge_insert", "_private", "run()", "a.run()", "os.path", "HTTPServer", "toString", "BM25"]
)
def test_identifiers_are_recognised_by_spelling(word: str) -> None:
    """Underscores, calls, dots, inner capitals and capitals with digits mark identifiers."""
    assert is_identifier(word)


@pytest.mark.parametrize("word", ["word", "Paris", "read-only", "1694", "l'eau"])
def test_ordinary_words_are_not_identifiers(word: str) -> None:
    """Words, names and numbers are not identifiers."""
    assert not is_identifier(word)


@given(st.text(max_size=200))
def test_terms_handle_any_text(sentence: str) -> None:
    """For any text, each term has its own key, occurs in the text and is bounded."""
    found = extract_terms(sentence)
    keys = [normalize_term(term) for term in found]

    assert len(set(keys)) == len(keys)
    assert all(keys)
    assert all(len(term.split()) <= MAX_PHRASE_WORDS for term in found)
    assert all(word in sentence for term in found for word in term.split())


def test_capitals_keep_a_last_s() -> None:
    """An abbreviation ending in S is not a plural; the same letters in small type are."""
    assert [normalize_term(text) for text in ("HTTPS", "A00S", "_AABS", "proxies")] == [
        "https",
        "a00s",
        "aabs",
        "proxy",
    ]
