"""Compare the usage that results state with the replies of the roles in the histories of a recording."""

import json
from base64 import b64decode
from collections.abc import Iterator, Sequence
from typing import Any

from tenure.roles.registry import list_role_names
from tests.histories.facts import Json, get_type
from workflows.runtime.progress import UNHEARD

COUNTED = ("model_calls", "tokens_in", "tokens_out")
"""Figures that the usage of a run sums."""


def describe_miscounts(histories: Sequence[Sequence[Json]]) -> list[str]:
    """Return a line for each run and follow-up question whose usage is not the sum of its roles' replies.

    The usage of a run that received more signals than its server accepts is incomplete, and its report says so.
    """
    lines = []
    for events in histories:
        completed = events[-1].get("workflowExecutionCompletedEventAttributes")
        if get_type(events) not in ("AgentWorkflow", "AskWorkflow") or not completed:
            continue
        result, id = _decode(completed["result"]), _get_id(events)
        parts = [one for one in histories if _get_id(one).startswith(f"{id}/") and get_type(one) != "AskWorkflow"]
        replies = [reply for part in (events, *parts) for reply in _read_replies(part)]
        made = {name: sum(reply.get(name, 0) for reply in replies) for name in COUNTED}
        told = {name: result["usage"][name] for name in COUNTED}
        if made != told and UNHEARD not in result["notes"]:
            lines.append(f"{id}: its roles used {made}, and its result states {told}")
    return lines


def _get_id(events: Sequence[Json]) -> str:
    id: str = events[0]["workflowExecutionStartedEventAttributes"]["workflowId"]
    return id


def _read_replies(events: Sequence[Json]) -> Iterator[Json]:
    """Yield the replies of roles in a history, except those that came after the workflow had cancelled the call."""
    roles, names = set(list_role_names()), {}
    for event in events:
        if cancelled := event.get("activityTaskCancelRequestedEventAttributes"):
            names[cancelled["scheduledEventId"]] = ""
        if scheduled := event.get("activityTaskScheduledEventAttributes"):
            names[event["eventId"]] = scheduled["activityType"]["name"]
        completed = event.get("activityTaskCompletedEventAttributes")
        if completed and names[completed["scheduledEventId"]] in roles:
            yield _decode(completed["result"])


def _decode(payloads: Json) -> Any:
    return json.loads(b64decode(payloads["payloads"][0]["data"]))
