"""Find tables whose figures are comparable, and arrange them as a chart.

A chart that misleads is worse than none: all of its figures are cited, none is in doubt, and all have one unit. Numbers
without a unit are one quantity only if they are a single row or column over years.
"""

import re
from collections.abc import Sequence

from tenure.algorithms.text.details import extract_numbers
from tenure.algorithms.text.printable import flatten
from tenure.report.layout.blocks import CitedClaim, LayoutBlock
from tenure.report.layout.marks import EMPTY_CELL
from tenure.report.layout.tree import ChartSeries, ChartValue
from tenure.report.translation import get_language, mark_message

CHART = mark_message("Chart of the table above")
CHART_WITH_UNIT = mark_message("Chart of the table above, in {unit}")
"""Captions of charts."""

MAX_CATEGORIES = 12
"""Most groups of bars, and most years of a line: the labels of more cannot be read on a phone of 390 pixels."""
MAX_SERIES = 4
"""Most series: more colours are hard to distinguish."""
MIN_VALUES = 3
"""Fewest figures: two are compared faster in the table."""

# "12.5 %", "$1,200", "USD 3 million", "−4 °C", "1 234 km²"; not "about 12", "10–12", "12 (2019)" or "3 of 4".
_CELL = re.compile(
    r"(?P<sign>[-−]?)(?P<currency>[$€£¥₹]|[A-Z]{3} |) ?(?P<number>\d(?:[\d.,'’\u00a0\u202f ]*\d)?)"
    r"[ \u00a0\u202f]?(?P<unit>(?:[^\W\d_]|[%°$€£¥₹])[^\d,;:()\[\]–]{0,30}|)"
)
_COLUMN_UNIT = re.compile(r"[(\[]([^()\[\]\d]{1,30})[)\]]$")  # "Population (million)", "Share [%]"
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")  # 1500 to 2099
_AMBIGUOUS = re.compile(r"[1-9]\d{0,2}\.\d{3}")  # "1.234" is a decimal in English, and thousands in German
_AMBIGUOUS_ABROAD = re.compile(r"\d{1,3},\d{3}")  # "1,234" is thousands in English, and a decimal in German

ClaimCell = tuple[CitedClaim, ...]


def find_series(block: LayoutBlock) -> tuple[str, tuple[str, ...], tuple[ChartSeries, ...]] | None:
    """Return the unit, the categories and the series of a table; None if its figures are not comparable.

    A column of words, such as remarks, is left out; a column in which some cells are figures forbids a chart.
    """
    columns = [n for n in range(len(block.columns)) if any(_parse_cell(row.cells[n]) for row in block.rows)]
    grid = [[_parse_cell(row.cells[n]) for n in columns] for row in block.rows]
    cells = [row.cells[n] for row in block.rows for n in columns]
    names, categories = [block.columns[n] for n in columns], [row.label for row in block.rows]
    figures = [figure for row in grid for figure in row]
    # "1 hour" and "2 hours" have one unit.
    units = {figure[1].removesuffix("s"): figure[1] for figure in sorted(filter(None, figures), key=_get_unit)}
    own = {match[1] if (match := _COLUMN_UNIT.search(name)) else "" for name in names}
    is_whole = all(figure or _is_empty(cell) for figure, cell in zip(figures, cells, strict=True))
    if len(units) != 1 or len(own) != 1 or not is_whole:
        return None
    unit = " ".join(filter(None, (*units.values(), *own)))
    if _are_years(names) and not _are_years(categories):
        names, categories, grid = categories, names, [list(line) for line in zip(*grid, strict=True)]
    values = [[figure and figure[0] for figure in row] for row in grid]
    count = sum(value is not None for row in values for value in row)
    if count < MIN_VALUES or len(categories) > MAX_CATEGORIES or len(names) > MAX_SERIES:
        return None
    if not unit and not (len(names) == 1 and _are_years(categories)):
        return None
    series = (ChartSeries(flatten(name), tuple(row[n] for row in values)) for n, name in enumerate(names))
    return unit, tuple(map(flatten, categories)), tuple(series)


def list_years(categories: Sequence[str]) -> tuple[int, ...]:
    """Return the years that the categories are, for a line; empty if they are something else, or fewer than three."""
    return tuple(map(int, categories)) if len(categories) >= MIN_VALUES and _are_years(categories) else ()


def _parse_cell(cell: ClaimCell) -> tuple[ChartValue, str] | None:
    """Return the figure of a cell with its unit; None for another text, a doubtful figure and one without a source."""
    if len(cell) != 1 or not cell[0].sources or cell[0].claim.status not in ("supported", "unverified"):
        return None
    text = flatten(cell[0].claim.text).replace("**", "").removesuffix(".").strip()
    found = _CELL.fullmatch(text)
    if found is None or _AMBIGUOUS.fullmatch(found["number"]):
        return None
    if get_language() != "en" and _AMBIGUOUS_ABROAD.fullmatch(found["number"]):
        return None
    numbers = extract_numbers(found["number"], include_words=False)
    if len(numbers) != 1:
        return None
    value = next(iter(numbers)).value * (-1 if found["sign"] else 1)
    unit = f"{found['currency'].strip()} {found['unit'].strip()}".strip()
    return ChartValue(value, text, cell[0].sources), unit


def _get_unit(figure: tuple[ChartValue, str]) -> str:
    return figure[1]


def _is_empty(cell: ClaimCell) -> bool:
    return all(cited.claim.text == EMPTY_CELL for cited in cell)


def _are_years(names: Sequence[str]) -> bool:
    return len(names) > 1 and len({*names}) == len(names) and all(map(_YEAR.fullmatch, names))
