"""Tests of what workflows pass on and how they are traced, on a real server, with every task replayed."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import pytest
import structlog
from temporalio import activity
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client, WorkflowFailureError
from temporalio.common import Priority
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from tenure.metrics import MetricRecorder
from tenure.tracing.configuration import configure_tracing
from tenure.tracing.positions import compute_trace_id
from tenure.tracing.tracer import Tracer
from tests.support.meters import RecordingMeter
from tests.support.servers.otlp import Collector
from tests.support.tiers import slow
from tests.support.waiting import wait_until
from tests.support.workers import PatientWorker
from tests.workflows.runtime.observed import CrowdWorkflow, InnerWorkflow, OuterWorkflow, WaitingWorkflow, note
from workflows.plugin import create_workflow_runner
from workflows.runtime.observation import ObservationInterceptor


class IdKeeper(Interceptor):
    """Interceptor that keeps the ids that log lines of activities would have."""

    def __init__(self) -> None:
        self.ids: list[dict[str, Any]] = []

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        keeper = self

        class Keeping(ActivityInboundInterceptor):
            async def execute_activity(self, input: ExecuteActivityInput) -> Any:
                keeper.ids.append(dict(structlog.contextvars.get_contextvars()))
                return await super().execute_activity(input)

        return Keeping(next)


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """Give a collector that the environment names."""
    with Collector() as made:
        for name, text in made.environment.items():
            monkeypatch.setenv(name, text)
        yield made
    configure_tracing({})


@asynccontextmanager
async def observing(client: Client, queue: str, tracer: Tracer | None) -> AsyncIterator[IdKeeper]:
    """Serve the workflows of this test without a cache, so that every task replays the history."""
    keeper = IdKeeper()
    interceptors = [ObservationInterceptor(MetricRecorder(RecordingMeter()), tracer), keeper]
    async with PatientWorker(
        client,
        task_queue=queue,
        workflows=[OuterWorkflow, InnerWorkflow, WaitingWorkflow, CrowdWorkflow],
        activities=[note],
        workflow_runner=create_workflow_runner(),
        interceptors=interceptors,
        max_cached_workflows=0,
    ):
        yield keeper


async def test_a_run_is_one_trace_over_children_and_continuations(
    server: WorkflowEnvironment, collector: Collector
) -> None:
    """Each execution has one span although it was replayed, and another run has a trace of its own."""
    tracer, run = configure_tracing(), f"run-{uuid4().hex[:8]}"
    assert tracer is not None
    async with observing(server.client, run, tracer) as keeper:
        handle = await server.client.start_workflow(OuterWorkflow.run, True, id=run, task_queue=run)
        await handle.result()
    tracer.close()

    trace = compute_trace_id(handle.first_execution_run_id or "")
    spans = collector.trace(trace)
    by_id = {span.id: span for span in spans}
    (root,) = (span for span in spans if not span.parent)
    (other,) = {span.trace for span in collector.spans} - {trace}
    assert len(by_id) == len(spans)
    # A local activity may be executed again by a replay that comes before its record.
    names = sorted(span.name for span in spans if "activity.id" not in " ".join(span.attributes))
    assert names == ["InnerWorkflow", "OuterWorkflow", "OuterWorkflow"]
    assert len([span for span in spans if span.name == "note"]) >= 3
    assert {span.parent for span in spans if span.parent} <= by_id.keys()
    assert root.attributes["temporal.workflow.run_id"] == handle.first_execution_run_id
    assert {span.name for span in collector.trace(other)} == {"InnerWorkflow", "note"}
    assert [span.parent for span in collector.trace(other) if span.name == "InnerWorkflow"] == [""]
    assert {line["run"] for line in keeper.ids} == {run, f"other-{run}"}
    assert {line["trace_id"] for line in keeper.ids} == {trace, other}


async def test_the_cycle_of_a_workflow_reaches_its_activities(server: WorkflowEnvironment) -> None:
    """Activities of a workflow with a cycle name it without a tracer, those of other workflows name none."""
    run = f"run-{uuid4().hex[:8]}"
    async with observing(server.client, run, None) as keeper:
        await server.client.execute_workflow(OuterWorkflow.run, False, id=run, task_queue=run)

    assert [line.get("cycle") for line in keeper.ids if line["workflow"] == run] == [None]
    assert {line["cycle"] for line in keeper.ids if line["workflow"] == f"{run}/inner"} == {3}
    assert all("trace_id" not in line for line in keeper.ids)


@slow
async def test_runs_without_owners_take_turns(server: WorkflowEnvironment) -> None:
    """An activity of a run does not wait for all activities of another run that were scheduled before it."""
    client, queue = server.client, f"turns-{uuid4().hex[:8]}"
    called: list[str] = []
    priorities: set[int | None] = set()

    @activity.defn(name="note")
    async def record(run: str) -> str:
        called.append(run)
        priorities.add(activity.info().priority.priority_key)
        return run

    async with observing(client, queue, None):
        runs = [
            await client.start_workflow(
                CrowdWorkflow.run,
                args=[count, f"{queue}-calls"],
                id=f"{queue}-{count}",
                task_queue=queue,
                priority=Priority(priority_key=2),
            )
            for count in (100, 1)
        ]
        # A pending activity may not have reached its queue yet.
        waiting = DescribeTaskQueueRequest(
            namespace=client.namespace,
            task_queue=TaskQueue(name=f"{queue}-calls"),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
            report_stats=True,
        )
        await wait_until(
            "the backlog",
            lambda: client.workflow_service.describe_task_queue(waiting),
            lambda found: found.stats.approximate_backlog_count >= 101,
        )
        async with PatientWorker(client, task_queue=f"{queue}-calls", activities=[record], max_concurrent_activities=1):
            for handle in runs:
                await handle.result()
    (scheduled,) = [
        event.activity_task_scheduled_event_attributes.priority
        async for event in runs[1].fetch_history_events()
        if event.HasField("activity_task_scheduled_event_attributes")
    ]

    assert len(called) == 101
    # The queue has partitions, each of which lets runs take turns: without turns it is the last of 101.
    assert called.index(runs[1].id) < 60
    assert scheduled.fairness_key == runs[1].id
    assert priorities == {2}


async def test_a_cancelled_workflow_has_a_span(server: WorkflowEnvironment, collector: Collector) -> None:
    """A cancellation ends a span as an error; an execution that waits, evicted from the cache, has none yet."""
    tracer, run = configure_tracing(), f"run-{uuid4().hex[:8]}"
    assert tracer is not None
    async with observing(server.client, run, tracer):
        handle = await server.client.start_workflow(WaitingWorkflow.run, id=run, task_queue=run)
        await wait_until("a suspended workflow", handle.fetch_history, lambda history: len(history.events) >= 4)
        early = list(collector.spans)
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
    tracer.close()

    assert early == []
    (span,) = collector.spans
    assert (span.name, span.failed, span.attributes["error.type"]) == ("WaitingWorkflow", True, "cancelled")
