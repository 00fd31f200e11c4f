"""Direction, denial and opposites of statements."""

import pytest

from tenure.algorithms.text.polarity import Turn, denials, directed, opposed, opposites, turned, turns


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
def test_directions_are_compared_beside_the_same_word(claim: str, text: str, expected: str) -> None:
    """A word of direction counts for the content word it stands by, turned round by a denial before it."""
    assert directed(claim, [text]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The gate is in the northern wall.", "agrees"),
        ("The gate is in the southern wall.", "conflicts"),
        ("The gate is in a wall.", "silent"),
    ],
)
def test_opposites_of_a_claim_are_found_in_a_text(text: str, expected: str) -> None:
    """A text with the opposite of a claim's word, and without the word, speaks against it."""
    assert opposites("The gate is in the northern wall.", text) == expected


@pytest.mark.parametrize(
    ("claim", "texts", "expected"),
    [
        ("Yeast is not a plant.", ["Yeast is a plant, and bread is food."], True),
        ("Yeast is not a plant.", ["Yeast was never a plant."], False),
        ("Yeast is a plant.", ["Yeast is no plant."], False),
        ("Yeast reduces the weight.", [], False),
    ],
)
def test_a_turned_clause_is_seen(claim: str, texts: list[str], expected: bool) -> None:
    """A claim that turns something round is held against the clause nearest to it; a plain one is not."""
    assert turned(claim, texts) is expected


def test_who_denies_is_told() -> None:
    """Both sides are looked at by themselves."""
    assert turns("It never rains.", "It rains.") == Turn(claim=True, text=False)
    assert denials("It does not rain, and it never snows.") == 2


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
def test_two_statements_are_opposed_in_one_word(a: str, b: str, expected: tuple[str, str] | None) -> None:
    """One pair of opposites makes a point of difference; two or none make no plain one."""
    assert opposed(a, b) == expected
