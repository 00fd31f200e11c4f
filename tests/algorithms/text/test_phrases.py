"""Noun phrases and identifiers in sentences, and the keys under which they meet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.text.phrases import LONGEST_PHRASE, is_identifier, term_key, terms


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
def test_phrases_stand_between_stop_words_marks_and_verbs(sentence: str, expected: tuple[str, ...]) -> None:
    """A run of two to four content words is a phrase; a single word is a term only if its spelling says so."""
    assert expected == terms(sentence)


def test_a_term_is_told_once() -> None:
    """Singular and plural are one term, written as it stands first."""
    assert terms("A vector index, many vector indexes and one vector index.") == ("vector index",)
    assert terms("Vector indices; vector queries; a vector query.") == ("Vector indices", "vector queries")


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
def test_the_key_of_a_term_is_singular(text: str, expected: str) -> None:
    """The last word of a term is put into the singular unless it is capitalised, as a name's is."""
    assert expected == term_key(text)


@pytest.mark.parametrize(
    "word", ["merge_insert", "_private", "run()", "a.run()", "os.path", "HTTPServer", "toString", "BM25"]
)
def test_identifiers_are_known_by_their_spelling(word: str) -> None:
    """Underscores, calls, dots, inner capitals and capitals with digits mark what code calls things."""
    assert is_identifier(word)


@pytest.mark.parametrize("word", ["word", "Paris", "read-only", "1694", "l'eau"])
def test_ordinary_words_are_no_identifiers(word: str) -> None:
    """Words, names and numbers are none."""
    assert not is_identifier(word)


@given(st.text(max_size=200))
def test_any_sentence_can_be_read(sentence: str) -> None:
    """Whatever the text, a term has a key of its own, stands in the text, and is no longer than allowed."""
    found = terms(sentence)
    keys = [term_key(term) for term in found]

    assert len(set(keys)) == len(keys)
    assert all(keys)
    assert all(len(term.split()) <= LONGEST_PHRASE for term in found)
    assert all(word in sentence for term in found for word in term.split())
    assert all(term_key(key) == key for key in keys)
