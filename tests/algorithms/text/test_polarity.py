"""Tests of polarity: direction, negation and antonyms."""

import pytest

from tenure.algorithms.text.polarity import (
    compare_antonyms,
    compare_directions,
    count_negations,
    find_antonym_pair,
    is_polarity_reversed,
)


@pytest.mark.parametrize(
    ("claim", "text", "expected"),
    [
        ("Salt increases the pressure of blood.", "Salt was seen to raise blood pressure in the trial.", "agrees"),
        ("Salt increases the pressure of blood.", "In the trial salt lowered the pressure of the blood.", "conflicts"),
        ("Salt does not increase the pressure of blood.", "Salt increases the pressure.", "conflicts"),
        ("Salt increases the pressure of blood.", "Bread is baked in an oven.", "silent"),
        ("Salt is a mineral.", "Salt increases the pressure.", "silent"),
        (
            "Salt increases pressure and decreases thirst.",
            "Salt increases pressure. A drink a day increases thirst.",
            "silent",
        ),
    ],
)
def test_directions_of_the_same_word_are_compared(claim: str, text: str, expected: str) -> None:
    """A direction word applies to its nearest content word and is reversed by a preceding negation."""
    assert compare_directions(claim, [text]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The gate is in the northern wall.", "agrees"),
        ("The gate is in the southern wall.", "conflicts"),
        ("The gate is in a wall.", "silent"),
    ],
)
def test_antonyms_of_a_claim_conflict(text: str, expected: str) -> None:
    """A text with an antonym of a claim's word, and without the word itself, conflicts."""
    assert compare_antonyms("The gate is in the northern wall.", text) == expected


@pytest.mark.parametrize(
    ("claim", "texts", "expected"),
    [
        ("Yeast is not a plant.", ["Yeast is a plant, and bread is food."], True),
        ("Yeast is not a plant.", ["Yeast was never a plant."], False),
        ("Yeast is a plant.", ["Yeast is no plant."], False),
        ("Yeast reduces the weight.", [], False),
    ],
)
def test_reversed_polarity_is_detected(claim: str, texts: list[str], expected: bool) -> None:
    """A claim with polarity is compared with its nearest clause; a plain claim is not."""
    assert is_polarity_reversed(claim, texts) is expected


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
