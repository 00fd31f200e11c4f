"""Tests of the figures of concurrent runs."""

from benchmarks.load import measure_union


def test_the_time_in_flight_counts_no_moment_twice() -> None:
    """Spans that overlap, touch or contain each other cover their union, in any order."""
    assert measure_union([]) == 0.0
    assert measure_union([(5.0, 6.0), (0.0, 2.0), (1.0, 3.0), (1.5, 1.6), (3.0, 4.0)]) == 5.0
