"""Define the metrics of the product, and record them with the meter of the SDK.

The worker serves them on one port with the metrics of the SDK. A label has a bounded set of values, set by the code or
by the settings of the worker: no text of people, no owner and no id. The export adds `_total` to the names of counters.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, get_args

from tenure.contracts.evidence.web import FetchStatus, ProviderStatus
from tenure.contracts.result.result import ResultStatus
from tenure.contracts.run.run import RunPhase
from tenure.contracts.sandbox import SandboxVerdict

MetricKind = Literal["counter", "gauge", "histogram"]

CallOutcome = Literal["answered", "fallback", "offline", "unavailable", "rejected", "cancelled", "failed"]
"""Outcome of a role's call: the model answered; its answer was unusable or the budget used up, so that the fallback
answered; no model is configured or needed; the server is unavailable, so that Temporal retries; the server rejects the
call permanently; the call was cancelled; or it failed for another reason.
"""

SECONDS_BUCKETS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)
"""Bucket boundaries of durations, from a search to a phase of a run."""


@dataclass(frozen=True)
class Metric:
    """Definition of one metric."""

    name: str
    """Name without the suffix of counters."""
    kind: MetricKind
    """Type."""
    description: str
    """Description for the export and the manual."""
    labels: tuple[str, ...] = ()
    """Names of the labels."""

    @property
    def exported_name(self) -> str:
        """Name in the export."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


MODEL_CALLS: Final = Metric("tenure_model_calls", "counter", "Calls of roles, by outcome.", ("role", "outcome"))
MODEL_ANSWERS: Final = Metric(
    "tenure_model_answers", "counter", "Billed answers of models, unusable ones included.", ("role", "priced")
)
MODEL_TOKENS: Final = Metric(
    "tenure_model_tokens",
    "counter",
    "Tokens of models; `cached` is the part of `input` in their cache.",
    ("role", "kind"),
)
MODEL_COST: Final = Metric(
    "tenure_model_cost_microdollars", "counter", "Cost of answers in millionths of a US dollar.", ("role",)
)
RUNS: Final = Metric("tenure_runs", "counter", "Finished runs, by status.", ("status",))
RUN_PHASES: Final = Metric("tenure_run_phases", "counter", "Phases that runs have started.", ("phase",))
PHASE_SECONDS: Final = Metric("tenure_run_phase_seconds", "histogram", "Durations of phases of runs.", ("phase",))
RUNS_OPEN: Final = Metric(
    "tenure_runs_open", "gauge", "Runs that have not ended: active ones, and those that wait for a person.", ("state",)
)
CACHE_LOOKUPS: Final = Metric(
    "tenure_cache_lookups", "counter", "Lookups in the caches of vectors and of web pages.", ("cache", "result")
)
SEARCH_SECONDS: Final = Metric(
    "tenure_search_seconds", "histogram", "Durations of searches in the knowledge base.", ("mode",)
)
WEB_SEARCHES: Final = Metric(
    "tenure_web_searches", "counter", "Requests to search providers, by result.", ("provider", "status")
)
WEB_PAGES: Final = Metric("tenure_web_pages", "counter", "Web pages requested, by result.", ("status",))
INGESTED_CHUNKS: Final = Metric("tenure_ingested_chunks", "counter", "Chunks ingested, by origin.", ("origin",))
INGESTED_FILES: Final = Metric("tenure_ingested_files", "counter", "Files of ingestions, by result.", ("result",))
SANDBOX_VERDICTS: Final = Metric(
    "tenure_sandbox_verdicts", "counter", "Programs and tests run in the sandbox, by verdict.", ("verdict",)
)
ACTIVITY_FAILURES: Final = Metric(
    "tenure_activity_failures", "counter", "Failed attempts of activities, by type of error.", ("activity", "error")
)
QUEUE_BACKLOG: Final = Metric(
    "tenure_task_queue_backlog", "gauge", "Tasks that wait in a task queue.", ("queue", "kind")
)
QUEUE_BACKLOG_AGE: Final = Metric(
    "tenure_task_queue_backlog_age_seconds", "gauge", "Age of the oldest task of a task queue.", ("queue", "kind")
)
QUEUE_POLLERS: Final = Metric(
    "tenure_task_queue_pollers", "gauge", "Workers that polled a task queue within minutes.", ("queue", "kind")
)
TEMPORAL_UP: Final = Metric("tenure_temporal_up", "gauge", "1 if the Temporal server answers this worker, else 0.")
WORKER_INFO: Final = Metric("tenure_worker_info", "gauge", "1, with the version of the worker.", ("version",))
WORKER_HEARTBEAT: Final = Metric(
    "tenure_worker_heartbeat_timestamp_seconds", "gauge", "Time at which the worker's event loop last ran."
)
WORKER_MEMORY: Final = Metric("tenure_worker_memory_bytes", "gauge", "Resident memory of the worker and its processes.")
HOME_FREE: Final = Metric("tenure_home_free_bytes", "gauge", "Free space of the file system of the home.")
HOME_SIZE: Final = Metric("tenure_home_size_bytes", "gauge", "Size of the file system of the home.")

ALL_METRICS: Final = tuple(metric for metric in list(globals().values()) if isinstance(metric, Metric))
"""All metrics of the product."""

_FILE_RESULTS = ("added", "changed", "unchanged", "removed", "skipped")
_INITIAL_OUTCOMES: tuple[CallOutcome, ...] = ("answered", "fallback", "unavailable", "rejected")


class MetricFactory(Protocol):
    """Part of the SDK's `MetricMeter` that creates the product's metrics."""

    def create_counter(self, name: str, description: str | None = None) -> Any:
        """Return the counter of a name."""

    def create_gauge_float(self, name: str, description: str | None = None) -> Any:
        """Return the gauge of a name."""

    def create_histogram_float(self, name: str, description: str | None = None) -> Any:
        """Return the histogram of a name."""


class MetricRecorder:
    """Recorder of the product's metrics, shared by all threads of a process; a meter without an export does nothing."""

    def __init__(self, meter: MetricFactory) -> None:
        create = {
            "counter": meter.create_counter,
            "gauge": meter.create_gauge_float,
            "histogram": meter.create_histogram_float,
        }
        self._instruments = {
            metric.name: create[metric.kind](metric.name, metric.description) for metric in ALL_METRICS
        }

    def count(self, metric: Metric, *labels: str, value: int = 1) -> None:
        """Increase a counter; the values of the labels are in the order of the metric."""
        self._instruments[metric.name].add(value, dict(zip(metric.labels, labels, strict=True)))

    def set(self, metric: Metric, value: float, *labels: str) -> None:
        """Set a gauge."""
        self._instruments[metric.name].set(value, dict(zip(metric.labels, labels, strict=True)))

    def record(self, metric: Metric, value: float, *labels: str) -> None:
        """Add a value to a histogram."""
        self._instruments[metric.name].record(value, dict(zip(metric.labels, labels, strict=True)))

    def count_search(self, mode: str, seconds: float) -> None:
        """Record the duration of a search in the knowledge base."""
        self.record(SEARCH_SECONDS, seconds, mode)

    def count_cache_lookups(self, hits: int, misses: int) -> None:
        """Count lookups in the cache of vectors."""
        self.count(CACHE_LOOKUPS, "vectors", "hit", value=hits)
        self.count(CACHE_LOOKUPS, "vectors", "miss", value=misses)

    def initialize(self, roles: Iterable[str], providers: Iterable[str]) -> None:
        """Export the counters of known labels as 0, so that an alert sees their first increase."""
        for role in roles:
            for outcome in _INITIAL_OUTCOMES:
                self.count(MODEL_CALLS, role, outcome, value=0)
            for priced in ("yes", "no"):
                self.count(MODEL_ANSWERS, role, priced, value=0)
        for provider in providers:
            for status in get_args(ProviderStatus):
                self.count(WEB_SEARCHES, provider, status, value=0)
        for metric, values in (
            (WEB_PAGES, get_args(FetchStatus)),
            (SANDBOX_VERDICTS, get_args(SandboxVerdict)),
            (INGESTED_FILES, _FILE_RESULTS),
            (INGESTED_CHUNKS, ("files", "web")),
        ):
            for value in values:
                self.count(metric, value, value=0)
        for cache in ("vectors", "pages"):
            for result in ("hit", "miss"):
                self.count(CACHE_LOOKUPS, cache, result, value=0)


RESULT_STATUSES: Final[tuple[str, ...]] = get_args(ResultStatus)
"""Values of the label `status` of finished runs."""
PHASES: Final[tuple[str, ...]] = get_args(RunPhase)
"""Values of the label `phase`."""
