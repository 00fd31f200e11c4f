"""Test the figures of calls."""

import pytest

from benchmarks.calls.figures import Calls, compute_figures, compute_percentile


def test_the_overhead_is_the_time_beyond_the_baseline() -> None:
    """Times are compared at the same percentile, and processor time and events are divided by the calls."""
    base = Calls([1.0, 2.0, 3.0], client_seconds=0.003)
    system = Calls([10.0, 20.0], client_seconds=0.04, server_seconds=0.02, events=12)
    system.add(Calls([30.0], client_seconds=0.02, server_seconds=0.01, events=6))

    figures = compute_figures({"HTTP": base, "system": system})

    assert figures["HTTP"]["overhead_p50_ms"] == figures["HTTP"]["events"] == 0
    assert figures["system"] == {
        "call_p50_ms": 20.0,
        "call_p95_ms": 30.0,
        "overhead_p50_ms": 18.0,
        "overhead_p95_ms": 27.0,
        "client_cpu_ms": 20.0,
        "server_cpu_ms": 10.0,
        "events": 6.0,
    }


@pytest.mark.parametrize(("share", "value"), [(0.0, 1.0), (0.5, 3.0), (0.95, 4.0), (1.0, 4.0)])
def test_a_percentile_is_one_of_the_values(share: float, value: float) -> None:
    """The order of the values does not matter, and the largest value ends the scale."""
    assert compute_percentile([4.0, 1.0, 3.0, 2.0], share) == value
