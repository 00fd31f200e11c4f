"""Measure what no activity measures: the life of the worker, the space of its home, and the backlog of its task queues.

The event loop sets the time of its last turn, so that a worker that answers a scrape and executes nothing is noticed.
The backlog comes from the server, so that also a queue without any worker is noticed; the worker of the main queue asks
for it.
"""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import psutil
import structlog
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.common import MetricMeter
from temporalio.service import RPCError, RPCStatusCode

import tenure
from tenure.extensions import SEARCH_PROVIDERS, list_extensions
from tenure.metrics import (
    HOME_FREE,
    HOME_SIZE,
    PHASES,
    QUEUE_BACKLOG,
    QUEUE_BACKLOG_AGE,
    QUEUE_POLLERS,
    RESULT_STATUSES,
    RUN_PHASES,
    RUNS,
    RUNS_OPEN,
    TEMPORAL_UP,
    WORKER_HEARTBEAT,
    WORKER_INFO,
    WORKER_MEMORY,
    MetricRecorder,
)
from tenure.roles.registry import list_role_names
from tenure.settings.worker import WorkerSettings
from workflows.runtime import search_attributes
from workflows.runtime.task_queues import ALL_QUEUES, TENURE_QUEUE

WORKER_INTERVAL_SECONDS: Final = 5.0
"""Interval of the measurements of the process and its home."""
SERVER_INTERVAL_SECONDS: Final = 15.0
"""Interval of the questions to the Temporal server."""
SERVER_TIMEOUT_SECONDS: Final = 10.0
"""Time after which the server counts as not answering."""

OPEN_RUNS: Final = "WorkflowType = 'AgentWorkflow' AND ExecutionStatus = 'Running'"
"""Query for runs that have not ended."""
WAITING_RUNS: Final = f"{OPEN_RUNS} AND {search_attributes.STATUS.name} IN ('waiting', 'paused')"
"""Query for those that wait for a person."""

_WARNING: Final = "a metric cannot be measured"
_KINDS: Final = {
    "workflow": TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    "activity": TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
}


_UNREACHABLE: Final = (RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED)


@asynccontextmanager
async def monitor_worker(
    clients: Sequence[Client],
    settings: WorkerSettings,
    recorder: MetricRecorder,
    meter: MetricMeter,
    queues: Sequence[str],
) -> AsyncIterator[None]:
    """Measure during the block, if the settings ask for metrics; the clients are those of all owners."""
    if settings.metrics_port is None:
        yield
        return
    recorder.initialize(list_role_names(), list_extensions(SEARCH_PROVIDERS))
    recorder.set(WORKER_INFO, 1, tenure.__version__)
    for client in clients:
        _initialize_runs(meter, client.namespace)
    measured = [repeat(WORKER_INTERVAL_SECONDS, lambda: measure_worker(recorder, settings.home), _WARNING)]
    if TENURE_QUEUE in queues:
        measured.append(repeat(SERVER_INTERVAL_SECONDS, lambda: measure_server(clients, recorder), _WARNING))
    tasks = [asyncio.create_task(measurement) for measurement in measured]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task


async def measure_worker(recorder: MetricRecorder, home: Path) -> None:
    """Measure the process and its home."""
    recorder.set(WORKER_HEARTBEAT, time.time())
    memory, space = await asyncio.to_thread(_measure_memory), await asyncio.to_thread(shutil.disk_usage, home)
    recorder.set(WORKER_MEMORY, memory)
    recorder.set(HOME_FREE, space.free)
    recorder.set(HOME_SIZE, space.total)


async def measure_server(clients: Sequence[Client], recorder: MetricRecorder) -> None:
    """Ask the Temporal server for open runs and for the backlog of all task queues, of all owners together.

    Raises:
        RPCError: the server refuses the question.
    """
    try:
        async with asyncio.timeout(SERVER_TIMEOUT_SECONDS):
            waiting, total = [
                sum([(await client.count_workflows(query)).count for client in clients])
                for query in (WAITING_RUNS, OPEN_RUNS)
            ]
            recorder.set(RUNS_OPEN, waiting, "waiting")
            recorder.set(RUNS_OPEN, max(total - waiting, 0), "active")
            for queue in ALL_QUEUES:
                for kind, number in _KINDS.items():
                    if kind == "activity" or queue == TENURE_QUEUE:
                        await _measure_queue(clients, recorder, queue, kind, number)
    except TimeoutError:
        recorder.set(TEMPORAL_UP, 0)
        return
    except RPCError as error:
        if error.status in _UNREACHABLE:
            recorder.set(TEMPORAL_UP, 0)
            return
        recorder.set(TEMPORAL_UP, 1)  # it answers, if only to refuse
        raise
    recorder.set(TEMPORAL_UP, 1)


async def _measure_queue(
    clients: Sequence[Client], recorder: MetricRecorder, queue: str, kind: str, number: TaskQueueType.ValueType
) -> None:
    replies = [
        await client.workflow_service.describe_task_queue(
            DescribeTaskQueueRequest(
                namespace=client.namespace, task_queue=TaskQueue(name=queue), task_queue_type=number, report_stats=True
            )
        )
        for client in clients
    ]
    oldest = max(reply.stats.approximate_backlog_age.ToNanoseconds() for reply in replies)
    recorder.set(QUEUE_BACKLOG, sum(reply.stats.approximate_backlog_count for reply in replies), queue, kind)
    recorder.set(QUEUE_BACKLOG_AGE, oldest / 1e9, queue, kind)
    recorder.set(QUEUE_POLLERS, len({poller.identity for reply in replies for poller in reply.pollers}), queue, kind)


async def repeat(seconds: float, step: Callable[[], Awaitable[object]], warning: str) -> None:
    """Repeat a step until the task is cancelled; a step that fails is logged once and does not end the others."""
    last_reason = ""
    while True:
        try:
            await step()
            last_reason = ""
        except Exception as error:
            if (reason := repr(error)) != last_reason:
                structlog.get_logger().warning(warning, why=reason)
            last_reason = reason
        await asyncio.sleep(seconds)


def _measure_memory() -> int:
    """Return the resident memory of this process and its children in bytes."""
    own = psutil.Process()
    total = int(own.memory_info().rss)
    for child in own.children(recursive=True):
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            total += int(child.memory_info().rss)
    return total


def _initialize_runs(meter: MetricMeter, namespace: str) -> None:
    """Export the counters of phases and finished runs as 0; workflows count them with the labels of the SDK."""
    labels = {"namespace": namespace, "task_queue": TENURE_QUEUE, "workflow_type": "AgentWorkflow"}
    for metric, values in ((RUNS, RESULT_STATUSES), (RUN_PHASES, PHASES)):
        counter = meter.with_additional_attributes(labels).create_counter(metric.name, metric.description)
        for value in values:
            counter.add(0, {metric.labels[0]: value})
