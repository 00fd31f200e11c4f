"""Tests of calculations that questions contain."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.calculator.calculator import calculate
from tenure.algorithms.calculator.questions import extract_calculable, is_pure_calculation


@pytest.mark.parametrize(
    ("question", "expression"),
    [
        ("What is 17 * 23?", "17 * 23"),
        ("What is (1,200 + 30) × 2?", "(1200 + 30) * 2"),
        ("How much is 2 ** 10 / 4", "2 ^ 10 / 4"),
        ("What is 12 - 5?", "12 - 5"),
        ("What is 12 divided by 5?", "12 / 5"),
        ("What is 15% of 1,240?", "15% of 1240"),
        ("What is 15 % of 2,400?", "15% of 2400"),
        ("What percentage of 120 is 30?", "percent(30, 120)"),
        ("30 is what percent of 120?", "percent(30, 120)"),
        ("What is the percentage change from 80 to 100?", "change(80, 100)"),
        ("Convert 5 mi to km.", "5 mi to km"),
        ("How far is 30 miles in km?", "30 miles to km"),
        ("How many kilometres are 5 miles?", "5 miles to kilometres"),
        ("How many grams are there in a pound?", "1 pound to grams"),
        ("What is the average of 3, 5 and 10?", "mean(3, 5, 10)"),
        ("What is the sum of 1,200 and 30?", "sum(1200, 30)"),
        ("What is the square root of 144?", "sqrt(144)"),
        ("How many days are between 2024-02-01 and 2024-03-15?", "2024-03-15 - 2024-02-01"),
        ("How many weeks are there from 1 March 2024 to March 29, 2024?", "2024-03-29 - 2024-03-01 to weeks"),
        ("How many years are between 2000-05-01 and 2024-04-30?", "years(2000-05-01, 2024-04-30)"),
        ("What date is 30 days after 2024-02-01?", "2024-02-01 + 30 days"),
        ("Which day was 2 weeks before 5 March 2024?", "2024-03-05 - 2 weeks"),
        ("What happened in 2010-2020?", ""),
        ("How many days are between March 2024 and May 2024?", ""),
        ("Python 3.11/windows", ""),
        ("What is bread?", ""),
        ("What is the sum of its parts?", ""),
        ("How many people are there in a town?", ""),
        ("What is (3 + 4?", "3 + 4"),
    ],
)
def test_calculations_are_extracted(question: str, expression: str) -> None:
    """Operations, percentages, conversions and dates are calculations; years and versions are not."""
    assert extract_calculable(question) == expression


@pytest.mark.parametrize(
    ("question", "result"),
    [
        ("What is 15 % of 2,400?", "360"),
        ("How many days are between 2024-02-01 and 2024-03-15?", "43 day"),
        ("What date is 30 days after 2024-02-01?", "2024-03-02"),
        ("How many weeks are there from 1 March 2024 to March 29, 2024?", "4 week"),
        ("30 is what percent of 120?", "25 %"),
    ],
)
def test_extracted_calculations_have_the_right_result(question: str, result: str) -> None:
    """The calculator computes what was asked."""
    assert calculate(extract_calculable(question)).result == result


@pytest.mark.parametrize(
    "question",
    [
        "What is 1 / 0?",
        "How many people are there in a town?",
        "Convert 5 kg to km.",
        "What happened in the years 2010 - 2020?",
        "Which changes came from Python 3 / 2?",
        "",
    ],
)
def test_what_the_calculator_refuses_is_no_calculation(question: str) -> None:
    """An expression with unknown units or without a result is not a calculation."""
    assert extract_calculable(question) == ""


@given(st.text(alphabet="0123456789%of ,.()+-*/^ betwnadys", max_size=80))
@settings(deadline=None)
def test_any_text_is_accepted(question: str) -> None:
    """An extracted calculation can always be calculated."""
    if expression := extract_calculable(question):
        assert calculate(expression).result


@pytest.mark.parametrize("shape", ["1", "1,", "1.", "1 + ", "(", "1 ", "what is 1,", "mean of 1, "])
def test_a_long_question_is_read_in_linear_time(shape: str) -> None:
    """A question of 20,000 characters, which a workflow reads, costs a small part of its two seconds."""
    question = (shape * 20_000)[:20_000]
    before = time.process_time()
    is_pure_calculation(question)

    assert time.process_time() - before < 0.5


def test_a_question_up_to_its_bound_is_calculated() -> None:
    """The numbers of a long list all take part; a question beyond the bound contains no calculation."""
    numbers = ", ".join(["1,000.25"] * 100)

    assert extract_calculable(f"What is the sum of {numbers} and 2?").count("1000.25") == 100
    assert extract_calculable(f"What is the sum of {numbers} and 2? {'Please. ' * 130}") == ""
