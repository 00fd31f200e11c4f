"""The particular that a question asks for."""

import pytest

from tenure.algorithms.reasoning.short_answers import answered, wanted
from tests.passages import passage
from tests.worlds import encode


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
def test_the_answer_is_what_the_question_lacks(question: str, text: str, answer: str) -> None:
    """A date, a figure or a person is found in the statement on what is asked."""
    found = answered(
        question,
        [passage(text), passage("The Guild of Smiths has 3 forges and 1 hall.", "smiths", title="Smiths")],
        encode,
    )

    assert found.conclusion is not None
    assert (found.answer, found.conclusion.text) == (answer, text)


def test_a_statement_on_another_subject_answers_nothing() -> None:
    """Names of the question have to be there, and an answer of the wrong kind is none."""
    assert (
        answered(
            "When was the Guild of Bakers founded?", [passage("The Guild of Smiths was founded in 1848.")], encode
        ).answer
        == ""
    )
    assert (
        answered(
            "Who founded the Guild of Bakers?", [passage("The Guild of Bakers was founded in 1848.")], encode
        ).answer
        == ""
    )


def test_questions_that_want_more_than_a_particular() -> None:
    """Only questions for a date, a figure or a person are answered like this."""
    assert wanted("Who baked it?")
    assert not wanted("How is bread made?")
    assert answered("How is bread made?", [passage("Bread is made from flour by Ada Miller.")], encode).answer == ""
