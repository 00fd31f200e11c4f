"""Terms: found to the letter, and the sentences that say what they are."""

import pytest

from tenure.algorithms.text.term_lookup import defines, finder


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
def test_a_term_is_found_as_whole_words(term: str, text: str, found: bool) -> None:
    """Case and white space do not matter, neighbouring letters do."""
    assert bool(finder(term).search(text)) is found


@pytest.mark.parametrize(
    ("sentence", "term", "expected"),
    [
        ("A sourdough is a dough that wild yeast has fermented.", "sourdough", True),
        ("The WAL (write-ahead log) is the journal of a database.", "WAL", True),
        ("Rennet, an enzyme, means curdled milk.", "rennet", True),
        ("Dough that wild yeast has fermented is called sourdough.", "sourdough", True),
        ("Bakers keep sourdough in a jar.", "sourdough", False),
        ("Sourdough is old.", "sourdough", False),
        ("A sourdough is a dough that wild yeast has fermented.", "", True),
        ("Bakers keep sourdough in a jar.", "", False),
    ],
)
def test_definitions_are_told_from_mentions(sentence: str, term: str, expected: bool) -> None:
    """A sentence defines a term where it says what it is, or that something is called so."""
    assert defines(sentence, term) is expected
