"""Tests of what is recorded of an activity: metrics by its reply or error, ids in log lines, and its span."""

import asyncio
import dataclasses
from typing import Any

import pytest
import structlog
from temporalio.api.common.v1 import Payload
from temporalio.exceptions import ApplicationError
from temporalio.exceptions import CancelledError as ActivityCancelled
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from activities.errors import KNOWLEDGE_REFUSED, MODEL_REJECTED, MODEL_UNAVAILABLE
from activities.observation import CONTEXT_HEADER, ActivityObserver, RunContext, classify_error, decode_context
from tenure.contracts.evidence.corpora import IngestReport
from tenure.contracts.evidence.passages import FailedSearch, SearchBatchReply, SearchReply
from tenure.contracts.evidence.web import (
    FetchedPage,
    FetchReply,
    FetchStatus,
    ProviderOutcome,
    ReadPagesReply,
    WebSearchReply,
)
from tenure.contracts.run.role_calls import RoleReply
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
    MetricRecorder,
)
from tenure.roles.research.router import RouterOutput
from tests.support.meters import RecordingMeter

ROUTED = RouterOutput(mode="RESEARCH", complexity="simple", query_type="factual", reason="a question")


class Ending(ActivityInboundInterceptor):
    """An activity that ends with a reply or an error, and keeps the ids of log lines in it and after its end."""

    def __init__(self, end: object) -> None:
        self.end = end
        self.ids: dict[str, Any] = {}
        self.ids_at_end: dict[str, Any] = {}

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        self.ids = structlog.contextvars.get_contextvars()
        if isinstance(self.end, BaseException):
            raise self.end
        return self.end


async def observe(
    end: object, name: str = "router", context: RunContext | None = None
) -> tuple[RecordingMeter, Ending]:
    """Execute an activity that ends in some way, and return what was recorded."""
    meter, activity = RecordingMeter(), Ending(end)
    observer = ActivityObserver(activity, MetricRecorder(meter), None)
    headers = {} if context is None else {CONTEXT_HEADER: context.encode()}
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(
        environment.info, activity_type=name, activity_id="7", attempt=2, workflow_id="lighthouses/spiral/2-1"
    )
    input = ExecuteActivityInput(fn=observe, args=[], executor=None, headers=headers)

    async def execute() -> None:
        try:
            await observer.execute_activity(input)
        except BaseException as error:
            assert error is end
        activity.ids_at_end = structlog.contextvars.get_contextvars()

    await environment.run(execute)
    return meter, activity


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (RoleReply(output=ROUTED, model="gpt-5", model_calls=1), "answered"),
        (RoleReply(output=ROUTED, model="offline"), "offline"),
        (RoleReply(output=ROUTED, model="offline", model_calls=3, fallback_reason="no schema"), "fallback"),
        (ApplicationError("503", type=MODEL_UNAVAILABLE), "unavailable"),
        (ApplicationError("401", type=MODEL_REJECTED, non_retryable=True), "rejected"),
        (asyncio.CancelledError(), "cancelled"),
        (KeyError("text of a person"), "failed"),
    ],
)
async def test_a_call_is_counted_by_its_outcome(reply: object, outcome: str) -> None:
    """Each end of a role's call has an outcome of its own."""
    meter, _ = await observe(reply)

    assert meter.get(MODEL_CALLS, "router", outcome) == 1
    assert [value for (name, _), value in meter.values.items() if name == MODEL_CALLS.name] == [1]


async def test_tokens_and_money_are_counted_for_all_answers() -> None:
    """Unusable answers cost as well; an answer without a price is counted as such."""
    reply = RoleReply(
        output=ROUTED,
        model="offline",
        model_calls=2,
        tokens_in=1000,
        tokens_out=50,
        tokens_cached=400,
        cost_usd=0.0123456,
        fallback_reason="no schema",
    )
    meter, _ = await observe(reply)
    unpriced, _ = await observe(reply.model_copy(update={"cost_usd": None}))

    assert [meter.get(MODEL_TOKENS, "router", kind) for kind in ("input", "output", "cached")] == [1000, 50, 400]
    assert meter.get(MODEL_COST, "router") == 12346
    assert meter.get(MODEL_ANSWERS, "router", "yes") == 2
    assert (unpriced.get(MODEL_ANSWERS, "router", "no"), unpriced.get(MODEL_COST, "router")) == (2, 0)


async def test_replies_of_other_activities_are_counted() -> None:
    """Ingestion, pages, web searches and programs have metrics of their own."""
    ingested, _ = await observe(
        IngestReport(corpus="c", added=2, unchanged=5, chunks=9, skipped_total=1), "ingest_corpus"
    )
    read, _ = await observe(ReadPagesReply(), "read_pages")
    statuses: tuple[FetchStatus, ...] = ("fetched", "cached", "unchanged", "failed")
    pages = tuple(FetchedPage(url=f"https://page.test/{status}", status=status) for status in statuses)
    fetched, _ = await observe(FetchReply(pages=pages), "fetch_pages")
    outcome = ProviderOutcome(provider="brave", status="answered")
    searched, _ = await observe(WebSearchReply(outcomes=(outcome,)), "search_web")
    tested, _ = await observe(SandboxOutcome(verdict="timeout"), "run_tests")
    failed = (FailedSearch(type=KNOWLEDGE_REFUSED, message="x"), FailedSearch(type="ValueError", message="x"))
    looked, _ = await observe(SearchBatchReply(replies=(SearchReply(passages=()), *failed)), "search_passages")

    assert ingested.get(INGESTED_CHUNKS, "files") == 9
    assert [ingested.get(INGESTED_FILES, one) for one in ("added", "unchanged", "skipped")] == [2, 5, 1]
    assert read.get(INGESTED_CHUNKS, "web") == 0
    assert [fetched.get(WEB_PAGES, one) for one in ("fetched", "cached", "failed")] == [1, 1, 1]
    assert [fetched.get(CACHE_LOOKUPS, "pages", one) for one in ("hit", "miss")] == [2, 1]
    assert searched.get(WEB_SEARCHES, "brave", "answered") == 1
    assert tested.get(SANDBOX_VERDICTS, "timeout") == 1
    kinds = (KNOWLEDGE_REFUSED, "other")
    assert [looked.get(ACTIVITY_FAILURES, "search_passages", kind) for kind in kinds] == [1, 1]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ApplicationError("x", type=MODEL_REJECTED), MODEL_REJECTED),
        (ApplicationError("x", type="made up by a server"), "other"),
        (ApplicationError("x"), "other"),
        (ActivityCancelled(), "cancelled"),
        (asyncio.CancelledError(), "cancelled"),
        (OSError(28, "No space left on device"), "OSError"),
        (ValueError("x"), "other"),
    ],
)
async def test_errors_have_a_bounded_number_of_types(error: BaseException, kind: str) -> None:
    """A type that the code does not define is not a label."""
    meter, _ = await observe(error, "search_passages")

    assert classify_error(error) == kind
    assert meter.get(ACTIVITY_FAILURES, "search_passages", kind) == 1


@pytest.mark.parametrize("end", [IngestReport(corpus="c"), OSError(28, "No space left on device")])
async def test_log_lines_name_the_run_and_the_activity(end: object) -> None:
    """The ids, with the cycle that the workflow passes on, are still bound when the SDK logs a failure."""
    _, activity = await observe(end, "ingest_corpus", RunContext("lighthouses", 2, ""))

    assert activity.ids_at_end == activity.ids
    assert activity.ids == {
        "run": "lighthouses",
        "workflow": "lighthouses/spiral/2-1",
        "activity": "ingest_corpus",
        "activity_id": "7",
        "attempt": 2,
        "cycle": 2,
    }
    assert structlog.contextvars.get_contextvars() == {}


async def test_an_activity_without_a_context_belongs_to_the_run_of_its_workflow() -> None:
    """Activities that were scheduled by an older version have no header."""
    _, activity = await observe(IngestReport(corpus="c"), "ingest_corpus")

    assert activity.ids["run"] == "lighthouses"
    assert "cycle" not in activity.ids


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'{"run": "a"}', b'{"run":"a","cycle":"b","traceparent":""}', b"\xff"]
)
def test_a_malformed_context_is_empty(data: bytes) -> None:
    """A header of another program fails no activity."""
    assert decode_context({CONTEXT_HEADER: Payload(data=data)}) == RunContext()


def test_a_context_survives_its_header() -> None:
    """A context is decoded as it was encoded."""
    context = RunContext("ann~lighthouses", 3, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")

    assert decode_context({CONTEXT_HEADER: context.encode()}) == context
