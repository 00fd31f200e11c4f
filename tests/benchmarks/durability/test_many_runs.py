"""Run the short form of the measure of many concurrent runs."""

from pathlib import Path

import pytest

from benchmarks.durability.many_runs import measure
from tests.support.tiers import RUN_ALL, exhaustive

RUNS = 200 if RUN_ALL else 8


@exhaustive
@pytest.mark.timeout(1800)
def test_one_worker_finishes_many_runs_at_once_within_its_memory(tmp_path: Path) -> None:
    """All runs end with a report under the same worker process, no call is repeated, and memory stays below 1.5 GiB."""
    figures = measure(RUNS, 0.2, tmp_path / "home")

    assert figures["finished"] == figures["with_report"] == RUNS
    assert (figures["same_worker"], figures["repeated_calls"]) == (1, 0)
    assert figures["worker_peak_mib"] < 1536
