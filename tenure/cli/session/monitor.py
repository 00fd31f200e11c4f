"""Looking at a running workflow: its progress, its ingestion, and whether anybody works on it."""

from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client, WorkflowExecutionDescription, WorkflowHandle, WorkflowQueryFailedError
from temporalio.service import RPCError, RPCStatusCode

from tenure.cli.display import Snapshot
from tenure.cli.session.connection import NO_ANSWER
from tenure.cli.session.server_target import Place
from tenure.contracts.evidence.corpora import IngestProgress
from tenure.contracts.run.run import Progress
from tenure.temporal.stack import local
from workflows.runtime.task_queues import TENURE_QUEUE

READING = ("ingest", "embed")
"""Activities that bring documents in, and tell how far they are in the same words."""

LOOK_TIMEOUT = timedelta(seconds=3)
"""How long one look waits for the run's own answer."""

POLL_AGE = timedelta(seconds=90)
"""A worker's poll lasts a minute; one that has not polled for longer is gone, though the server still lists it."""


async def look(client: Client, handle: WorkflowHandle[Any, Any], *, query: bool = True) -> Snapshot:
    """Ask how far a workflow is; what nobody answers is left out.

    Raises:
        RPCError: the server does not answer, or knows no such workflow.
    """
    description = await handle.describe()
    progress = await read_progress(handle, LOOK_TIMEOUT) if query else None
    seconds = (datetime.now(UTC) - description.start_time).total_seconds()
    return Snapshot(progress, await _ingestion(client, description), seconds)


async def read_progress(handle: WorkflowHandle[Any, Any], patience: timedelta) -> Progress | None:
    """Ask a run for its progress; None where no worker answers in time.

    Raises:
        RPCError: the server does not answer, or knows no such run.
    """
    try:
        answer: Progress = await handle.query("progress", result_type=Progress, rpc_timeout=patience)
    except WorkflowQueryFailedError:
        return None  # the run has not taken its first step yet, or the worker is of another version
    except RPCError as error:
        if error.status in NO_ANSWER:
            return None
        raise
    return answer


async def workers_polling(client: Client, since: datetime | None = None) -> int:
    """Count the workers that asked for work on the workflows' queue since a time, by default lately.

    Raises:
        RPCError: the server does not answer.
    """
    reply = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=client.namespace,
            task_queue=TaskQueue(name=TENURE_QUEUE),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
        )
    )
    oldest = since or datetime.now(UTC) - POLL_AGE
    return sum(poller.last_access_time.ToDatetime(UTC) >= oldest for poller in reply.pollers)


def what_died(place: Place) -> str:
    """Say in one line which process of this home's stack has died; empty where none has."""
    notes = local.status(place.settings).notes if place.is_local else ()
    return notes[0] if notes else ""


async def who_is_missing(client: Client) -> str:
    """Say in one line that no worker polls; empty where one does.

    Raises:
        RPCError: the server does not answer.
    """
    if await workers_polling(client):
        return ""
    return f"no worker polls the task queue {TENURE_QUEUE!r}: start one with `python client.py up`"


async def is_starting(client: Client, place: Place) -> bool:
    """Whether this home's worker lives and does not ask for work yet.

    Raises:
        RPCError: the server does not answer.
    """
    return place.is_local and not what_died(place) and not await workers_polling(client)


def is_lost(error: RPCError) -> bool:
    """Whether an error says that the server is away, and may be back."""
    return error.status in (RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED)


async def _ingestion(client: Client, description: WorkflowExecutionDescription) -> IngestProgress | None:
    """Read the ingestion's progress out of the heartbeat of a pending activity."""
    for activity in description.raw_description.pending_activities:
        if activity.activity_type.name in READING:
            payloads = activity.heartbeat_details.payloads
            if not payloads:
                return IngestProgress()
            details: list[IngestProgress] = await client.data_converter.decode(payloads, [IngestProgress])
            return details[0]
    return None
