"""Markdown tables of the comparison."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.peers.model import FAULT_KINDS
from benchmarks.peers.systems import find_system

Figures = Mapping[str, Any]
_INVENTED: Mapping[str, str] = {"stated": "stated", "marked": "stated, marked as doubtful", "absent": "removed"}


def format_tables(figures: Figures) -> str:
    """Return all tables, each below the name of its scenario; systems without figures have the obstacle."""
    measured = {name: one for name, one in figures.items() if "obstacle" not in one}
    obstacles = [f"{name}: not measured. {one['obstacle']}" for name, one in figures.items() if "obstacle" in one]
    tables = (
        ("Cost", _list_costs(measured)),
        ("Crash", _list_crashes(measured)),
        ("Broken answers", _list_broken(measured)),
        ("No evidence", _list_absent(measured)),
        ("Inventions", _list_invented(measured)),
    )
    parts = [f"### {title}\n\n{format_table(rows)}" for title, rows in tables if len(rows) > 1]
    return "\n\n".join([*parts, *obstacles])


def format_table(rows: Sequence[Sequence[object]]) -> str:
    """Return a table whose first row is its head."""
    lines = ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def describe_version(name: str) -> str:
    """Return the name of a system with the version of its package."""
    packages = find_system(name).packages
    return f"{name} {packages[0].partition('==')[2]}" if packages else name


def compute_median(rows: Sequence[Figures], field: str) -> float:
    """Return the median of a figure."""
    return float(statistics.median(row[field] for row in rows))


def _list_costs(figures: Figures) -> list[list[object]]:
    head: list[object] = ["system", "calls", "prompt tokens", "answer tokens", "embedded tokens"]
    rows = [[*head, "first run", "later runs", "processor time", "memory", "installation"]]
    for name, one in _select(figures, "cost"):
        costs = one["cost"]
        later = costs[1:] or costs
        row: list[object] = [describe_version(name)]
        for field in ("calls", "tokens_in", "tokens_out", "embedded_tokens"):
            row.append(f"{compute_median(costs, field):,.0f}")
        row += [f"{costs[0]['seconds']:.1f} s", f"{compute_median(later, 'seconds'):.1f} s"]
        row.append(f"{compute_median(later, 'cpu_seconds'):.1f} s")
        rows.append([*row, f"{max(cost['peak_megabytes'] for cost in costs):,} MB", f"{one['megabytes']:,} MB"])
    return rows


def _list_crashes(figures: Figures) -> list[list[object]]:
    rows: list[list[object]] = [
        ["system", "calls without a crash", "before", "after", "repeated", "repeated tokens", "outcome", "continued by"]
    ]
    for name, one in _select(figures, "crash"):
        crash = one["crash"]
        fields = ("undisturbed_calls", "calls_before", "calls_after", "repeated_calls")
        cells = [crash[field] for field in fields]
        rows.append([name, *cells, f"{crash['repeated_tokens']:,}", crash["outcome"], find_system(name).resume])
    return rows


def _list_broken(figures: Figures) -> list[list[object]]:
    rows: list[list[object]] = [["system", *FAULT_KINDS]]
    for name, one in _select(figures, "broken"):
        rows.append([name, *(describe_broken(one["broken"][kind]) for kind in FAULT_KINDS)])
    return rows


def describe_broken(runs: Sequence[Figures]) -> str:
    """Return the outcomes of broken answers with their counts."""
    counts = Counter(_describe_run(run) for run in runs)
    return "; ".join(f"{count} × {words}" for words, count in counts.most_common())


def _describe_run(run: Figures) -> str:
    parts = [run["outcome"]]
    if run["outcome"] == "report":
        parts += ["with torn sentences"] * bool(run["fragments"])
        parts += ["without evidence"] * (not run["sentences"])
        parts += ["says so"] if run["disclosed"] else []
    return ", ".join(parts)


def _list_absent(figures: Figures) -> list[list[object]]:
    rows: list[list[object]] = [["system", "outcome", "says that it found nothing", "unrelated sentences", "calls"]]
    for name, one in _select(figures, "absent"):
        absent = one["absent"]
        rows.append([name, absent["outcome"], _word(absent["admits"]), absent["sentences"], absent["calls"]])
    return rows


def _list_invented(figures: Figures) -> list[list[object]]:
    rows: list[list[object]] = [["system", "invented fact", "invented quote", "invented source"]]
    for name, one in _select(figures, "invented"):
        invented = one["invented"]
        rows.append([name, *(_describe_invented(invented, kind) for kind in ("fact", "quote", "source"))])
    return rows


def _describe_invented(invented: Figures, kind: str) -> str:
    return _INVENTED[invented[kind]] if invented["outcome"] == "report" else invented["outcome"]


def _select(figures: Figures, scenario: str) -> list[tuple[str, Figures]]:
    return [(name, one) for name, one in figures.items() if scenario in one]


def _word(value: bool) -> str:
    return "yes" if value else "no"
