"""Read the model answers that are arriving, and the set-ups that run.

They are in the heartbeats of their activities, so the server knows them and no workflow is queried.
"""

from collections.abc import Container, Sequence
from datetime import UTC, datetime

from temporalio.api.enums.v1 import PendingActivityState
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionResponse
from temporalio.client import Client

from tenure.contracts.coding.repositories import SetupProgress
from tenure.contracts.run.role_calls import CallProgress
from tenure.runs.session.snapshot import RunningSetup, StreamedAnswer

_WORDS = {
    "report_writer": "writing the report",
    "report_reviewer": "reviewing the report",
    "answerer": "writing the answer",
    "coder": "writing the program",
}
"""Descriptions of the writing roles; the answers of the others are too short to show."""

_SETUP_ACTIVITY = "set_up_environment"


async def read_streamed_answers(
    client: Client, members: Sequence[DescribeWorkflowExecutionResponse]
) -> tuple[StreamedAnswer, ...]:
    """Return the answers that the workflows of a run are receiving."""
    answers = [await _writing(client, activity) for activity in _list_pending(members, _WORDS)]
    return tuple(writing for writing in answers if writing.tokens)


async def read_running_setups(
    client: Client, members: Sequence[DescribeWorkflowExecutionResponse]
) -> tuple[RunningSetup, ...]:
    """Return the set-ups that the workflows of a run are waiting for."""
    return tuple([await _describe_setup(client, activity) for activity in _list_pending(members, (_SETUP_ACTIVITY,))])


def _list_pending(
    members: Sequence[DescribeWorkflowExecutionResponse], names: Container[str]
) -> list[PendingActivityInfo]:
    """Return the pending activities with some names that have sent details."""
    return [
        activity
        for member in members
        for activity in member.pending_activities
        if activity.activity_type.name in names and _has_heartbeat(activity)
    ]


async def _describe_setup(client: Client, activity: PendingActivityInfo) -> RunningSetup:
    details: list[SetupProgress] = await client.data_converter.decode(
        activity.heartbeat_details.payloads, [SetupProgress]
    )
    seconds = (datetime.now(UTC) - activity.last_started_time.ToDatetime(UTC)).total_seconds()
    return RunningSetup(details[0].command, max(seconds, 0.0), details[0].max_seconds)


def _has_heartbeat(activity: PendingActivityInfo) -> bool:
    """Return whether the present attempt has sent details; the server keeps those of the attempt before it."""
    is_waiting = activity.state == PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED
    began, sent = activity.last_started_time.ToNanoseconds(), activity.last_heartbeat_time.ToNanoseconds()
    return bool(activity.heartbeat_details.payloads) and not is_waiting and sent >= began


async def _writing(client: Client, activity: PendingActivityInfo) -> StreamedAnswer:
    details: list[CallProgress] = await client.data_converter.decode(
        activity.heartbeat_details.payloads, [CallProgress]
    )
    return StreamedAnswer(_WORDS[activity.activity_type.name], details[0].tokens, details[0].text)
