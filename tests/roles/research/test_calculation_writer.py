"""Tests of the calculation writer: figures that passages have, and calculations that are refused."""

import pytest

from tenure.contracts.research.spiral import PreparedCalculation
from tenure.roles.base import Evidence
from tenure.roles.research.calculation_writer import (
    CalculationWriterInput,
    CalculationWriterOutput,
    WrittenOperand,
    check_operands,
)
from tests.support.passages import passage

RATIO = "How many times larger is the population of Tokyo than that of Osaka?"
EVIDENCE = Evidence(
    (
        passage("In 2020 Tokyo had a population of 37.4 million people.", title="Tokyo"),
        passage("Osaka has 18,700,000 inhabitants, and 225 km² of land.", title="Osaka", start=500),
    )
)


def written(expression: str, *operands: tuple[str, int]) -> PreparedCalculation:
    """Return the checked calculation of a model."""
    said = CalculationWriterOutput(
        expression=expression,
        operands=tuple(WrittenOperand(label="city", figure=figure, passage=number) for figure, number in operands),
    )
    return check_operands(CalculationWriterInput(question=RATIO, earlier=()), said, EVIDENCE)


def test_figures_of_passages_are_accepted_in_any_scale() -> None:
    """A scale is no new figure, and constants such as 100 need no source."""
    assert written("37.4 * 1000000 / 18700000", ("37.4 million", 1), ("18,700,000", 2)).problem == ""
    assert written("100 * 18.7 / 37.4", ("37.4 million", 1), ("18,700,000", 2)).problem == ""


@pytest.mark.parametrize(
    ("expression", "operands", "problem"),
    [
        ("37.4 / 5.2", (("37.4 million", 1),), "do not have 5.2"),
        ("37.4 / 18.7", (("37.4 million", 1), ("18.7 thousand", 2)), "do not have 18.7"),
        ("37.4 / 18.7", (("37.4 million", 9), ("18,700,000", 2)), "do not have 37.4"),
        ("37.4 /", (("37.4 million", 1),), "the calculator refuses"),
        ("", (), "lack a figure"),
    ],
)
def test_a_calculation_without_sources_is_refused(
    expression: str, operands: tuple[tuple[str, int], ...], problem: str
) -> None:
    """A number that its passage does not have makes the calculation fail with a reason."""
    found = written(expression, *operands)

    assert not found.expression and problem in found.problem
