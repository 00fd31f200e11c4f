"""Observe activities: count what they did, name their run in log lines, and trace them.

Metrics are read from requests and replies, so the activities themselves contain none. A workflow passes its run, its
research cycle and its position in a trace in a header of each activity and child workflow.
"""

import asyncio
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from structlog.contextvars import bind_contextvars
from temporalio import activity
from temporalio.api.common.v1 import Payload
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from activities.errors import KNOWLEDGE_REFUSED, MODEL_REJECTED, MODEL_UNAVAILABLE, PATH_MISSING, PATH_REFUSED
from activities.sandbox import SANDBOX_FAILED, SANDBOX_MISSING
from activities.web import SEARCH_UNAVAILABLE
from tenure.contracts.evidence.corpora import IngestReport
from tenure.contracts.evidence.passages import FailedSearch, SearchBatchReply
from tenure.contracts.evidence.web import FetchReply, ReadPagesReply, WebSearchReply
from tenure.contracts.run.role_calls import OFFLINE, RoleReply
from tenure.contracts.sandbox import SandboxOutcome
from tenure.metrics import (
    ACTIVITY_FAILURES,
    CACHE_LOOKUPS,
    INGESTED_CHUNKS,
    INGESTED_FILES,
    MODEL_ANSWERS,
    MODEL_CALLS,
    MODEL_COST,
    MODEL_TOKENS,
    SANDBOX_VERDICTS,
    WEB_PAGES,
    WEB_SEARCHES,
    CallOutcome,
    MetricRecorder,
)
from tenure.roles.registry import list_role_names

if TYPE_CHECKING:
    from tenure.tracing.tracer import Span, Tracer

CONTEXT_HEADER: Final = "tenure-context"
"""Header with the run, the cycle and the position in the trace of what a workflow calls."""

KNOWN_ERRORS: Final = frozenset(
    (
        *(KNOWLEDGE_REFUSED, MODEL_REJECTED, MODEL_UNAVAILABLE, PATH_MISSING, PATH_REFUSED),
        *(SANDBOX_FAILED, SANDBOX_MISSING, SEARCH_UNAVAILABLE),
    )
)
"""Error types that a metric names; servers of other people could make up any number of others."""

_CALL_OUTCOMES: Final[Mapping[str, CallOutcome]] = {
    MODEL_UNAVAILABLE: "unavailable",
    MODEL_REJECTED: "rejected",
    "cancelled": "cancelled",
}


@dataclass(frozen=True)
class RunContext:
    """Description of its caller that an activity or child workflow receives."""

    run: str = ""
    """Id of the run."""
    cycle: int = 0
    """Research cycle; 0 outside of cycles."""
    traceparent: str = ""
    """Position in the trace, in the format of the W3C; empty without a trace."""

    def encode(self) -> Payload:
        """Return the value of the header."""
        return Payload(metadata={"encoding": b"json/plain"}, data=json.dumps(asdict(self)).encode())


def decode_context(headers: Mapping[str, Payload]) -> RunContext:
    """Return the context in headers; an empty one if there is none or it is malformed."""
    if CONTEXT_HEADER not in headers:
        return RunContext()
    try:
        fields = json.loads(headers[CONTEXT_HEADER].data)
        return RunContext(str(fields["run"]), int(fields["cycle"]), str(fields["traceparent"]))
    except (ValueError, KeyError, TypeError):
        return RunContext()


def get_run(workflow: str) -> str:
    """Return the run that a workflow belongs to: the ids of its children begin with its own and a slash."""
    return workflow.partition("/")[0]


class ActivityObserver(ActivityInboundInterceptor):
    """Interceptor of activities that records metrics, binds ids to log lines and makes spans."""

    def __init__(self, next: ActivityInboundInterceptor, recorder: MetricRecorder, tracer: "Tracer | None") -> None:
        """Record with `recorder`, and trace if there is a tracer."""
        super().__init__(next)
        self._recorder, self._tracer = recorder, tracer

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        """Execute an activity and record its result."""
        info = activity.info()
        context = decode_context(input.headers)
        ids: dict[str, Any] = {
            "run": context.run or get_run(info.workflow_id or ""),
            "workflow": info.workflow_id or "",
            "activity": info.activity_type,
            "activity_id": info.activity_id,
            "attempt": info.attempt,
        }
        if context.cycle:
            ids["cycle"] = context.cycle
        with self._start_span(info, context) as span:
            if span is not None:
                ids["trace_id"] = span.trace_id
            # For the rest of the activity's task, in which the SDK logs a failure when this has returned.
            bind_contextvars(**ids)
            try:
                reply = await super().execute_activity(input)
            except BaseException as error:
                kind = classify_error(error)
                if span is not None:
                    span.set_error(kind)
                self._count_failure(info.activity_type, kind)
                raise
            self._count_reply(info.activity_type, reply)
            return reply

    def _start_span(self, info: activity.Info, context: RunContext) -> "AbstractContextManager[Span | None]":
        if self._tracer is None:
            return nullcontext()
        waited = info.started_time - info.current_attempt_scheduled_time
        return self._tracer.start_span(
            info.activity_type,
            "server",
            {
                "tenure.run": context.run or get_run(info.workflow_id or ""),
                **({"tenure.cycle": context.cycle} if context.cycle else {}),
                "temporal.workflow.id": info.workflow_id or "",
                "temporal.activity.id": info.activity_id,
                "temporal.activity.attempt": info.attempt,
                "temporal.task_queue": info.task_queue,
                "temporal.schedule_to_start_seconds": waited.total_seconds(),
            },
            parent=context.traceparent,
        )

    def _count_failure(self, name: str, kind: str) -> None:
        self._recorder.count(ACTIVITY_FAILURES, name, kind)
        if name in list_role_names():
            self._recorder.count(MODEL_CALLS, name, _CALL_OUTCOMES.get(kind, "failed"))

    def _count_reply(self, name: str, reply: object) -> None:
        count = self._recorder.count
        match reply:
            case RoleReply():
                self._count_call(name, reply)
            case IngestReport():
                count(INGESTED_CHUNKS, "files", value=reply.chunks)
                for result in ("added", "changed", "unchanged", "removed"):
                    count(INGESTED_FILES, result, value=getattr(reply, result))
                count(INGESTED_FILES, "skipped", value=reply.skipped_total)
            case ReadPagesReply():
                count(INGESTED_CHUNKS, "web", value=sum(source.chunks for source in reply.sources))
            case FetchReply():
                for page in reply.pages:
                    count(WEB_PAGES, page.status)
                    if page.status in ("fetched", "unchanged", "cached"):
                        count(CACHE_LOOKUPS, "pages", "miss" if page.status == "fetched" else "hit")
            case WebSearchReply():
                for outcome in reply.outcomes:
                    count(WEB_SEARCHES, outcome.provider, outcome.status)
            case SandboxOutcome():
                count(SANDBOX_VERDICTS, reply.verdict)
            case SearchBatchReply():
                self._count_failed_searches(name, reply)

    def _count_failed_searches(self, name: str, reply: SearchBatchReply) -> None:
        for failed in reply.replies:
            if isinstance(failed, FailedSearch):
                self._recorder.count(ACTIVITY_FAILURES, name, failed.type if failed.type in KNOWN_ERRORS else "other")

    def _count_call(self, role: str, reply: RoleReply[Any]) -> None:
        count = self._recorder.count
        outcome: CallOutcome = "answered"
        if reply.fallback_reason is not None:
            outcome = "fallback"
        elif reply.model == OFFLINE:
            outcome = "offline"
        count(MODEL_CALLS, role, outcome)
        if not reply.model_calls:
            return
        count(MODEL_ANSWERS, role, "no" if reply.cost_usd is None else "yes", value=reply.model_calls)
        for kind, tokens in (("input", reply.tokens_in), ("output", reply.tokens_out), ("cached", reply.tokens_cached)):
            count(MODEL_TOKENS, role, kind, value=tokens)
        count(MODEL_COST, role, value=round((reply.cost_usd or 0) * 1_000_000))


def classify_error(error: BaseException) -> str:
    """Return the type of an error as a metric names it."""
    if isinstance(error, asyncio.CancelledError | CancelledError):
        return "cancelled"
    if isinstance(error, ApplicationError) and error.type in KNOWN_ERRORS:
        return error.type or ""
    return "OSError" if isinstance(error, OSError) else "other"
