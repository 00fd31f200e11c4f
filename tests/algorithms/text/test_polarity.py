"""Tests of polarity: negation and antonyms."""

import pytest

from tenure.algorithms.text.polarity import count_negations, find_antonym_pair


def test_negations_are_counted() -> None:
    """Every negation of a text counts."""
    assert count_negations("It does not rain, and it never snows.") == 2


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("Rates rise in May.", "Rates fall in May.", ("rise", "fall")),
        ("The cache is mutable.", "The cache is immutable.", ("mutable", "immutable")),
        ("The order is defined.", "The order is undefined.", ("defined", "undefined")),
        ("Rates rise and doors open.", "Rates fall and doors close.", None),
        ("Rates rise.", "Rates rise again.", None),
    ],
)
def test_single_antonym_pair_is_found(a: str, b: str, expected: tuple[str, str] | None) -> None:
    """Exactly one pair of antonyms is a point of difference; two or none are not."""
    assert find_antonym_pair(a, b) == expected
