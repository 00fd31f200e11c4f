"""Read which commands, messages and endings a recording contains, so that a test can say what no recording reaches."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from temporalio.api.common.v1 import Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

_ENDINGS = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED: "completed",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED: "failed",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED: "cancelled",
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW: "continued",
    EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED: "child refused",
    EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED: "activity failed",
    EventType.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT: "activity timed out",
    EventType.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED: "activity cancelled",
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED: "child failed",
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED: "child cancelled",
    EventType.EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED: "cancel sent",
    EventType.EVENT_TYPE_TIMER_FIRED: "timer",
    EventType.EVENT_TYPE_MARKER_RECORDED: "local activity",
}


def get_type(history: WorkflowHistory) -> str:
    """Return the workflow type of a history."""
    name: str = history.events[0].workflow_execution_started_event_attributes.workflow_type.name
    return name


def collect_facts(histories: Sequence[WorkflowHistory]) -> set[str]:
    """Return what happened in the histories of a recording, as texts such as `search_web in SpiralWorkflow`."""
    return {fact for history in histories for fact in _read_history(history)}


def _read_history(history: WorkflowHistory) -> Iterator[str]:
    workflow = get_type(history)
    started = history.events[0].workflow_execution_started_event_attributes
    yield workflow
    yield from _read_start(workflow, _decode(started.input))
    if started.HasField("last_completion_result"):
        yield f"{workflow} after an earlier one"
    for event in history.events:
        yield from (f"{fact} in {workflow}" for fact in _read_event(event))


def _read_start(workflow: str, request: Any) -> Iterator[str]:
    """Yield what the request of a workflow says of its path."""
    if workflow == "SubagentWorkflow":
        yield f"strategy {request['strategy']}"
    if workflow == "AgentWorkflow" and "origin" in request:
        yield "fork"


def _read_event(event: HistoryEvent) -> Iterator[str]:
    if ending := _ENDINGS.get(event.event_type):
        yield ending
    scheduled = event.activity_task_scheduled_event_attributes
    signalled = event.workflow_execution_signaled_event_attributes
    updated = event.workflow_execution_update_accepted_event_attributes.accepted_request.input
    child = event.start_child_workflow_execution_initiated_event_attributes
    if name := scheduled.activity_type.name:
        yield f"activity {name}"
        yield from _read_activity(name, _decode(scheduled.input))
    if name := signalled.signal_name:
        yield f"signal {name}"
        yield from _read_signal(name, _decode(signalled.input))
    if name := updated.name:
        yield f"update {name}"
        yield f"command {_decode(updated.args)['name']}"
    if name := child.workflow_type.name:
        yield f"child {name}"


def _read_activity(name: str, request: Any) -> Iterator[str]:
    """Yield the reasoning strategies and tools that the requests of roles name."""
    if name == "reasoner":
        yield f"reasoning {request['input']['strategy']}"
    if name == "react":
        yield from (f"tool {step['tool']}" for step in request["input"]["transcript"]["steps"] if step["tool"])


def _read_signal(name: str, argument: Any) -> Iterator[str]:
    """Yield the exhausted budgets and input requests that signals between workflows name."""
    if name == "update_control" and argument["exhausted"]:
        yield f"exhausted {argument['exhausted']}"
    if name == "update_control" and argument["deadline_exceeded"]:
        yield "deadline"
    if name == "request_input":
        yield f"question {argument['kind']}"


def _decode(payloads: Payloads) -> Any:
    """Return the first value, or None if there is none."""
    return json.loads(payloads.payloads[0].data) if payloads.payloads and payloads.payloads[0].data else None
