"""What keeps a run from getting on: activities that are tried again, workflow tasks that fail.

The server knows both, also while the run itself cannot answer.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType, PendingActivityState
from temporalio.api.failure.v1 import Failure
from temporalio.api.workflow.v1 import PendingActivityInfo
from temporalio.api.workflowservice.v1 import (
    DescribeWorkflowExecutionResponse,
    GetWorkflowExecutionHistoryReverseRequest,
)
from temporalio.client import Client
from temporalio.exceptions import FailureError

from tenure.cli.display import Trouble
from tenure.cli.formatting import one_line
from tenure.cli.session.server_target import Place
from tenure.temporal.stack import local

REPORTED = "TemporalReportedProblems"
"""Search attribute in which the server marks a workflow whose tasks keep failing."""

_LATEST_EVENTS = 20
_REASON_LENGTH = 200


async def troubles(
    client: Client, place: Place, members: Sequence[DescribeWorkflowExecutionResponse]
) -> tuple[Trouble, ...]:
    """Return what keeps the workflows of a run from getting on, each trouble once.

    Raises:
        RPCError: the server does not answer.
    """
    worst: dict[str, Trouble] = {}
    for described in members:
        found = [await _of_activity(client, activity) for activity in described.pending_activities]
        found.append(await _of_workflow_task(client, place, described))
        for trouble in filter(None, found):
            known = worst.get(trouble.what)
            if known is None or known.attempt < trouble.attempt:
                worst[trouble.what] = trouble
    return tuple(worst.values())


async def _of_activity(client: Client, activity: PendingActivityInfo) -> Trouble | None:
    """Describe an activity that was tried before."""
    if activity.attempt <= 1 and not activity.HasField("last_failure"):
        return None
    reason = one_line(await _message(client, activity.last_failure), _REASON_LENGTH) or "no reason is known"
    waits = activity.state == PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED
    wait = None
    if waits and activity.HasField("next_attempt_schedule_time"):
        due = activity.next_attempt_schedule_time.ToDatetime(UTC)
        wait = max((due - datetime.now(UTC)).total_seconds(), 0.0)
    return Trouble(f"retrying {activity.activity_type.name}: {reason}", activity.attempt, wait)


async def _message(client: Client, failure: Failure) -> str:
    """Return what a failure says; where payloads are encrypted its words are, too."""
    error = await client.data_converter.decode_failure(failure)
    return error.message if isinstance(error, FailureError) else str(error)


async def _of_workflow_task(
    client: Client, place: Place, described: DescribeWorkflowExecutionResponse
) -> Trouble | None:
    """Describe a workflow whose own code fails; a task that was lost with its worker is no such trouble."""
    attempt = described.pending_workflow_task.attempt
    info = described.workflow_execution_info
    if attempt <= 1 and REPORTED not in info.search_attributes.indexed_fields:
        return None
    cause = await _cause(client, info.execution)
    if cause is None:
        return None
    log = str(local.worker_log(place.settings.home)) if place.is_local else "the worker's log"
    return Trouble(f"{info.type.name} cannot go on: {cause}; {log} tells more", max(attempt, 1))


async def _cause(client: Client, execution: WorkflowExecution) -> str | None:
    """Read from the history why the latest workflow task failed; None where it was lost and did not fail."""
    reply = await client.workflow_service.get_workflow_execution_history_reverse(
        GetWorkflowExecutionHistoryReverseRequest(
            namespace=client.namespace, execution=execution, maximum_page_size=_LATEST_EVENTS
        )
    )
    for event in reply.history.events:
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
            return None
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
            failure = event.workflow_task_failed_event_attributes.failure
            return one_line(await _message(client, failure), _REASON_LENGTH) or "its workflow tasks fail"
    return "its workflow tasks fail"
