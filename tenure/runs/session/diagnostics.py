"""Find the failures that block a run: activities that are being retried and workflow tasks that fail.

The server knows both, even if the run itself cannot answer.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType, PendingActivityState
from temporalio.api.failure.v1 import Failure
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.api.workflowservice.v1 import DescribeWorkflowExecutionResponse
from temporalio.client import Client
from temporalio.exceptions import FailureError

from tenure.runs.formatting import truncate_line
from tenure.runs.session.server_target import ServerTarget
from tenure.runs.session.snapshot import PendingFailure
from tenure.temporal.blocked_runs import REPORTED_PROBLEMS
from tenure.temporal.histories import fetch_latest_events
from tenure.temporal.stack import local

_REASON_LENGTH = 200


async def find_pending_failures(
    client: Client, server: ServerTarget, members: Sequence[DescribeWorkflowExecutionResponse]
) -> tuple[PendingFailure, ...]:
    """Return the failures that block the workflows of a run, without duplicates.

    Raises:
        RPCError: the server does not answer.
    """
    worst: dict[str, PendingFailure] = {}
    for described in members:
        failures = [await _of_activity(client, activity) for activity in described.pending_activities]
        failures.append(await _of_workflow_task(client, server, described))
        for trouble in filter(None, failures):
            earlier = worst.get(trouble.what)
            if earlier is None or earlier.attempt < trouble.attempt:
                worst[trouble.what] = trouble
    return tuple(worst.values())


async def _of_activity(client: Client, activity: PendingActivityInfo) -> PendingFailure | None:
    """Describe an activity that is being retried."""
    if activity.attempt <= 1 and not activity.HasField("last_failure"):
        return None
    reason = truncate_line(await _message(client, activity.last_failure), _REASON_LENGTH) or "unknown reason"
    waits = activity.state == PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED
    wait = None
    if waits and activity.HasField("next_attempt_schedule_time"):
        due = activity.next_attempt_schedule_time.ToDatetime(UTC)
        wait = max((due - datetime.now(UTC)).total_seconds(), 0.0)
    return PendingFailure(f"retrying {activity.activity_type.name}: {reason}", activity.attempt, wait)


async def _message(client: Client, failure: Failure) -> str:
    """Return the message of a failure; it is encrypted if payloads are."""
    error = await client.data_converter.decode_failure(failure)
    return error.message if isinstance(error, FailureError) else str(error)


async def _of_workflow_task(
    client: Client, server: ServerTarget, described: DescribeWorkflowExecutionResponse
) -> PendingFailure | None:
    """Describe a workflow whose own code fails; a task lost with its worker is not reported."""
    attempt = described.pending_workflow_task.attempt
    info = described.workflow_execution_info
    if attempt <= 1 and REPORTED_PROBLEMS not in info.search_attributes.indexed_fields:
        return None
    cause = await _cause(client, info.execution)
    if cause is None:
        return None
    log = str(local.get_worker_log(server.settings.home)) if server.is_local else "the worker's log"
    return PendingFailure(f"{info.type.name} cannot continue: {cause}; see {log}", max(attempt, 1))


async def _cause(client: Client, execution: WorkflowExecution) -> str | None:
    """Return from the history why the latest workflow task failed, or None if it was lost."""
    for event in await fetch_latest_events(client, execution):
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
            return None
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
            failure = event.workflow_task_failed_event_attributes.failure
            return truncate_line(await _message(client, failure), _REASON_LENGTH) or "its workflow tasks fail"
    return "its workflow tasks fail"
