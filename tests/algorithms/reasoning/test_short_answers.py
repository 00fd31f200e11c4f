"""Tests of short answers to factoid questions."""

import pytest

from tenure.algorithms.reasoning.short_answers import extract_short_answer, is_factoid_question
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
