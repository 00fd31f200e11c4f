"""Bar charts of the comparison as SVG, readable on light and dark pages."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

from benchmarks.peers.tables import compute_median

_WIDTH: Final = 720
_ROW: Final = 30
_LABEL: Final = 180
_VALUE: Final = 90
"""Pixels for the value next to the longest bar."""
_HEAD: Final = 40
_STYLE: Final = """
    text { font: 14px system-ui, sans-serif; fill: #24292f; }
    .title { font-weight: 600; }
    .bar { fill: #6e7781; }
    .own { fill: #0969da; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .bar { fill: #8b949e; }
      .own { fill: #4493f8; }
    }
"""


def write_charts(figures: Mapping[str, Any], folder: Path) -> None:
    """Write one chart each for tokens, processor time and repeated calls; systems without the figure are left out."""
    costs = {name: one["cost"] for name, one in figures.items() if "cost" in one}
    crashes = {name: one["crash"] for name, one in figures.items() if "crash" in one}
    tokens = [
        (name, compute_median(rows, "tokens_in") + compute_median(rows, "tokens_out")) for name, rows in costs.items()
    ]
    seconds = [(name, compute_median(rows[1:] or rows, "cpu_seconds")) for name, rows in costs.items()]
    repeated = [(name, crash["repeated_calls"]) for name, crash in crashes.items()]
    charts = {
        "peers-tokens.svg": draw_chart("Tokens of a report, prompt and answer", tokens, ""),
        "peers-processor.svg": draw_chart("Processor time of a report, after the first", seconds, " s"),
        "peers-repeated.svg": draw_chart("Calls that are paid twice after kill -9", repeated, ""),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, chart in charts.items():
        (folder / name).write_text(chart, encoding="utf-8")


def draw_chart(title: str, values: Sequence[tuple[str, float]], unit: str) -> str:
    """Return a chart with one bar for each system.

    Args:
        title: title of the chart.
        values: value of each system by name, not negative.
        unit: text after each value.
    """
    largest = max((value for _, value in values), default=0) or 1
    height = _HEAD + _ROW * len(values) + 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="{escape(title)}">',
        f"  <style>{_STYLE}  </style>",
        f'  <text class="title" x="0" y="20">{escape(title)}</text>',
    ]
    for row, (name, value) in enumerate(values):
        top = _HEAD + row * _ROW
        width = value / largest * (_WIDTH - _LABEL - _VALUE)
        number = f"{value:,.1f}" if unit else f"{value:,.0f}"
        kind = "bar own" if name == "Tenure" else "bar"
        lines += [
            f'  <text x="0" y="{top + 16}">{escape(name)}</text>',
            f'  <rect class="{kind}" x="{_LABEL}" y="{top}" width="{max(width, 1):.1f}" height="{_ROW - 8}" rx="3"/>',
            f'  <text x="{_LABEL + width + 8:.1f}" y="{top + 16}">{number}{escape(unit)}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])
