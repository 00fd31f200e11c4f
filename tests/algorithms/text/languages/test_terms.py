"""Terms of passages and queries in other languages than English."""

import pytest

from tenure.algorithms.text.languages import terms
from tenure.algorithms.text.languages.terms import list_query_terms, list_terms


@pytest.mark.parametrize(
    ("language", "asked", "stored"),
    [
        ("de", "Brücken", "Brücke"),
        ("fr", "conservées", "conservée"),
        ("ru", "копии", "копий"),
        ("pl", "serwera", "serwerem"),
        ("uk", "резервної", "резервних"),
        ("hi", "किताबें", "किताबों"),
        ("ar", "الكتاب", "كتاب"),
    ],
)
def test_forms_of_a_word_have_one_term(language: str, asked: str, stored: str) -> None:
    """A stemmer of the language, or the first letters, make two forms of a word one."""
    assert list_terms(asked, language) == list_terms(stored, language)


def test_scripts_without_blanks_become_pairs_of_characters() -> None:
    """Pairs need no dictionary; Latin words and numbers among them stay words."""
    assert list_terms("备份30天 API", "zh") == ["备份", "天", "30", "api"]
    assert list_terms("백업을", "ko") == ["백업", "업을"]


def test_an_english_query_has_no_terms() -> None:
    """English is searched by the index of the database, so a corpus with one German page changes nothing."""
    assert list_query_terms("How long are the backups kept?", ["en", "de"]) == []
    assert list_query_terms("Kubernetes", ["en", "de"]) == []
    assert list_query_terms("Wie lange werden Sicherungen aufbewahrt?", ["en"]) == []


def test_a_query_has_the_terms_of_its_language() -> None:
    """A query whose language is uncertain has those of all languages of its corpus."""
    assert "sicher" in list_query_terms("Wie lange werden Sicherungen aufbewahrt?", ["fr", "de", "en"])
    assert list_query_terms("Kubernetes", ["de", "uk"]) == ["kubern", "kuber"]


def test_the_terms_of_long_words_are_not_kept() -> None:
    """A long run without blanks has all its pairs, and takes no place in memory afterwards."""
    before = terms._reduce.cache_info().currsize

    assert len(list_terms("备" * 100, "zh")) == 99
    assert terms._reduce.cache_info().currsize == before
