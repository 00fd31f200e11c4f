"""Send commands to a run.

The run itself validates a command and returns its effect. If no worker answers, the command is left with the server
as a signal: a worker applies it, or reports its refusal, as soon as one runs.
"""

import asyncio
from typing import Any

from temporalio.client import (
    WorkflowHandle,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.exceptions import FailureError
from temporalio.service import RPCError

from tenure.contracts.run.control import BudgetBounds, RunCommand
from tenure.installation import PROGRAM
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.formatting import truncate_line
from tenure.runs.session.connection import (
    AGENT_WORKFLOW,
    BATCH_WORKFLOW,
    NO_ANSWER,
    QUERY_TIMEOUT,
    Session,
    explain_refusals,
)
from tenure.runs.session.run_records import open_run

LEFT = "No worker answered; the command is stored and applied as soon as a worker runs."


async def send_command(session: Session, run_id: str, steering: RunCommand) -> str:
    """Send a command to a run and return its effect; workflows of other types are cancelled by the server.

    Raises:
        TenureError: the run is finished, or refuses the command.
    """
    if steering.name in ("feedback", "answer") and not steering.text.strip():
        raise InvalidRequest(f"{steering.name} needs a text")
    if steering.name == "budget" and steering.budget == BudgetBounds():
        raise InvalidRequest("budget needs a bound, such as tokens or a deadline")
    record = await open_run(session, run_id)
    if not record.is_running:
        raise TenureError(f"run {run_id} is finished: `{PROGRAM} report {run_id}` shows its report")
    handle: WorkflowHandle[Any, Any] = (await session.connect()).get_workflow_handle(run_id)
    with explain_refusals(run_id):
        if record.workflow_type == AGENT_WORKFLOW:
            return await _send_update(handle, steering)
        if steering.name == "cancel" and record.workflow_type == BATCH_WORKFLOW:
            await handle.signal("cancel")
            return "It starts nothing more and stops its running steps."
        if steering.name == "cancel":
            await handle.cancel()
            return "It stops at its next step."
    raise InvalidRequest(f"{run_id} is not a run but a {record.workflow_type}: it can only be cancelled")


async def _send_update(handle: WorkflowHandle[Any, Any], steering: RunCommand) -> str:
    """Return the effect that the run reports; without an answer in time the command is left as a signal."""
    try:
        answer: str = await asyncio.wait_for(
            handle.execute_update("steer", steering, result_type=str), QUERY_TIMEOUT.total_seconds()
        )
    except WorkflowUpdateFailedError as error:
        why = error.cause.message if isinstance(error.cause, FailureError) else str(error.cause)
        raise TenureError(f"run {handle.id} refuses: {truncate_line(why, 300)}") from error
    except (TimeoutError, WorkflowUpdateRPCTimeoutOrCancelledError):
        return await _send_signal(handle, steering)
    except RPCError as error:
        if error.status not in NO_ANSWER:
            raise
        return await _send_signal(handle, steering)
    return answer


async def _send_signal(handle: WorkflowHandle[Any, Any], steering: RunCommand) -> str:
    """Leave a command as a signal; if the run has already received it, it is applied only once."""
    await handle.signal(steering.name, args=build_signal_input(steering))
    return LEFT


def build_signal_input(steering: RunCommand) -> list[Any]:
    """Return the input of the equivalent signal."""
    values: dict[str, Any] = {
        "feedback": {"text": steering.text, "topic": steering.topic},
        "answer": steering.text,
        "outline": [topic.model_dump() for topic in steering.outline],
        "budget": steering.budget.model_dump(exclude_none=True),
        "cancel": {"discard": True} if steering.discard else None,
    }
    value = values.get(steering.name)
    return [] if value is None else [value]
