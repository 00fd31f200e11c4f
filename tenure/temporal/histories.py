"""Read the request, the end, the checkpoints and the story of a run.

A Temporal server has them in the history of the run, except for the story of a run without a result, which a worker
reports. Values are payloads as the server stores them: encrypted ones are decoded with the keys of the settings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Protocol

from temporalio.api.common.v1 import Payload, WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.query.v1 import WorkflowQuery
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryReverseRequest, QueryWorkflowRequest
from temporalio.client import Client, WorkflowHistoryEventFilterType
from temporalio.converter import DataConverter
from temporalio.service import RPCError, RPCStatusCode

from tenure.contracts.research.trace import WorkflowStatus

CHECKPOINT_SIGNAL: Final = "record_cycle"
"""Signal to a run whose argument holds the checkpoint of a cycle."""
RESEARCH_WORKFLOW: Final = "ResearchWorkflow"
"""Child of a run whose request is the beginning of a fork."""
STORY_QUERY: Final = "story"
"""Query of a run for its records."""
STORY_TIMEOUT: Final = timedelta(seconds=10)
"""Time that the query waits for a worker, which has to replay a run that has ended."""

LATEST_EVENTS: Final = 20
"""Number of events among which the latest failure of a workflow task is; the server records the first of a row."""

ENDINGS: dict[int, WorkflowStatus] = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED: "completed",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED: "failed",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED: "cancelled",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED: "terminated",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT: "timed_out",
}
"""Status of a workflow by the type of its last event."""


class UnknownHistory(Exception):
    """A source has no history of a workflow."""

    def __init__(self, workflow_id: str) -> None:
        super().__init__(f"there is no history of {workflow_id}")


@dataclass(frozen=True)
class RunEnd:
    """End of a run."""

    status: WorkflowStatus
    """Status on the server."""
    result: Payload | None = None
    """Result; None if there is none."""
    failure: Failure | None = None
    """Failure of a failed run."""
    reason: str = ""
    """Reason of a person for the termination."""


@dataclass(frozen=True)
class Checkpoints:
    """Starting points of forks."""

    research: Payload | None = None
    """Request of the research; None if it has not started."""
    cycles: tuple[Payload, ...] = ()
    """Checkpoints of the cycles that have ended, in order."""


class RunSource(Protocol):
    """Server or archive that has one run.

    Every method raises `UnknownHistory` if the source does not have the run.
    """

    @property
    def converter(self) -> DataConverter:
        """Data converter that decodes the payloads."""

    async def fetch_request(self) -> Payload:
        """Return the request."""

    async def fetch_end(self) -> RunEnd:
        """Return the end; that of a running run is waited for."""

    async def fetch_checkpoints(self) -> Checkpoints:
        """Return the checkpoints so far."""

    async def fetch_story(self) -> Payload | None:
        """Return the story of a run without a result; None if it was not kept."""


class ServerRun:
    """Run on a Temporal server, by its workflow id; without an execution, the latest one."""

    def __init__(self, client: Client, run_id: str, execution: str | None = None) -> None:
        self._client, self._id, self._execution = client, run_id, execution

    @property
    def converter(self) -> DataConverter:
        """Data converter of the connection."""
        return self._client.data_converter

    async def fetch_request(self) -> Payload:
        """Return the request."""
        [first] = await fetch_events(self._client, self._id, self._execution, page_size=1, limit=1)
        return first.workflow_execution_started_event_attributes.input.payloads[0]

    async def fetch_end(self) -> RunEnd:
        """Return the end when the run has ended."""
        close = WorkflowHistoryEventFilterType.CLOSE_EVENT
        events = await fetch_events(
            self._client, self._id, self._execution, event_filter_type=close, wait_new_event=True
        )
        return read_end(events[-1])

    async def fetch_checkpoints(self) -> Checkpoints:
        """Return the checkpoints so far."""
        return find_checkpoints(await fetch_events(self._client, self._id, self._execution))

    async def fetch_story(self) -> Payload | None:
        """Ask a worker for the story.

        Raises:
            RPCError: no worker answers.
        """
        request = QueryWorkflowRequest(
            namespace=self._client.namespace,
            execution=WorkflowExecution(workflow_id=self._id, run_id=self._execution or ""),
            query=WorkflowQuery(query_type=STORY_QUERY),
        )
        reply = await self._client.workflow_service.query_workflow(request, timeout=STORY_TIMEOUT)
        return reply.query_result.payloads[0]


def read_end(last: HistoryEvent) -> RunEnd:
    """Return the end that the last event of a history records."""
    failed = last.workflow_execution_failed_event_attributes
    results = last.workflow_execution_completed_event_attributes.result.payloads
    return RunEnd(
        status=ENDINGS.get(last.event_type, "running"),
        result=results[0] if results else None,
        failure=failed.failure if failed.HasField("failure") else None,
        reason=last.workflow_execution_terminated_event_attributes.reason,
    )


def find_checkpoints(events: Sequence[HistoryEvent]) -> Checkpoints:
    """Return the checkpoints in the history of a run."""
    children = (event.start_child_workflow_execution_initiated_event_attributes for event in events)
    signals = (event.workflow_execution_signaled_event_attributes for event in events)
    research = [child.input.payloads[0] for child in children if child.workflow_type.name == RESEARCH_WORKFLOW]
    cycles = (signal.input.payloads[0] for signal in signals if signal.signal_name == CHECKPOINT_SIGNAL)
    return Checkpoints(research[-1] if research else None, tuple(cycles))


async def fetch_events(
    client: Client, workflow_id: str, execution: str | None = None, limit: int | None = None, **options: Any
) -> list[HistoryEvent]:
    """Return the events of an execution, the latest one by default.

    Raises:
        UnknownHistory: the server does not have it.
        RPCError: the server does not answer.
    """
    events: list[HistoryEvent] = []
    handle = client.get_workflow_handle(workflow_id, run_id=execution)
    try:
        async for event in handle.fetch_history_events(**options):
            events.append(event)
            if len(events) == limit:
                break
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND or "amespace" in error.message:
            raise
        raise UnknownHistory(workflow_id) from error
    return events


async def fetch_latest_events(client: Client, execution: WorkflowExecution) -> Sequence[HistoryEvent]:
    """Return the latest events of an execution, newest first.

    Raises:
        RPCError: the server does not answer.
    """
    request = GetWorkflowExecutionHistoryReverseRequest(
        namespace=client.namespace, execution=execution, maximum_page_size=LATEST_EVENTS
    )
    return (await client.workflow_service.get_workflow_execution_history_reverse(request)).history.events
