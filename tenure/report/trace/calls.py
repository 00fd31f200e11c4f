"""List the calls of a run with their times, for its timeline."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from tenure.contracts.research.trace import CallKind, RecordedEvent, RecordedHistory, TracedCall

_KINDS: Final[Mapping[str, CallKind]] = {
    "search_passages": "search",
    "query_tables": "search",
    "search_web": "web",
    "fetch_pages": "web",
    "render_pages": "web",
    "read_pages": "web",
    "run_program": "program",
    "repair_program": "program",
    "run_tests": "program",
}
"""Kinds of activities that are no role, by name; every other one is of the kind `other`."""

_PARTS: Final[Mapping[str, Callable[[Any], str]]] = {
    "AgentWorkflow": lambda _: "run",
    "ResearchWorkflow": lambda _: "report",
    "SpiralWorkflow": lambda _: "research",
    "SubagentWorkflow": lambda given: f"task: {given['step']['query']}",
    "CodingWorkflow": lambda _: "program",
}
"""Names of the parts of a run, from the input of their workflows."""


def list_calls(histories: Sequence[RecordedHistory]) -> tuple[TracedCall, ...]:
    """Return the calls of the workflows of a run, by the time of their start."""
    calls = [call for history in histories for call in _list_part(history)]
    return tuple(sorted(calls, key=lambda call: call.at))


def split_search_batches(history: RecordedHistory) -> RecordedHistory:
    """Return a history in which each search of a batch is a call of its own."""
    events = (one for event in history.recorded_events for one in _split_batch(event))
    return history.model_copy(update={"recorded_events": tuple(events)})


def _split_batch(event: RecordedEvent) -> Iterator[RecordedEvent]:
    if event.kind != "call" or event.name != "search_passages":
        yield event
        return
    searches = event.input["searches"]
    replies = event.result["replies"] if event.result else [None] * len(searches)
    for search, reply in zip(searches, replies, strict=True):
        failed = {"result": None, "failure": reply["message"]} if reply and "message" in reply else {"result": reply}
        yield event.model_copy(update={"input": search, **failed})


def _list_part(history: RecordedHistory) -> Iterator[TracedCall]:
    part = _PARTS[history.type](history.input)
    for event in history.recorded_events:
        if event.kind == "call":
            yield _make_call(event, part)


def _make_call(event: RecordedEvent, part: str) -> TracedCall:
    is_role = isinstance(event.input, dict) and "input" in event.input
    reply = event.result if is_role and event.result else {}
    return TracedCall(
        name=event.name,
        kind="model" if is_role else _KINDS.get(event.name, "other"),
        part=part,
        at=event.at,
        ended_at=event.ended_at,
        model_calls=reply.get("model_calls", 0),
        tokens=reply.get("tokens_in", 0) + reply.get("tokens_out", 0),
        cost_usd=reply.get("cost_usd"),
        failure=event.failure or reply.get("fallback_reason") or "",
    )
