"""Histories of a run read from the server, as what happened in them; no worker is needed for it.

A history that was continued as new is followed to its end. Payloads go through the connection's own
converter, so histories that are encrypted are read with the keys of the settings.
"""

from collections.abc import Sequence
from datetime import UTC
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.api.failure.v1 import Failure
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client
from temporalio.converter import DataConverter
from temporalio.service import RPCError, RPCStatusCode

from tenure.contracts.research.trace import Ending, Happening, History
from workflows.runtime.failures import cause

READ = ("ResearchWorkflow", "SpiralWorkflow", "SectionWorkflow", "CodingWorkflow")
"""Children whose histories are read; all that a trace tells of the others is in their parents' ones."""

_ENDINGS: dict[int, Ending] = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED: "completed",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED: "failed",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED: "cancelled",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED: "terminated",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT: "timed_out",
}
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


async def histories(client: Client, run_id: str) -> list[History]:
    """Return the history of a run, and of the workflows it has started whose histories tell more.

    Raises:
        RPCError: there is no such run, or the server does not answer.
    """
    found = [await read(client, run_id)]
    waiting = list(found[0].happenings)
    while waiting:
        child = waiting.pop(0)
        history = await _kept(client, child) if child.name in READ and child.run else None
        if history:
            found.append(history)
            waiting += history.happenings
    return found


async def _kept(client: Client, child: Happening) -> History | None:
    """Return a child's history; None where the server has removed it."""
    try:
        return await read(client, child.workflow, child.run)
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            return None
        raise


async def read(client: Client, workflow_id: str, run: str | None = None) -> History:
    """Return the history of one workflow from an execution on.

    Raises:
        RPCError: there is no such workflow, or the server does not answer.
    """
    history: History | None = None
    while history is None or history.continued:
        handle = client.get_workflow_handle(workflow_id, run_id=history.continued if history else run)
        events = [event async for event in handle.fetch_history_events()]
        following = await recorded(workflow_id, events, client.data_converter)
        history = following if history is None else joined(history, following)
    return history


def joined(history: History, following: History) -> History:
    """Return a history with what happened after it was continued as new."""
    kept = {"given": history.given, "began": history.began, "type": history.type}
    return following.model_copy(update={**kept, "happenings": (*history.happenings, *following.happenings)})


async def recorded(workflow_id: str, events: Sequence[HistoryEvent], converter: DataConverter) -> History:
    """Return what the events of one execution record."""
    first, last = events[0].workflow_execution_started_event_attributes, events[-1]
    ending = _ENDINGS.get(last.event_type, "running")
    failed = last.workflow_execution_failed_event_attributes.failure
    return History(
        workflow=workflow_id,
        type=first.workflow_type.name,
        began=_time(events[0].event_time),
        ending=ending,
        ended="" if ending == "running" else _time(last.event_time),
        given=await _first(converter, first.input.payloads),
        came=await _first(converter, last.workflow_execution_completed_event_attributes.result.payloads),
        failure=await _words(converter, failed, "") if ending == "failed" else "",
        continued=last.workflow_execution_continued_as_new_event_attributes.new_execution_run_id,
        happenings=tuple(await _happenings(events, converter)),
    )


async def _happenings(events: Sequence[HistoryEvent], converter: DataConverter) -> list[Happening]:
    """Return what began, each with its end, where the history has it."""
    begun: dict[int, Happening] = {}
    for event in events:
        happening = await _begun(event, converter)
        if happening:
            begun[event.event_id] = happening
        else:
            begin, change = await _change(event, converter)
            if begin in begun:
                begun[begin] = begun[begin].model_copy(update=change)
    return list(begun.values())


async def _begun(event: HistoryEvent, converter: DataConverter) -> Happening | None:
    """Return what begins with an event."""
    at = _time(event.event_time)
    if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
        call = event.activity_task_scheduled_event_attributes
        given = await _first(converter, call.input.payloads)
        return Happening(kind="call", name=call.activity_type.name, at=at, given=given)
    if event.event_type == EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
        child = event.start_child_workflow_execution_initiated_event_attributes
        given = await _first(converter, child.input.payloads)
        return Happening(kind="child", name=child.workflow_type.name, at=at, given=given, workflow=child.workflow_id)
    if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
        heard = event.workflow_execution_signaled_event_attributes
        given = await _first(converter, heard.input.payloads)
        return Happening(kind="heard", name=heard.signal_name, at=at, given=given, over=True)
    if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
        asked = event.workflow_execution_update_accepted_event_attributes.accepted_request.input
        given = await _first(converter, asked.args.payloads)
        return Happening(kind="heard", name=given["verb"], at=at, given=given, over=True)
    if event.event_type == EventType.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
        told = event.signal_external_workflow_execution_initiated_event_attributes
        given = await _first(converter, told.input.payloads)
        return Happening(kind="told", name=told.signal_name, at=at, given=given, over=True)
    return None


async def _change(event: HistoryEvent, converter: DataConverter) -> tuple[int, dict[str, Any]]:
    """Return the event with which something began that this event carries on or ends, and what is new of it."""
    attributes: Any = getattr(event, str(event.WhichOneof("attributes")), None)
    if event.event_type == EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
        return attributes.initiated_event_id, {"run": attributes.workflow_execution.run_id}
    if event.event_type in _CALL_ENDS:
        return attributes.scheduled_event_id, await _end(attributes, _CALL_ENDS[event.event_type], converter)
    if event.event_type in _CHILD_ENDS:
        return attributes.initiated_event_id, await _end(attributes, _CHILD_ENDS[event.event_type], converter)
    return 0, {}


async def _end(attributes: Any, otherwise: str, converter: DataConverter) -> dict[str, Any]:
    """Return how something ended, by its result, by its failure, or in the words for such an end."""
    fields = {field.name for field, _ in attributes.ListFields()}
    came = await _first(converter, attributes.result.payloads) if "result" in fields else None
    failure = await _words(converter, attributes.failure, otherwise) if "failure" in fields else otherwise
    return {"over": True, "came": came, "failure": failure}


async def _first(converter: DataConverter, payloads: Sequence[Payload]) -> Any:
    """Return the first of some payloads as JSON has it; None where there is none."""
    return (await converter.decode(payloads[:1]))[0] if payloads else None


async def _words(converter: DataConverter, failure: Failure, otherwise: str) -> str:
    """Return the words of a failure at the bottom of its chain."""
    return cause(await converter.decode_failure(failure)) or otherwise


def _time(moment: Timestamp) -> str:
    return moment.ToDatetime(UTC).isoformat(timespec="seconds")
