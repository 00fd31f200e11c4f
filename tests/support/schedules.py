"""Wait for the workflows that a schedule starts."""

from temporalio.client import ScheduleActionExecutionStartWorkflow, ScheduleHandle

from tests.support.waiting import wait_until


async def wait_for_action(handle: ScheduleHandle, number: int = 1) -> str:
    """Wait until a schedule knows that its workflows have ended, and return the id of the one with this number."""
    described = await wait_until(
        f"the end of action {number}",
        handle.describe,
        lambda found: len(found.info.recent_actions) >= number and not found.info.running_actions,
    )
    execution = described.info.recent_actions[number - 1].action
    assert isinstance(execution, ScheduleActionExecutionStartWorkflow)
    return execution.workflow_id
