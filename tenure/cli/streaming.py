"""Read the number of tokens of model answers that are arriving, by role.

The numbers are in the heartbeats of the model calls, so the server knows them and no workflow is queried.
"""

from collections.abc import Sequence

from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionResponse
from temporalio.client import Client

from tenure.cli.progress.snapshot import StreamedAnswer
from tenure.contracts.run.role_calls import CallProgress

_WORDS = {
    "report_writer": "writing the report",
    "report_reviewer": "reviewing the report",
    "answerer": "writing the answer",
    "coder": "writing the program",
}
"""Descriptions of the writing roles; the answers of the others are too short to show."""


async def read_streamed_answers(
    client: Client, members: Sequence[DescribeWorkflowExecutionResponse]
) -> tuple[StreamedAnswer, ...]:
    """Return the answers that the workflows of a run are receiving."""
    found = [
        await _writing(client, activity)
        for member in members
        for activity in member.pending_activities
        if activity.activity_type.name in _WORDS and activity.heartbeat_details.payloads
    ]
    return tuple(writing for writing in found if writing.tokens)


async def _writing(client: Client, activity: PendingActivityInfo) -> StreamedAnswer:
    details: list[CallProgress] = await client.data_converter.decode(
        activity.heartbeat_details.payloads, [CallProgress]
    )
    return StreamedAnswer(_WORDS[activity.activity_type.name], details[0].tokens)
