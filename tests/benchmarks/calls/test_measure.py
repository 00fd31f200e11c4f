"""Run a short comparison of calls."""

import importlib.util
import sys
from pathlib import Path

from benchmarks.calls.__main__ import measure
from tests.support.tiers import exhaustive


@exhaustive
def test_all_systems_make_the_same_calls(tmp_path: Path) -> None:
    """A call has six events on Temporal with and without Tenure, and none elsewhere; every system uses the processor.

    A graph is part of it where LangGraph is installed.
    """
    python = sys.executable if importlib.util.find_spec("langgraph") else None

    figures = measure(3, tmp_path / "home", python)

    events = {name: figures[name]["events"] for name in figures}
    temporal = ("Tenure", "Temporal", "Temporal, 2 queues")
    assert {events.pop(name) for name in temporal} == {6.0} and set(events.values()) == {0.0}
    assert all(found["call_p50_ms"] > 0 and found["client_cpu_ms"] > 0 for found in figures.values())
    assert all(figures[name]["server_cpu_ms"] > 0 for name in temporal)
