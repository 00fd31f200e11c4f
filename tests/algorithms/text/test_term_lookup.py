"""Tests of term lookup."""

import pytest

from tenure.algorithms.text.term_lookup import compile_term_pattern, is_definition


@pytest.mark.parametrize(
    ("term", "text", "found"),
    [
        ("rye", "Rye is a grass.", True),
        ("rye", "Dryers are machines.", False),
        ("rye bread", "Some rye\n  bread.", True),
        ("C++", "He writes C++ daily.", True),
        ("3.5", "It has 13.5 parts.", False),
        ("3.5", "It has 3.5 parts.", True),
    ],
)
def test_term_matches_whole_words(term: str, text: str, found: bool) -> None:
    """Case and white space are ignored, adjacent letters are not."""
    assert bool(compile_term_pattern(term).search(text)) is found


@pytest.mark.parametrize(
    ("sentence", "term", "expected"),
    [
        ("A sourdough is a dough that wild yeast has fermented.", "sourdough", True),
        ("The WAL (write-ahead log) is the journal of a database.", "WAL", True),
        ("Rennet, an enzyme, means curdled milk.", "rennet", True),
        ("Dough that wild yeast has fermented is called sourdough.", "sourdough", True),
        ("Bakers keep sourdough in a jar.", "sourdough", False),
        ("Sourdough is old.", "sourdough", False),
    ],
)
def test_definitions_are_recognised(sentence: str, term: str, expected: bool) -> None:
    """A definition states the meaning of a term or introduces its name."""
    assert is_definition(sentence, term) is expected
