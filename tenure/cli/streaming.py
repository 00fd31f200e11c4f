"""What is being written at this moment: tokens of answers that are still coming in, by role and topic.

They stand in the heartbeats of the model calls, so that the server knows them and no workflow is asked.
The topic is the summary that the child was started with.
"""

from collections.abc import Sequence

from temporalio.api.common.v1 import Payload
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionResponse
from temporalio.client import Client

from tenure.cli.display import Writing
from tenure.cli.formatting import one_line
from tenure.contracts.run.role_calls import CallProgress

_WORDS = {
    "section_writer": "writing “{topic}”",
    "section_rewriter": "rewriting “{topic}”",
    "abstract_writer": "writing the abstract",
    "answerer": "writing the answer",
    "coder": "writing the program",
}
"""What the writing roles do; the others answer too briefly to be watched."""

_TOPIC_LENGTH = 60


async def writings(client: Client, members: Sequence[DescribeWorkflowExecutionResponse]) -> tuple[Writing, ...]:
    """Return what the workflows of a run have written by, wherever tokens have arrived."""
    found = [
        await _writing(client, activity, member.execution_config.user_metadata.summary)
        for member in members
        for activity in member.pending_activities
        if activity.activity_type.name in _WORDS and activity.heartbeat_details.payloads
    ]
    return tuple(writing for writing in found if writing.tokens)


async def _writing(client: Client, activity: PendingActivityInfo, summary: Payload) -> Writing:
    details: list[CallProgress] = await client.data_converter.decode(
        activity.heartbeat_details.payloads, [CallProgress]
    )
    topic = (await client.data_converter.decode([summary], [str]))[0] if summary.data else ""
    words = _WORDS[activity.activity_type.name].format(topic=one_line(topic, _TOPIC_LENGTH))
    return Writing(words, details[0].tokens)
