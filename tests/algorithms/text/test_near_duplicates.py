"""Tests of near-duplicate detection."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.text.near_duplicates import (
    MAX_FINGERPRINT_HASHES,
    compute_fingerprint,
    estimate_similarity,
)

NUMBERS = [str(number) for number in range(2_000)]
PAGE = " ".join(NUMBERS)


def test_mirror_is_a_near_duplicate() -> None:
    """A different header and footer leave the similarity high."""
    mirror = f"Welcome to the mirror of everything. {PAGE} Hosted by somebody else since last year."

    assert estimate_similarity(compute_fingerprint(PAGE), compute_fingerprint(mirror)) > 0.9


def test_case_and_punctuation_are_ignored() -> None:
    """Only words are compared."""
    assert compute_fingerprint("One, two: three four FIVE!") == compute_fingerprint("one two three four five")


def test_similarity_estimate_is_accurate() -> None:
    """Two texts with half of their text in common have a similarity of about one half."""
    one, other = " ".join(NUMBERS[:1_200]), " ".join(NUMBERS[400:1_600])

    assert estimate_similarity(compute_fingerprint(one), compute_fingerprint(other)) == pytest.approx(0.5, abs=0.12)


def test_short_and_empty_texts() -> None:
    """A single word is a text; an empty text is similar to nothing."""
    assert estimate_similarity(compute_fingerprint("word"), compute_fingerprint("Word")) == 1.0
    assert estimate_similarity(compute_fingerprint(""), compute_fingerprint("")) == 0.0
    assert compute_fingerprint("—") == ()


def test_fingerprint_is_sorted_and_bounded() -> None:
    """A fingerprint fits a column of signed integers for any text length."""
    made = compute_fingerprint(PAGE)

    assert len(made) == MAX_FINGERPRINT_HASHES
    assert list(made) == sorted(made)
    assert all(0 <= number < 2**63 for number in made)


def test_scripts_without_spaces_are_supported() -> None:
    """Near-duplicates are found in scripts without spaces between words."""
    text = "東京都は日本の首都であり人口は約千四百万人である"

    assert estimate_similarity(compute_fingerprint(text), compute_fingerprint(f"{text}。終")) > 0.8


@given(st.text(max_size=300), st.text(max_size=300))
def test_similarity_is_symmetric_and_bounded(one: str, other: str) -> None:
    """For any texts the similarity is between 0 and 1 and symmetric."""
    a, b = compute_fingerprint(one), compute_fingerprint(other)

    assert 0.0 <= estimate_similarity(a, b) == estimate_similarity(b, a) <= 1.0
    assert estimate_similarity(a, a) == (1.0 if a else 0.0)
