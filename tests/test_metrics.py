"""Tests of the recorder of the product's metrics."""

from pathlib import Path
from typing import get_args

import pytest

from tenure.contracts.sandbox import SandboxVerdict
from tenure.knowledge.store.metrics import SearchMetrics
from tenure.metrics import (
    ALL_METRICS,
    CACHE_LOOKUPS,
    MODEL_CALLS,
    RUNS_OPEN,
    SANDBOX_VERDICTS,
    SEARCH_SECONDS,
    WEB_PAGES,
    MetricRecorder,
)
from tests.support.meters import RecordingMeter


def test_names_of_metrics_are_unique_and_follow_the_conventions() -> None:
    """Names have one prefix, and a duration or a size names its unit."""
    names = [metric.exported_name for metric in ALL_METRICS]

    assert len(names) == len(set(names)) >= 20
    assert all(name.startswith("tenure_") for name in names)
    assert all(metric.name.endswith("_seconds") for metric in ALL_METRICS if metric.kind == "histogram")
    assert all(not metric.name.endswith("_total") for metric in ALL_METRICS)


def test_values_are_recorded_under_their_labels() -> None:
    """Counters add up, gauges keep the latest value, and histograms keep all."""
    meter = RecordingMeter()
    recorder = MetricRecorder(meter)

    recorder.count(MODEL_CALLS, "router", "answered")
    recorder.count(MODEL_CALLS, "router", "answered", value=2)
    recorder.set(RUNS_OPEN, 4, "active")
    recorder.set(RUNS_OPEN, 1, "active")
    recorder.record(SEARCH_SECONDS, 0.5, "hybrid")

    assert meter.get(MODEL_CALLS, "router", "answered") == 3
    assert meter.get(RUNS_OPEN, "active") == 1
    assert meter.get(SEARCH_SECONDS, "hybrid") == [0.5]


def test_a_missing_label_is_an_error() -> None:
    """A metric is never recorded with fewer labels than its definition has."""
    with pytest.raises(ValueError, match="argument"):
        MetricRecorder(RecordingMeter()).count(MODEL_CALLS, "router")


def test_counters_of_alerts_start_at_zero() -> None:
    """After the initialization, each known label has a series."""
    meter = RecordingMeter()

    MetricRecorder(meter).initialize(["router"], ["brave"])

    assert meter.get(MODEL_CALLS, "router", "rejected") == 0
    assert [meter.get(SANDBOX_VERDICTS, verdict) for verdict in get_args(SandboxVerdict)] == [0] * 6
    assert meter.get(WEB_PAGES, "failed") == 0


def test_searches_and_lookups_of_the_knowledge_base_are_exported(tmp_path: Path) -> None:
    """The counters of the home and the export receive the same counts."""
    meter = RecordingMeter()
    metrics = SearchMetrics(tmp_path / "searches.db", MetricRecorder(meter))

    metrics.count_search("hybrid", 0.25)
    metrics.count_cache_lookups(3, 1)

    (stats,) = metrics.load_search_stats()
    assert (stats.mode, stats.count) == ("hybrid", 1)
    assert meter.get(SEARCH_SECONDS, "hybrid") == [0.25]
    assert (meter.get(CACHE_LOOKUPS, "vectors", "hit"), meter.get(CACHE_LOOKUPS, "vectors", "miss")) == (3, 1)
