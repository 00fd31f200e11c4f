"""Read the commands, messages and endings of a recording, so that a test can name those that no recording has.

The histories are read as JSON, which is many times faster than parsing every event.
"""

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Json = Mapping[str, Any]

_ENDINGS = {
    "WORKFLOW_EXECUTION_COMPLETED": "completed",
    "WORKFLOW_EXECUTION_FAILED": "failed",
    "WORKFLOW_EXECUTION_CANCELED": "cancelled",
    "WORKFLOW_EXECUTION_CONTINUED_AS_NEW": "continued",
    "START_CHILD_WORKFLOW_EXECUTION_FAILED": "child refused",
    "ACTIVITY_TASK_FAILED": "activity failed",
    "ACTIVITY_TASK_TIMED_OUT": "activity timed out",
    "ACTIVITY_TASK_CANCEL_REQUESTED": "activity cancelled",
    "CHILD_WORKFLOW_EXECUTION_FAILED": "child failed",
    "CHILD_WORKFLOW_EXECUTION_CANCELED": "child cancelled",
    "SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED": "signal refused",
    "TIMER_FIRED": "timer",
    "MARKER_RECORDED": "local activity",
}


def get_type(events: Sequence[Json]) -> str:
    """Return the workflow type of a history."""
    name: str = events[0]["workflowExecutionStartedEventAttributes"]["workflowType"]["name"]
    return name


def collect_facts(histories: Sequence[Sequence[Json]]) -> set[str]:
    """Return the events of the histories of a recording, as texts such as `signal pause in SpiralWorkflow`."""
    return {fact for events in histories for fact in _read_history(events)}


def _read_history(events: Sequence[Json]) -> Iterator[str]:
    workflow = get_type(events)
    started = events[0]["workflowExecutionStartedEventAttributes"]
    request = _decode(started.get("input"))
    yield workflow
    if workflow == "SubagentWorkflow":
        yield f"strategy {request['strategy']}"
    if workflow == "AgentWorkflow" and "origin" in request:
        yield "fork"
    if "lastCompletionResult" in started:
        yield f"{workflow} after an earlier one"
    for event in events:
        yield from (f"{fact} in {workflow}" for fact in _read_event(event))


def _read_event(event: Json) -> Iterator[str]:
    kind = event["eventType"].removeprefix("EVENT_TYPE_")
    if kind in _ENDINGS:
        yield _ENDINGS[kind]
    if kind == "ACTIVITY_TASK_SCHEDULED":
        scheduled = event["activityTaskScheduledEventAttributes"]
        yield f"activity {scheduled['activityType']['name']}"
        yield from _read_activity(scheduled["activityType"]["name"], _decode(scheduled.get("input")))
    if kind == "WORKFLOW_EXECUTION_SIGNALED":
        signal = event["workflowExecutionSignaledEventAttributes"]
        yield f"signal {signal['signalName']}"
        yield from _read_signal(signal["signalName"], _decode(signal.get("input")))
    if kind == "WORKFLOW_EXECUTION_UPDATE_ACCEPTED":
        update = event["workflowExecutionUpdateAcceptedEventAttributes"]["acceptedRequest"]["input"]
        yield f"update {update['name']}"
        yield f"command {_decode(update['args'])['name']}"
    if kind == "START_CHILD_WORKFLOW_EXECUTION_INITIATED":
        child = event["startChildWorkflowExecutionInitiatedEventAttributes"]
        yield f"child {child['workflowType']['name']}"


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


def _decode(payloads: Json | None) -> Any:
    """Return the first value, or None if there is none."""
    data = payloads["payloads"][0].get("data") if payloads and payloads.get("payloads") else None
    return json.loads(b64decode(data)) if data else None
