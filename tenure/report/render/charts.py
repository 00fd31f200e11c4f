"""Draw a chart as SVG without scripts and styles, and write its figures as CSV and as bars of text.

Axes begin at zero, years are at their true distances, and each figure has its value, its unit and its sources as the
title that a pointer shows. Colours are attributes, which style sheets may override for dark screens.
"""

import csv
import io
from collections.abc import Iterator
from html import escape
from typing import Final

from tenure.report.layout.tree import ChartNode, ChartValue

_COLOURS: Final = ("#14607b", "#b86e00", "#7a4fa3", "#3f8f4f")
_INK, _RULE = "#56616a", "#d9dfe2"
_WIDTH: Final = 440
_LABEL: Final = 130
"""Width of the labels of bars."""
_BAR: Final = 16
_PLOT_HEIGHT: Final = 180
_MAX_LABEL_CHARS: Final = 20
_TEXT_BAR: Final = 24
"""Characters of the longest bar of text."""
_FORMULA = ("=", "+", "-", "@", "\t")
"""Beginnings of a cell that a spreadsheet would run."""


def draw_chart(node: ChartNode) -> str:
    """Return a chart as an SVG image: a line over years, or else bars."""
    marks, height = _draw_lines(node) if node.years else _draw_bars(node)
    legend = _draw_legend(node) if len(node.series) > 1 else ""
    total = height + (22 * len(node.series) if legend else 0)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {height - total} {_WIDTH} {total}" width="{_WIDTH}" '
        f'height="{total}" role="img" aria-label="{escape(node.text)}" font-family="sans-serif" font-size="12">'
        f"{legend}{marks}</svg>"
    )


def write_csv(node: ChartNode) -> str:
    """Return the figures of a chart as CSV, a line for each, with the numbers of its sources."""
    content = io.StringIO()
    table = csv.writer(content)
    table.writerow(("category", "series", "value", "unit", "sources"))
    for category, name, value in _list_values(node):
        words = [guard_cell(text) for text in (category, name, node.unit)]
        sources = " ".join(map(str, value.sources))
        table.writerow((words[0], words[1], f"{value.value:.12g}", words[2], sources))
    return content.getvalue()


def guard_cell(text: str) -> str:
    """Return a text as a cell of CSV that no spreadsheet runs as a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def write_bars(node: ChartNode) -> str:
    """Return a chart as bars of text; negative figures have their number alone."""
    largest = max(max(value.value for *_, value in _list_values(node)), 0.0) or 1.0
    rows = [
        (category if len(node.series) == 1 else f"{category}, {name}", value)
        for category, name, value in _list_values(node)
    ]
    width = max(len(label) for label, _ in rows)
    return "\n".join(
        f"{label:<{width}} {'█' * round(max(value.value, 0.0) / largest * _TEXT_BAR)} {value.text}"
        for label, value in rows
    )


def _list_values(node: ChartNode) -> Iterator[tuple[str, str, ChartValue]]:
    for n, category in enumerate(node.categories):
        for series in node.series:
            if (value := series.values[n]) is not None:
                yield category, series.name, value


def _scale(node: ChartNode) -> tuple[float, float]:
    """Return the least and the greatest value of the axis, which contains zero."""
    values = [value.value for *_, value in _list_values(node)]
    least, greatest = min(0.0, *values), max(0.0, *values)
    return least, greatest if greatest > least else least + 1


def _draw_bars(node: ChartNode) -> tuple[str, int]:
    least, greatest = _scale(node)
    figures = max(len(value.text) for *_, value in _list_values(node)) * 6.8 + 8  # pixels of the text after a bar
    width = max(_WIDTH - _LABEL - figures, 60)

    def place(value: float) -> float:
        return _LABEL + (value - least) / (greatest - least) * width

    parts, y = [], 4
    for n, category in enumerate(node.categories):
        parts.append(_write(_LABEL - 6, y + _BAR * len(node.series) / 2 + 4, _cut(category), "end"))
        for number, series in enumerate(node.series):
            if (value := series.values[n]) is not None:
                start, end = sorted((place(0), place(value.value)))
                parts.append(
                    f'<rect class="s{number}" x="{start:.1f}" y="{y + 1}" width="{max(end - start, 1):.1f}" '
                    f'height="{_BAR - 2}" fill="{_COLOURS[number]}">{_title(category, series.name, value)}</rect>'
                    + _write(end + 4, y + 12, value.text)
                )
            y += _BAR
        y += 8
    axis = f'<path class="axis" d="M{place(0):.1f} 0V{y - 4}" stroke="{_RULE}"/>'
    return axis + "".join(parts), y


def _draw_lines(node: ChartNode) -> tuple[str, int]:
    least, greatest = _scale(node)
    first, last = min(node.years), max(node.years)
    left, right = 24, _WIDTH - 40

    def place(year: int, value: float) -> tuple[float, float]:
        x = left + (year - first) / (last - first) * (right - left)
        return x, 16 + (greatest - value) / (greatest - least) * _PLOT_HEIGHT

    zero = place(first, 0)[1]
    parts = [f'<path class="axis" d="M{left - 8} {zero:.1f}H{right + 8}" stroke="{_RULE}"/>']
    for number, series in enumerate(node.series):
        points = [
            (*place(year, value.value), year, value)
            for year, value in zip(node.years, series.values, strict=True)
            if value
        ]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y, *_ in sorted(points, key=lambda point: point[2]))
        parts.append(
            f'<polyline class="l{number}" points="{line}" fill="none" stroke="{_COLOURS[number]}" stroke-width="2"/>'
        )
        for x, y, year, value in points:
            parts.append(
                f'<circle class="s{number}" cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{_COLOURS[number]}">'
                f"{_title(str(year), series.name, value)}</circle>" + _write(x, y - 8, f"{value.value:g}", "middle")
            )
    bottom = 16 + _PLOT_HEIGHT + 18
    parts += [_write(place(year, 0)[0], bottom, str(year), "middle") for year in node.years]
    return "".join(parts), bottom + 8


def _draw_legend(node: ChartNode) -> str:
    """Return the names of the series above the chart."""
    rows = []
    for number, series in enumerate(node.series):
        y = -22 * (len(node.series) - number) + 4
        rows.append(f'<rect class="s{number}" x="4" y="{y}" width="12" height="12" fill="{_COLOURS[number]}"/>')
        rows.append(_write(22, y + 10, series.name))
    return "".join(rows)


def _title(category: str, series: str, value: ChartValue) -> str:
    sources = ", ".join(map(str, value.sources))
    return f"<title>{escape(f'{category}, {series}: {value.text} [{sources}]')}</title>"


def _write(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text class="label" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{_INK}">{escape(text)}</text>'


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_LABEL_CHARS else f"{text[: _MAX_LABEL_CHARS - 1]}…"
