"""Tests of short answers to factoid questions."""

import pytest

from tenure.algorithms.reasoning.short_answers import extract_short_answer, has_detail, is_factoid_question
from tests.support.passages import passage
from tests.support.worlds import encode


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        (
            "When was the Guild of Bakers founded?",
            "The Guild of Bakers was founded on 3 May 1848 in Ghent.",
            "3 May 1848",
        ),
        ("How many ovens has the Guild of Bakers?", "Today the Guild of Bakers has 12 ovens.", "12 ovens"),
        ("Who founded the Guild of Bakers?", "The Guild of Bakers was founded by Ada Miller.", "Ada Miller"),
    ],
)
def test_short_answer_is_extracted(question: str, text: str, answer: str) -> None:
    """A date, number or person is found in the sentence on the question."""
    found = extract_short_answer(
        question,
        [passage(text), passage("The Guild of Smiths has 3 forges and 1 hall.", "smiths", title="Smiths")],
        encode,
    )

    assert found.conclusion is not None
    assert (found.answer, found.conclusion.text) == (answer, text)


def test_unrelated_sentence_has_no_answer() -> None:
    """The names of the question must occur, and the answer must have the requested kind."""
    assert (
        extract_short_answer(
            "When was the Guild of Bakers founded?", [passage("The Guild of Smiths was founded in 1848.")], encode
        ).answer
        == ""
    )
    assert (
        extract_short_answer(
            "Who founded the Guild of Bakers?", [passage("The Guild of Bakers was founded in 1848.")], encode
        ).answer
        == ""
    )


def test_factoid_questions_are_recognised() -> None:
    """Only questions for a date, a number or a person are factoid questions."""
    assert is_factoid_question("Who baked it?")
    assert not is_factoid_question("How is bread made?")
    assert (
        extract_short_answer("How is bread made?", [passage("Bread is made from flour by Ada Miller.")], encode).answer
        == ""
    )


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("When was the guild founded?", "It was founded in 1848.", True),
        ("When was the guild founded?", "It was founded in Ghent.", False),
        ("How many ovens has the guild?", "The guild has 12 ovens.", True),
        ("How many ovens has the guild?", "The guild has ovens.", False),
        ("Which city has the Guild of Bakers?", "The Guild of Bakers is in Ghent.", True),
        ("Which city has the Guild of Bakers?", "The Guild of Bakers is old.", False),
        ("Why did the guild close?", "The guild closed when Ghent burnt.", False),
    ],
)
def test_a_text_may_have_the_requested_detail(question: str, text: str, expected: bool) -> None:
    """A date, a number, or a name that is not in the question; an explanation asks for none of them."""
    assert has_detail(question, text) is expected
