"""Tests of questions that compare or combine two figures, and of figures in passages."""

import pytest

from tenure.algorithms.calculator.calculator import calculate
from tenure.algorithms.calculator.figures import build_expression, find_figure, parse_figure_question
from tests.support.passages import passage


@pytest.mark.parametrize(
    ("question", "operation", "first", "second"),
    [
        (
            "How many times larger is the population of Tokyo than that of New York?",
            "ratio",
            "What is the population of Tokyo?",
            "What is the population of New York?",
        ),
        ("How many times larger is Tokyo than Osaka?", "ratio", "How large is Tokyo?", "How large is Osaka?"),
        (
            "How many times more inhabitants does Tokyo have than Osaka?",
            "ratio",
            "How many inhabitants does Tokyo have?",
            "How many inhabitants does Osaka have?",
        ),
        (
            "What is the difference in height between the Eiffel Tower and Big Ben?",
            "difference",
            "What is the height of the Eiffel Tower?",
            "What is the height of Big Ben?",
        ),
        (
            "What is the ratio of Tokyo's population to Osaka's population?",
            "ratio",
            "What is the population of Tokyo?",
            "What is the population of Osaka?",
        ),
        (
            "how much taller is the Eiffel Tower than Big Ben",
            "difference",
            "How tall is the Eiffel Tower?",
            "How tall is Big Ben?",
        ),
        (
            "What is the combined population of Tokyo and Osaka?",
            "sum",
            "What is the population of Tokyo?",
            "What is the population of Osaka?",
        ),
        (
            "What is the average height of Big Ben and the Shard?",
            "mean",
            "What is the height of Big Ben?",
            "What is the height of the Shard?",
        ),
    ],
)
def test_a_calculation_with_two_figures_is_recognised(question: str, operation: str, first: str, second: str) -> None:
    """The operation and a question for each figure are returned."""
    found = parse_figure_question(question)

    assert found and found.operation == operation
    assert tuple(subject.question for subject in found.subjects) == (first, second)


@pytest.mark.parametrize(
    "question",
    [
        "What is the difference between Java and Python?",
        "How many times did Brazil win the cup?",
        "How much taller is Big Ben than Big Ben?",
        "What is the average rainfall?",
        "Which is larger, Tokyo or Osaka?",
        "How many times larger is " + "a" * 2_000,
        "",
    ],
)
def test_other_questions_are_no_calculation(question: str) -> None:
    """A comparison without a measure, a count and a question for one figure are none."""
    assert parse_figure_question(question) is None


def expression_of(question: str, *texts: tuple[str, str]) -> str:
    """Return the expression for a question from documents of a title and a text."""
    found = parse_figure_question(question)
    assert found
    passages = [passage(text, title=title, start=500 * n) for n, (title, text) in enumerate(texts)]
    first, second = (find_figure(subject, passages) for subject in found.subjects)
    return build_expression(found.operation, first, second) if first and second else ""


TALLER = "How much taller is the Eiffel Tower than Big Ben?"
RATIO = "How many times larger is Tokyo than Osaka?"
TOWER = ("Eiffel Tower", "The Eiffel Tower is 330 metres tall and was built in 1889.")


def test_units_are_converted() -> None:
    """Figures of different units of one kind can be calculated with."""
    feet = expression_of(TALLER, TOWER, ("Big Ben", "Big Ben has a height of 316 feet."))

    assert calculate(feet).result.startswith("233.68")
    assert calculate(expression_of(TALLER, TOWER, ("Big Ben", "Big Ben has a height of 96 m."))).result == "234 m"


@pytest.mark.parametrize(
    "texts",
    [
        (TOWER, ("Big Ben", "Big Ben was built in 1859.")),
        (TOWER, ("Big Ben", "Big Ben weighs 13 tonnes.")),
        (TOWER, ("Shard", "The Shard has a height of 310 m.")),
        (TOWER,),
    ],
)
def test_a_figure_of_another_thing_or_measure_is_not_used(texts: tuple[tuple[str, str], ...]) -> None:
    """Years, other measures and other things are no operands."""
    assert expression_of(TALLER, *texts) == ""


def test_figures_of_different_kinds_are_not_combined() -> None:
    """An area is not divided by a number of people, nor dollars by euros."""
    area = ("Tokyo", "Tokyo has an area of 2,194 square kilometres.")
    people = ("Osaka", "Osaka has a population of 2,700,000 people.")

    assert expression_of(RATIO, area, people) == ""
    budget = "What is the difference between the budget of Jaws and the budget of Alien?"
    assert expression_of(budget, ("Jaws", "The budget was $9 million."), ("Alien", "The budget was €8 million.")) == ""
    assert (
        calculate(
            expression_of(budget, ("Jaws", "The budget was $9 million."), ("Alien", "The budget was $8 million."))
        ).result
        == "1000000"
    )


def test_the_document_on_a_thing_comes_first() -> None:
    """A sentence of the document with the name as title is preferred to one that only mentions it."""
    other = ("Japan", "Tokyo has a population of 14 million people, and Osaka of 3 million people.")
    tokyo = ("Tokyo", "Its population is 37 million.")
    osaka = ("Osaka", "The population of the city is 19 million.")

    assert expression_of(RATIO, other, tokyo, osaka) == "(37 * 1000000) / (19 * 1000000)"
