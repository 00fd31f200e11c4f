"""Tests of documents from tool results."""

import pytest

from tenure.algorithms.calculator.calculator import Calculation
from tenure.algorithms.text.excerpts import is_complete_sentence
from tenure.algorithms.text.sentences import split_sentences
from tenure.contracts.research.tools import MAX_MCP_TEXT_LENGTH
from tenure.sources.parsers.tool_text import build_calculation_document, build_tool_document


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

    assert sentence in [one.text for one in split_sentences(document.text) if is_complete_sentence(one)]


def test_a_tool_result_keeps_its_lines() -> None:
    """Texts keep their lines and cannot become headings."""
    document = build_tool_document("Answer", "# Bread\nis baked from rye flour.\n\nCheese ripens.", {})

    assert document.text == "Bread\nis baked from rye flour.\n\nCheese ripens."


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("21 °C", "Answer of get_weather (meteo) for city Oslo says: 21 °C."),
        (
            '{"wind_speed": 4.2, "sky": {"state": "clear"}}',
            "Answer of get_weather (meteo) for city Oslo says: wind speed 4.2, sky state clear.",
        ),
        ('{"days": [{"high": 21}]}', "Answer of get_weather (meteo) for city Oslo says: days high 21."),
    ],
)
def test_a_short_tool_result_is_stated_in_a_sentence(text: str, sentence: str) -> None:
    """A short answer that is no sentence can be quoted, since a sentence states it."""
    document = build_tool_document("Answer of get_weather (meteo)", text, {"city": "Oslo"})

    (first, *_) = split_sentences(document.text)
    assert first.text == sentence and is_complete_sentence(first)


def test_a_long_tool_result_is_truncated() -> None:
    """A tool result is truncated to its maximum length."""
    assert len(build_tool_document("Answer", "word " * MAX_MCP_TEXT_LENGTH, {}).text) <= MAX_MCP_TEXT_LENGTH
