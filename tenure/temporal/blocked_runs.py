"""End workflows whose tasks deadlock again and again, so that they take no more time from the other runs.

The server repeats a failed workflow task for ever, which is right for a failure that a corrected version repairs. A
task that computes for longer than its limit holds the interpreter each time: all other runs of the worker wait for it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import structlog
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client
from temporalio.exceptions import FailureError

from tenure.temporal.histories import fetch_latest_events
from tenure.temporal.worker_monitor import repeat

REPORTED_PROBLEMS: Final = "TemporalReportedProblems"
"""Search attribute that a server from 1.30 sets on a workflow whose tasks failed five times in a row."""
MAX_DEADLOCKS: Final = 5
"""Attempts of a workflow task from which a deadlock ends its workflow; a busy machine causes one or two at most."""
CHECK_SECONDS: Final = 15.0
"""Interval between two searches for blocked workflows."""
DEADLOCK_MARK: Final = "TMPRL1101"
"""Name of a deadlock in the message of the SDK: `[TMPRL1101] Potential deadlock detected: …`."""


async def end_blocked_workflows(client: Client, task_queue: str) -> list[str]:
    """Terminate the workflows of a task queue whose current task has deadlocked too often; return their ids.

    A child is ended without its parent, which continues without the results of the child.

    Raises:
        RPCError: the server does not answer, or does not know the search attribute.
    """
    ended = []
    query = f"{REPORTED_PROBLEMS} IS NOT NULL AND ExecutionStatus = 'Running' AND TaskQueue = '{task_queue}'"
    async for execution in client.list_workflows(query):
        handle = client.get_workflow_handle(execution.id, run_id=execution.run_id)
        attempt = (await handle.describe()).raw_description.pending_workflow_task.attempt
        if attempt < MAX_DEADLOCKS or not await _is_deadlocked(client, execution.id, execution.run_id):
            continue
        reason = f"A workflow task took too long {attempt} times in a row and blocked the worker for all runs."
        await handle.terminate(reason=reason)
        structlog.get_logger().error("a run that blocked the worker was ended", run=execution.id, attempts=attempt)
        ended.append(execution.id)
    return ended


@asynccontextmanager
async def prevent_blocking(client: Client, task_queue: str) -> AsyncIterator[None]:
    """End blocked workflows of a task queue during the block."""
    step = partial(end_blocked_workflows, client, task_queue)
    watching = asyncio.create_task(repeat(CHECK_SECONDS, step, "blocked runs cannot be searched"))
    try:
        yield
    finally:
        watching.cancel()


async def _is_deadlocked(client: Client, workflow: str, run: str) -> bool:
    """Return whether the latest failure of a workflow's task is a deadlock; the server records the first of a row."""
    for event in await fetch_latest_events(client, WorkflowExecution(workflow_id=workflow, run_id=run)):
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_FAILED:
            error = await client.data_converter.decode_failure(event.workflow_task_failed_event_attributes.failure)
            return DEADLOCK_MARK in (error.message if isinstance(error, FailureError) else str(error))
    return False
