"""Figures of the calls of one system."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

BASELINE: Final = "HTTP"
"""System that posts the requests with nothing around them."""


@dataclass
class Calls:
    """Calls of one system in all turns."""

    milliseconds: list[float] = field(default_factory=list)
    """Time of each call."""
    client_seconds: float = 0.0
    """Processor time of the processes that make the calls: workers, or the process of the graph."""
    server_seconds: float = 0.0
    """Processor time of the Temporal server."""
    events: int = 0
    """Events of the histories."""

    def add(self, other: "Calls") -> None:
        """Add the calls of another turn."""
        self.milliseconds += other.milliseconds
        self.client_seconds += other.client_seconds
        self.server_seconds += other.server_seconds
        self.events += other.events


def compute_figures(calls: Mapping[str, Calls]) -> dict[str, dict[str, float]]:
    """Return the figures of each system; the overhead is the time beyond that of the baseline."""
    base = calls[BASELINE].milliseconds
    found = {}
    for name, made in calls.items():
        times, count = made.milliseconds, len(made.milliseconds)
        p50, p95 = statistics.median(times), compute_percentile(times, 0.95)
        found[name] = {
            "call_p50_ms": p50,
            "call_p95_ms": p95,
            "overhead_p50_ms": p50 - statistics.median(base),
            "overhead_p95_ms": p95 - compute_percentile(base, 0.95),
            "client_cpu_ms": made.client_seconds * 1000 / count,
            "server_cpu_ms": made.server_seconds * 1000 / count,
            "events": made.events / count,
        }
    return {name: {figure: round(value, 1) for figure, value in row.items()} for name, row in found.items()}


def compute_percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of the values lies."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]
