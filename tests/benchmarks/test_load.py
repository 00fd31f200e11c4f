"""Tests of the figures of concurrent runs."""

from pathlib import Path

from benchmarks.load import measure, measure_union
from tests.support.tiers import exhaustive


def test_the_time_in_flight_counts_no_moment_twice() -> None:
    """Spans that overlap, touch or contain each other cover their union, in any order."""
    assert measure_union([]) == 0.0
    assert measure_union([(5.0, 6.0), (0.0, 2.0), (1.0, 3.0), (1.5, 1.6), (3.0, 4.0)]) == 5.0


@exhaustive
def test_two_workers_share_the_runs(tmp_path: Path) -> None:
    """Both workers take part, all runs end in a report, and each run makes the same number of calls."""
    figures = measure(4, 0.01, tmp_path / "home", workers=2)

    assert (figures["runs"], figures["workers"]) == (4, 2)
    assert figures["calls"] == 8 and 0.5 <= figures["busiest_worker_share"] < 1
