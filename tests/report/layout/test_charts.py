"""Test which tables get a chart, and that a misleading one is never drawn."""

from collections.abc import Callable, Sequence

import pytest

from tenure.contracts.evidence.passages import ClaimStatus
from tenure.report.layout.report import compose_report
from tenure.report.layout.tree import ChartNode, PartNode
from tests.report.samples import YEARS, tabled


def find_chart(
    cell: Callable[[str, str], str],
    rows: Sequence[str] = ("Rye", "Wheat"),
    columns: Sequence[str] = ("Rising", "Baking"),
    language: str = "en",
    status: ClaimStatus = "supported",
) -> ChartNode | None:
    """Return the chart of a report with one table."""
    result = tabled(cell, rows, columns, status).model_copy(update={"language": language})
    part = next(b for b in compose_report(result).blocks if isinstance(b, PartNode) and b.id == "section-1")
    return next((block for block in part.blocks if isinstance(block, ChartNode)), None)


def test_figures_of_regions_over_years_are_lines() -> None:
    """Columns that are years become the axis, rows the series, and each figure keeps its text and its sources."""
    chart = find_chart(lambda row, column: f"{len(row)}.{column[-1]} %", ("Belgium", "Spain"), YEARS)

    assert chart and chart.years == (2019, 2020, 2023) and chart.unit == "%"
    assert [one.name for one in chart.series] == ["Belgium", "Spain"]
    value = chart.series[1].values[2]
    assert value and (value.value, value.text, value.sources) == (5.3, "5.3 %", (2,))


def test_figures_of_options_are_bars() -> None:
    """Rows are the groups of bars; singular and plural of a unit are one, and a column of words is left out."""
    columns = ("Rising", "Baking", "Remark")
    texts = {("Rye", "Rising"): "1 hour", ("Wheat", "Baking"): "−2 hours"}

    chart = find_chart(
        lambda row, column: texts.get((row, column), "slow" if column == "Remark" else "3 hours"), columns=columns
    )

    assert chart and not chart.years and (chart.categories, chart.unit) == (("Rye", "Wheat"), "hours")
    assert [value and value.value for one in chart.series for value in one.values] == [1, 3, 3, -2]


@pytest.mark.parametrize(
    ("texts", "columns"),
    [
        (("3 hours", "5 €"), ("Time", "Price")),
        (("3 km", "3000 m"), ("Way", "Height")),
        (("3", "5"), ("Time", "Price")),
        (("3", "5"), ("Time (h)", "Price (€)")),
        (("3 %", "about 5 %"), ("a", "b")),
        (("3 %", "4–5 %"), ("a", "b")),
        (("3 of 4", "2 of 4"), ("a", "b")),
        (("3 million", "2 billion"), ("a", "b")),
        (("2 %", "1.234 %"), ("a", "b")),
        (("v3.1.2", "v3.1.3"), ("a", "b")),
    ],
    ids=str,
)
def test_figures_that_are_not_comparable_have_no_chart(texts: tuple[str, str], columns: tuple[str, str]) -> None:
    """Different units, numbers of unknown quantities, ranges, estimates, shares and ambiguous marks forbid a chart."""
    assert find_chart(lambda row, column: texts[columns.index(column)], columns=columns) is None


def test_numbers_without_a_unit_are_one_quantity_over_years() -> None:
    """A single row over years is drawn; two rows may be two quantities."""
    assert find_chart(lambda row, column: column[-2:], ("Members",), YEARS)
    assert find_chart(lambda row, column: column[-2:], ("Members", "Rooms"), YEARS) is None


def test_a_unit_of_the_columns_holds_for_their_figures() -> None:
    """The unit in brackets after the name of each column is that of its numbers."""
    chart = find_chart(lambda row, column: f"{len(row)}", columns=("Rising (h)", "Baking (h)"))

    assert chart and chart.unit == "h"


def test_a_doubtful_figure_has_no_chart() -> None:
    """A chart would hide the remark on a figure that its source does not confirm."""
    assert find_chart(lambda row, column: "3 %", status="neutral") is None


def test_marks_of_thousands_are_those_of_the_language() -> None:
    """In English "1,234" is thousands; in German it would be a decimal, so that nothing is drawn."""
    chart = find_chart(lambda row, column: "1,234 km")

    assert chart and chart.series[0].values[0] and chart.series[0].values[0].value == 1234
    assert find_chart(lambda row, column: "1,234 km", language="de") is None


def test_more_figures_than_a_phone_shows_have_no_chart() -> None:
    """A table with many rows remains a table, and so does one with two figures."""
    assert find_chart(lambda row, column: "3 %", [f"Row {n}" for n in range(13)]) is None
    assert find_chart(lambda row, column: "3 %", ("Row",)) is None
