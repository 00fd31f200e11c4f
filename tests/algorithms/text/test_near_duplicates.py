"""Texts that say the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.text.near_duplicates import SIZE, fingerprint, repeats, similarity

NUMBERS = [str(number) for number in range(2_000)]
PAGE = " ".join(NUMBERS)


def test_a_copy_with_other_furniture_says_the_same() -> None:
    """A mirror's own head and foot leave the likeness high."""
    mirror = f"Welcome to the mirror of everything. {PAGE} Hosted by somebody else since last year."

    assert similarity(fingerprint(PAGE), fingerprint(mirror)) > 0.9


def test_case_and_marks_make_no_difference() -> None:
    """Words are compared, not how they are set."""
    assert fingerprint("One, two: three four FIVE!") == fingerprint("one two three four five")


def test_likeness_is_estimated_well() -> None:
    """Two texts that share half of what they say are about half alike."""
    one, other = " ".join(NUMBERS[:1_200]), " ".join(NUMBERS[400:1_600])

    assert similarity(fingerprint(one), fingerprint(other)) == pytest.approx(0.5, abs=0.12)


def test_short_and_empty_texts() -> None:
    """A word is a text; nothing is like nothing."""
    assert similarity(fingerprint("word"), fingerprint("Word")) == 1.0
    assert similarity(fingerprint(""), fingerprint("")) == 0.0
    assert fingerprint("—") == ()


def test_fingerprints_are_small_numbers_in_order() -> None:
    """A fingerprint fits a column of signed numbers, however long the text."""
    made = fingerprint(PAGE)

    assert len(made) == SIZE
    assert list(made) == sorted(made)
    assert all(0 <= number < 2**63 for number in made)


def test_signs_without_spaces_are_words() -> None:
    """Copies are found in scripts that put no spaces between words."""
    text = "東京都は日本の首都であり人口は約千四百万人である"

    assert similarity(fingerprint(text), fingerprint(f"{text}。終")) > 0.8


def test_a_copy_is_told_by_its_first_original() -> None:
    """Of three copies the first stays, and the others name it."""
    prints = [fingerprint(text) for text in ("something else entirely here", PAGE, PAGE + " end", "", PAGE)]

    assert repeats(prints) == (None, None, 1, None, 1)


@given(st.text(max_size=300), st.text(max_size=300))
def test_likeness_is_a_share_and_has_no_direction(one: str, other: str) -> None:
    """Whatever the texts, likeness lies between nothing and all, from both sides the same."""
    a, b = fingerprint(one), fingerprint(other)

    assert 0.0 <= similarity(a, b) == similarity(b, a) <= 1.0
    assert similarity(a, a) == (1.0 if a else 0.0)
