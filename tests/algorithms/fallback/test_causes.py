"""Tests of causal statements and chains."""

import pytest

from tenure.algorithms.fallback.causes import explain_causes, extract_causes, find_connection
from tenure.algorithms.reasoning.arguments import StandaloneSentence
from tests.support.passages import passage
from tests.support.worlds import encode

STRIKE = "The strike of the bakers leads to a shortage of fresh bread."
HUNGER = "A shortage of fresh bread causes hunger in the whole town."
RIOT = "A riot at the gates was caused by hunger in the whole town."
QUESTION = "Why did the strike of the bakers lead to hunger and a riot in the town, for lack of fresh bread?"


@pytest.mark.parametrize(
    ("text", "cause", "effect"),
    [
        (STRIKE, "The strike of the bakers", "a shortage of fresh bread"),
        ("The dough rises mainly because yeast makes gas.", "yeast makes gas", "The dough rises"),
        ("Because yeast makes gas, the dough rises quickly.", "yeast makes gas", "the dough rises quickly"),
        ("The dough rises, since warm yeast makes gas.", "warm yeast makes gas", "The dough rises"),
        ("Yeast makes much gas, so that the dough rises.", "Yeast makes much gas", "the dough rises"),
        ("The reason for the long rise is that cold yeast is slow.", "cold yeast is slow", "the long rise"),
    ],
)
def test_cause_and_effect_are_extracted(text: str, cause: str, effect: str) -> None:
    """Connectives of both directions are recognized."""
    (found,) = extract_causes([StandaloneSentence(1, text)])

    assert (found.cause, found.effect) == (cause, effect)


@pytest.mark.parametrize(
    "text",
    [
        "Bread is made from flour and water.",
        "It fell because this was so.",
        "The bakers have had ovens, since version 3 of the guild rules.",
        "Because of 1848 the bakers of the town went on strike.",
        "The fire was small and the cause was found by the guild.",
    ],
)
def test_sentences_without_cause(text: str) -> None:
    """Sentences without connective, with only a pronoun, or with a time are not causal."""
    assert extract_causes([StandaloneSentence(1, text)]) == []


def test_causes_are_chained_by_shared_words() -> None:
    """The link of a step contains the shared words."""
    passages = [passage(RIOT, "c"), passage(HUNGER, "b"), passage(STRIKE, "a")]
    found = explain_causes(QUESTION, passages, encode)

    assert [step.text for step in found.steps] == [STRIKE, HUNGER]
    assert found.conclusion is not None
    assert (found.conclusion.text, found.conclusion.follows) == (RIOT, (2,))
    assert [step.link for step in (*found.steps, found.conclusion)] == [
        "",
        "shortage of fresh bread",
        "hunger in the whole town",
    ]
    assert 0 < found.confidence <= 1


def test_shared_words_must_be_consecutive() -> None:
    """Shared words must be consecutive."""
    one, other = extract_causes(
        [
            StandaloneSentence(1, "Heavy rain leads to fresh loaves of bread."),
            StandaloneSentence(1, "Bread fresh causes great joy there."),
        ]
    )

    assert find_connection(one, other) == ""


def test_common_subject_is_no_connection() -> None:
    """Common subject is no connection."""
    one, other = extract_causes(
        [
            StandaloneSentence(1, "The young baker bakes rye alone, because the old oven is too cold."),
            StandaloneSentence(1, "The bread is sold late, because the young baker opens the shop alone."),
        ]
    )

    assert find_connection(one, other) == ""


def test_conclusions_precede_separate_causes() -> None:
    """Conclusions precede separate causes."""
    text = "The dough of rye bread is heavy, because the kitchen of the guild is cold."
    found = explain_causes("Why is the dough of rye bread heavy?", [passage(text)], encode)

    assert found.conclusion is not None
    assert [step.text for step in (*found.steps, found.conclusion)] == [
        "The kitchen of the guild is cold.",
        "The dough of rye bread is heavy.",
    ]


def test_separate_causes_have_no_conclusion() -> None:
    """If there is no chain, causes of several sentences are listed."""
    cold = "The dough of rye bread is heavy because the kitchen is cold."
    salt = "The dough of rye bread stays heavy due to too much coarse salt."
    found = explain_causes("Why is the dough of rye bread heavy?", [passage(cold, "a"), passage(salt, "b")], encode)

    assert {step.text for step in found.steps} == {cold, salt}
    assert (found.conclusion, {step.follows for step in found.steps}) == (None, {()})


def test_single_cause_is_no_argument() -> None:
    """Single cause is no argument."""
    cold = passage("The dough of rye bread is heavy because the kitchen is cold.")

    assert explain_causes("Why is the dough of rye bread heavy?", [cold], encode).steps == ()
    assert explain_causes("Where do swallows sleep?", [cold], encode).steps == ()
    assert explain_causes("Why?", [], encode).steps == ()
