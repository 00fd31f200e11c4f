"""Read the histories of a run as history events, from the server or from an archive; no worker is needed.

A history that was continued as new is followed to its end. Payloads go through the data converter of the source, so
encrypted histories are read with the keys of the settings.
"""

from collections.abc import Sequence
from datetime import UTC
from typing import Any, Protocol

from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHistoryEventFilterType
from temporalio.converter import DataConverter
from temporalio.service import RPCError, RPCStatusCode

from tenure.contracts.research.trace import RecordedEvent, RecordedHistory, WorkflowStatus
from workflows.runtime.failures import describe_failure

TRACED_WORKFLOWS = ("ResearchWorkflow", "SpiralWorkflow", "SubagentWorkflow", "CodingWorkflow")
"""Child workflow types whose histories are read; the trace needs nothing else from the others."""

ENDINGS: dict[int, WorkflowStatus] = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED: "completed",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED: "failed",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED: "cancelled",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED: "terminated",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT: "timed_out",
}
"""Status of a workflow by the type of its last event."""

_CALL_ENDS = {
    EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED: "",
    EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED: "it failed",
    EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT: "its time was up",
    EventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED: "it was cancelled",
}
_CHILD_ENDS = {
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED: "",
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED: "it failed",
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TIMED_OUT: "its time was up",
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED: "it was cancelled",
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED: "it was terminated",
    EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED: "it could not be started",
}


class UnknownHistory(Exception):
    """A source has no history of a workflow."""

    def __init__(self, workflow_id: str) -> None:
        super().__init__(f"there is no history of {workflow_id}")


class HistorySource(Protocol):
    """Histories of workflows as the server has recorded them, with encoded payloads.

    Every method accepts the id of an execution, and returns events of the latest one without it.
    """

    @property
    def converter(self) -> DataConverter:
        """Data converter that decodes the payloads."""

    async def fetch_events(self, workflow_id: str, execution: str | None = None) -> Sequence[HistoryEvent]:
        """Return all events of an execution.

        Raises:
            UnknownHistory: the source does not have it.
        """

    async def fetch_first_event(self, workflow_id: str, execution: str | None = None) -> HistoryEvent:
        """Return the event that starts an execution.

        Raises:
            UnknownHistory: the source does not have it.
        """

    async def fetch_last_event(self, workflow_id: str, execution: str | None = None) -> HistoryEvent:
        """Return the event that ends an execution; for a running one, its end is waited for.

        Raises:
            UnknownHistory: the source does not have it.
        """


class ServerHistories:
    """Histories on a Temporal server.

    Args:
        client: connection to the server.
        archive: histories that are used in place of those that the server has removed.
    """

    def __init__(self, client: Client, archive: HistorySource | None = None) -> None:
        self._client, self._archive = client, archive

    @property
    def converter(self) -> DataConverter:
        """Data converter of the connection."""
        return self._client.data_converter

    async def fetch_events(self, workflow_id: str, execution: str | None = None) -> Sequence[HistoryEvent]:
        """Return all events of an execution."""
        try:
            return await self._fetch(workflow_id, execution)
        except UnknownHistory:
            if self._archive is None:
                raise
            return await self._archive.fetch_events(workflow_id, execution)

    async def fetch_first_event(self, workflow_id: str, execution: str | None = None) -> HistoryEvent:
        """Return the event that starts an execution."""
        try:
            return (await self._fetch(workflow_id, execution, page_size=1, limit=1))[0]
        except UnknownHistory:
            if self._archive is None:
                raise
            return await self._archive.fetch_first_event(workflow_id, execution)

    async def fetch_last_event(self, workflow_id: str, execution: str | None = None) -> HistoryEvent:
        """Return the event that ends an execution when it has ended."""
        close = WorkflowHistoryEventFilterType.CLOSE_EVENT
        try:
            return (await self._fetch(workflow_id, execution, event_filter_type=close, wait_new_event=True))[-1]
        except UnknownHistory:
            if self._archive is None:
                raise
            return await self._archive.fetch_last_event(workflow_id, execution)

    async def _fetch(
        self, workflow_id: str, execution: str | None, limit: int | None = None, **options: Any
    ) -> Sequence[HistoryEvent]:
        events: list[HistoryEvent] = []
        handle = self._client.get_workflow_handle(workflow_id, run_id=execution)
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


async def read_histories(source: HistorySource, run_id: str) -> list[RecordedHistory]:
    """Return the history of a run, and those of its child workflows that add to the trace.

    Raises:
        UnknownHistory: the source does not have the run.
        RPCError: the server does not answer.
    """
    found = [await read_history(source, run_id)]
    waiting = list(found[0].recorded_events)
    while waiting:
        child = waiting.pop(0)
        history = await _find_child(source, child) if child.name in TRACED_WORKFLOWS and child.run else None
        if history:
            found.append(history)
            waiting += history.recorded_events
    return found


async def _find_child(source: HistorySource, child: RecordedEvent) -> RecordedHistory | None:
    """Return a child's history, or None if the source does not have it."""
    try:
        return await read_history(source, child.workflow, child.run)
    except UnknownHistory:
        return None


async def read_history(source: HistorySource, workflow_id: str, execution: str | None = None) -> RecordedHistory:
    """Return the history of one workflow from an execution on.

    Raises:
        UnknownHistory: the source does not have it.
        RPCError: the server does not answer.
    """
    history: RecordedHistory | None = None
    while history is None or history.continued_as:
        events = await source.fetch_events(workflow_id, history.continued_as if history else execution)
        following = await collect_events(workflow_id, events, source.converter)
        history = following if history is None else join_executions(history, following)
    return history


def join_executions(history: RecordedHistory, following: RecordedHistory) -> RecordedHistory:
    """Return a history followed by the history after its continue-as-new."""
    kept = {"input": history.input, "started_at": history.started_at, "type": history.type}
    return following.model_copy(
        update={**kept, "recorded_events": (*history.recorded_events, *following.recorded_events)}
    )


async def collect_events(workflow_id: str, events: Sequence[HistoryEvent], converter: DataConverter) -> RecordedHistory:
    """Return the history events of one execution."""
    first, last = events[0].workflow_execution_started_event_attributes, events[-1]
    ending = ENDINGS.get(last.event_type, "running")
    failed = last.workflow_execution_failed_event_attributes.failure
    return RecordedHistory(
        workflow=workflow_id,
        type=first.workflow_type.name,
        started_at=_time(events[0].event_time),
        status=ending,
        ended_at="" if ending == "running" else _time(last.event_time),
        input=await _first(converter, first.input.payloads),
        result=await _first(converter, last.workflow_execution_completed_event_attributes.result.payloads),
        failure=await _words(converter, failed, "") if ending == "failed" else "",
        continued_as=last.workflow_execution_continued_as_new_event_attributes.new_execution_run_id,
        recorded_events=tuple(await _happenings(events, converter)),
    )


async def _happenings(events: Sequence[HistoryEvent], converter: DataConverter) -> list[RecordedEvent]:
    """Return the operations of a history, each with its end if the history has it."""
    started: dict[int, RecordedEvent] = {}
    for event in events:
        operation = await _read_start(event, converter)
        if operation:
            started[event.event_id] = operation
        else:
            begin, change = await _change(event, converter)
            if begin in started:
                started[begin] = started[begin].model_copy(update=change)
    return list(started.values())


async def _read_start(event: HistoryEvent, converter: DataConverter) -> RecordedEvent | None:
    """Return the operation that an event starts."""
    at = _time(event.event_time)
    if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
        call = event.activity_task_scheduled_event_attributes
        given = await _first(converter, call.input.payloads)
        return RecordedEvent(kind="call", name=call.activity_type.name, at=at, input=given)
    if event.event_type == EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
        child = event.start_child_workflow_execution_initiated_event_attributes
        given = await _first(converter, child.input.payloads)
        return RecordedEvent(
            kind="child", name=child.workflow_type.name, at=at, input=given, workflow=child.workflow_id
        )
    if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
        signal = event.workflow_execution_signaled_event_attributes
        given = await _first(converter, signal.input.payloads)
        return RecordedEvent(kind="signal_received", name=signal.signal_name, at=at, input=given, ended=True)
    if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
        asked = event.workflow_execution_update_accepted_event_attributes.accepted_request.input
        given = await _first(converter, asked.args.payloads)
        return RecordedEvent(kind="signal_received", name=given["name"], at=at, input=given, ended=True)
    if event.event_type == EventType.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
        sent = event.signal_external_workflow_execution_initiated_event_attributes
        given = await _first(converter, sent.input.payloads)
        return RecordedEvent(kind="signal_sent", name=sent.signal_name, at=at, input=given, ended=True)
    return None


async def _change(event: HistoryEvent, converter: DataConverter) -> tuple[int, dict[str, Any]]:
    """Return the id of the operation that this event updates or ends, and the changed fields."""
    attributes: Any = getattr(event, str(event.WhichOneof("attributes")), None)
    if event.event_type == EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
        return attributes.initiated_event_id, {"run": attributes.workflow_execution.run_id}
    if event.event_type in _CALL_ENDS:
        return attributes.scheduled_event_id, await _end(event, attributes, _CALL_ENDS[event.event_type], converter)
    if event.event_type in _CHILD_ENDS:
        return attributes.initiated_event_id, await _end(event, attributes, _CHILD_ENDS[event.event_type], converter)
    return 0, {}


async def _end(event: HistoryEvent, attributes: Any, otherwise: str, converter: DataConverter) -> dict[str, Any]:
    """Return the end of an operation: its time, its result, its failure, or a word such as "cancelled"."""
    fields = {field.name for field, _ in attributes.ListFields()}
    came = await _first(converter, attributes.result.payloads) if "result" in fields else None
    failure = await _words(converter, attributes.failure, otherwise) if "failure" in fields else otherwise
    return {"ended": True, "ended_at": _time(event.event_time), "result": came, "failure": failure}


async def _first(converter: DataConverter, payloads: Sequence[Payload]) -> Any:
    """Return the first payload as JSON, or None if there is none."""
    return (await converter.decode(payloads[:1]))[0] if payloads else None


async def _words(converter: DataConverter, failure: Failure, otherwise: str) -> str:
    """Return the message of the innermost failure."""
    return describe_failure(await converter.decode_failure(failure)) or otherwise


def _time(moment: Timestamp) -> str:
    return moment.ToDatetime(UTC).isoformat(timespec="milliseconds")
