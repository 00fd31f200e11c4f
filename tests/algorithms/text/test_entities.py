"""Tests of named entities and their keys."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.text.entities import (
    MAX_NAME_WORDS,
    extract_entity_spellings,
    extract_named_entities,
    list_ngram_keys,
    normalize_name,
    normalize_title,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Beatles", "beatles"),
        ("Alû", "alu"),
        ("Newton's", "newton"),
        ("Bank of England", "bank of england"),
        ("the", ""),
        ("Al", ""),
        ("…", ""),
    ],
)
def test_spellings_of_one_name_share_a_key(text: str, expected: str) -> None:
    """Case, accents, leading articles and the possessive are omitted; very short names have no key."""
    assert expected == normalize_name(text)


def test_title_key_omits_the_parenthesis() -> None:
    """A disambiguating parenthesis is omitted unless the title has nothing else."""
    assert normalize_title("Lilu (mythology)") == "lilu"
    assert normalize_title("(mythology)") == "mythology"


def test_name_is_a_run_of_capitalised_words() -> None:
    """Function words join a name, and the names inside it are partial names."""
    found = extract_named_entities("In 1694 the Bank of England was founded; William Paterson had proposed it.")

    assert found.full_names == ("bank of england", "william paterson")
    assert found.partial_names == ("bank", "england", "william", "paterson")


def test_single_word_at_sentence_start_is_a_partial_name() -> None:
    """One capitalised word at the start of a sentence is a partial name; a stop word there is dropped."""
    found = extract_named_entities("Rivers flood. However, Egypt is dry. When Cairo was founded, nobody knew.")

    assert found.full_names == ("egypt", "cairo")
    assert "rivers" in found.partial_names
    assert not {"however", "when", "when cairo"} & {*found.full_names, *found.partial_names}


def test_each_key_occurs_once() -> None:
    """A key is among the full or the partial names, once."""
    found = extract_named_entities("Paris saw it. The mayor of Paris left Paris Nord.")

    assert found.full_names == ("paris", "paris nord")
    assert found.partial_names == ("nord",)


def test_entity_spellings_are_preserved() -> None:
    """Names keep their spelling without sentence start, possessive and trailing punctuation."""
    found = extract_entity_spellings(
        "In 1694 the Bank of England's rival, Acme Inc., left Paris! Rivers flood. In Paris."
    )

    assert found == {"bank of england": "Bank of England", "acme inc": "Acme Inc", "paris": "Paris"}


def test_ngram_keys_cover_lower_case_names() -> None:
    """Every run of words is a possible name, but none begins or ends with a function word."""
    found = list_ngram_keys("who led the bank of england")

    assert {"bank of england", "led", "england"} <= set(found)
    assert not {"bank of", "of england", "the bank"} & set(found)


@given(st.text(max_size=200))
def test_entities_handle_any_text(text: str) -> None:
    """For any text, keys are normalised, bounded and unique."""
    found = extract_named_entities(text)
    everything = [*found.full_names, *found.partial_names]

    assert len(set(everything)) == len(everything)
    assert all(found_key == normalize_name(found_key) for found_key in everything)
    assert all(len(span.split()) <= MAX_NAME_WORDS for span in list_ngram_keys(text))


@pytest.mark.parametrize(("length", "is_kept"), [(1, True), (50, False)])
def test_only_short_texts_are_kept(length: int, is_kept: bool) -> None:
    """A passage or a page in capitals does not stay in memory after it was read."""
    text = "".join(["Bank "] * length)
    before = sys.getrefcount(text)
    name = normalize_name(text)

    assert name == " ".join(["bank"] * length)
    assert (sys.getrefcount(text) > before) == is_kept
