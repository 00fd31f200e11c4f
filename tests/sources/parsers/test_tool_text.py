"""Tests of documents from tool results."""

import pytest

from tenure.algorithms.calculator.calculator import Calculation
from tenure.algorithms.text.excerpts import extract_excerpts
from tenure.sources.parsers.tool_text import MAX_ANSWER_LENGTH, build_calculation_document, build_tool_document
from tests.support.passages import passage


def test_a_calculation_is_one_sentence() -> None:
    """The quoted sentence contains the expression and its subject."""
    document = build_calculation_document("Length of both.", Calculation("3 km + 1 km", "4 km", is_exact=True))

    equation, sentence, *_ = document.text.split("\n\n")
    assert equation == "Length of both: 3 km + 1 km = 4 km."
    assert sentence == "The calculator answers “Length of both” with 4 km, since 3 km + 1 km = 4 km."
    assert (document.title, document.kind) == ("Length of both.", "prose")


@pytest.mark.parametrize(
    ("subject", "calculation", "sentence"),
    [
        (
            "How many days are between 2024-02-01 and 2024-03-15?",
            Calculation("2024-03-15 - 2024-02-01", "43 day", is_exact=True),
            "The calculator answers “How many days are between 2024-02-01 and 2024-03-15” with 43 days, which it "
            "computed from the given numbers alone.",
        ),
        (
            "What is (1,200 + 30) × 2 / 7 - 12.5 + (3 * 4 / 5) - 1,000.25 + 17 / 3?",
            Calculation("1", "2", is_exact=True),
            "The result of the calculation is 2, which the calculator computed from the given numbers alone.",
        ),
        (
            "What is my age in a day?",
            Calculation("1 day", "1 day", is_exact=True),
            "The result of the calculation is 1 day, which the calculator computed from the given numbers alone.",
        ),
    ],
)
def test_the_result_is_a_quotable_sentence(subject: str, calculation: Calculation, sentence: str) -> None:
    """A report without a model quotes the result, whatever signs its question contains."""
    document = build_calculation_document(subject, calculation)

    assert sentence in [excerpt.text for excerpt in extract_excerpts([passage(document.text)])]


def test_a_tool_result_keeps_its_lines() -> None:
    """Texts keep their lines and cannot become headings; without texts, the structured content is used."""
    document = build_tool_document("Answer", ("# Bread\nis baked.", "Cheese ripens."), {"n": 1})

    assert document.text == "Bread\nis baked.\n\nCheese ripens."
    assert '"n": 1' in build_tool_document("Answer", (), {"n": 1}).text


def test_a_long_tool_result_is_truncated() -> None:
    """A tool result is truncated to its maximum length."""
    assert len(build_tool_document("Answer", ("word " * MAX_ANSWER_LENGTH,), None).text) <= MAX_ANSWER_LENGTH
