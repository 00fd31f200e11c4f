"""Causes and effects in sentences, and the chains that they make."""

import pytest

from tenure.algorithms.fallback.causes import explain_causes, extract_causes, find_connection
from tenure.algorithms.reasoning.arguments import StandaloneSentence
from tests.passages import passage
from tests.worlds import encode

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
def test_a_sentence_names_cause_and_effect(text: str, cause: str, effect: str) -> None:
    """Both orders are read, with the words that people use for them."""
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
def test_other_sentences_name_none(text: str) -> None:
    """A sentence without such a word, one that only points, and one that tells a time are no cause."""
    assert extract_causes([StandaloneSentence(1, text)]) == []


def test_causes_are_chained_by_the_words_they_share() -> None:
    """What one sentence ends in the next one begins with; the link says by which words."""
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


def test_words_that_stand_apart_connect_nothing() -> None:
    """Two words shared in another order are no link."""
    one, other = extract_causes(
        [
            StandaloneSentence(1, "Heavy rain leads to fresh loaves of bread."),
            StandaloneSentence(1, "Bread fresh causes great joy there."),
        ]
    )

    assert find_connection(one, other) == ""


def test_a_subject_that_two_sentences_share_connects_nothing() -> None:
    """That both speak of the same thing makes none of them the cause of the other."""
    one, other = extract_causes(
        [
            StandaloneSentence(1, "The young baker bakes rye alone, because the old oven is too cold."),
            StandaloneSentence(1, "The bread is sold late, because the young baker opens the shop alone."),
        ]
    )

    assert find_connection(one, other) == ""


def test_what_sources_conclude_comes_before_single_causes() -> None:
    """A reason and what follows from it are told apart where the sentence allows that."""
    text = "The dough of rye bread is heavy, because the kitchen of the guild is cold."
    found = explain_causes("Why is the dough of rye bread heavy?", [passage(text)], encode)

    assert found.conclusion is not None
    assert [step.text for step in (*found.steps, found.conclusion)] == [
        "The kitchen of the guild is cold.",
        "The dough of rye bread is heavy.",
    ]


def test_causes_of_one_effect_stand_side_by_side() -> None:
    """Where no chain leads on, causes that several sentences give for what is asked are told without a conclusion."""
    cold = "The dough of rye bread is heavy because the kitchen is cold."
    salt = "The dough of rye bread stays heavy due to too much coarse salt."
    found = explain_causes("Why is the dough of rye bread heavy?", [passage(cold, "a"), passage(salt, "b")], encode)

    assert {step.text for step in found.steps} == {cold, salt}
    assert (found.conclusion, {step.follows for step in found.steps}) == (None, {()})


def test_one_cause_is_no_argument() -> None:
    """A single cause repeats what the report says, and strangers to the question are left out."""
    cold = passage("The dough of rye bread is heavy because the kitchen is cold.")

    assert explain_causes("Why is the dough of rye bread heavy?", [cold], encode).steps == ()
    assert explain_causes("Where do swallows sleep?", [cold], encode).steps == ()
    assert explain_causes("Why?", [], encode).steps == ()
