"""A meter that keeps what is recorded."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tenure.metrics import Metric

Labels = Mapping[str, str | int | float | bool] | None


@dataclass
class RecordingMeter:
    """Values by name and labels."""

    values: dict[tuple[str, frozenset[tuple[str, Any]]], Any] = field(default_factory=dict)

    def get(self, metric: Metric, *labels: str) -> Any:
        """Return the value of a metric; None if it was never recorded."""
        return self.values.get((metric.name, frozenset(zip(metric.labels, labels, strict=True))))

    def create_counter(self, name: str, description: str | None = None) -> "RecordingMetric":
        return RecordingMetric(self, name)

    def create_gauge_float(self, name: str, description: str | None = None) -> "RecordingMetric":
        return RecordingMetric(self, name)

    def create_histogram_float(self, name: str, description: str | None = None) -> "RecordingMetric":
        return RecordingMetric(self, name)


@dataclass
class RecordingMetric:
    """A counter, gauge or histogram."""

    meter: RecordingMeter
    name: str

    def _key(self, labels: Labels) -> tuple[str, frozenset[tuple[str, Any]]]:
        return self.name, frozenset((labels or {}).items())

    def add(self, value: int, additional_attributes: Labels = None) -> None:
        key = self._key(additional_attributes)
        self.meter.values[key] = self.meter.values.get(key, 0) + value

    def set(self, value: float, additional_attributes: Labels = None) -> None:
        self.meter.values[self._key(additional_attributes)] = value

    def record(self, value: float, additional_attributes: Labels = None) -> None:
        self.meter.values.setdefault(self._key(additional_attributes), []).append(value)
