"""Test the tables and charts of the comparison."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from benchmarks.peers.charts import draw_chart, write_charts
from benchmarks.peers.tables import describe_broken, format_tables

COST = {"calls": 5, "tokens_in": 5000, "tokens_out": 1000, "embedded_tokens": 0, "seconds": 2.0, "cpu_seconds": 1.0}
FIGURES: dict[str, Any] = {
    "Tenure": {
        "megabytes": 400,
        "cost": [{**COST, "peak_megabytes": 300}, {**COST, "calls": 7, "peak_megabytes": 500}],
        "crash": {
            **{"undisturbed_calls": 5, "calls_before": 2, "calls_after": 3, "repeated_calls": 0},
            **{"repeated_tokens": 0, "outcome": "report"},
        },
        "invented": {"outcome": "report", "fact": "absent", "quote": "marked", "source": "stated"},
    },
    "LangGraph": {"obstacle": "no network"},
}


def test_tables_have_a_row_for_each_measured_system() -> None:
    """Medians and maxima appear in the table, and an obstacle below it."""
    tables = format_tables(FIGURES)

    assert "| Tenure | 6 | 5,000 | 1,000 | 0 | 2.0 s | 2.0 s | 1.0 s | 500 MB | 400 MB |" in tables
    assert "| Tenure | removed | stated, marked as doubtful | stated |" in tables
    assert "LangGraph: not measured. no network" in tables
    assert "Broken answers" not in tables


def test_outcomes_are_counted() -> None:
    """Runs with the same outcome are one entry with their number."""
    report = {"outcome": "report", "fragments": 0, "sentences": 4, "disclosed": True}
    runs = [report, {"outcome": "error", "fragments": 0, "disclosed": False}, report]

    assert describe_broken(runs) == "2 × report, says so; 1 × error"
    assert describe_broken([{**report, "fragments": 2, "disclosed": False}]) == "1 × report, with torn sentences"
    assert describe_broken([{**report, "sentences": 0}]) == "1 × report, without evidence, says so"


def test_bars_are_as_long_as_their_values() -> None:
    """The longest bar has the full width, and half its value half the width."""
    chart = ElementTree.fromstring(draw_chart("Title & more", [("Tenure", 10.0), ("other", 5.0), ("none", 0.0)], ""))
    widths = [float(bar.attrib["width"]) for bar in chart.iter("{http://www.w3.org/2000/svg}rect")]

    assert widths[0] == 2 * widths[1] and widths[2] == 1


def test_charts_leave_out_systems_without_figures(tmp_path: Path) -> None:
    """All charts are written, with the measured systems only."""
    write_charts(FIGURES, tmp_path)

    charts = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert sorted(charts) == ["peers-processor.svg", "peers-repeated.svg", "peers-tokens.svg"]
    assert all("Tenure" in chart and "LangGraph" not in chart for chart in charts.values())
