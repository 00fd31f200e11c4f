"""Optional steps of a run that fail, hang, have no worker, or are cancelled."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from temporalio import activity
from temporalio.client import Client, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.testing import WorkflowEnvironment

from tests.support.workers import PatientWorker
from tests.workflows.runtime.stepping import SteppingWorkflow
from workflows.runtime.task_queues import SEARCH_QUEUE

SHORT, LONG = 0.5, 300.0


@asynccontextmanager
async def stepping(client: Client, limit: float, *activities: Any) -> AsyncIterator[WorkflowHandle[Any, Any]]:
    """Start the workflow with these activities; without any, no worker serves their queue."""
    queue = f"steps-{uuid.uuid4().hex[:8]}"
    async with AsyncExitStack() as running:
        await running.enter_async_context(PatientWorker(client, task_queue=queue, workflows=[SteppingWorkflow]))
        if activities:
            serving = PatientWorker(client, task_queue=SEARCH_QUEUE, activities=activities)
            await running.enter_async_context(serving)
        yield await client.start_workflow(SteppingWorkflow.run, limit, id=queue, task_queue=queue)


async def test_a_step_that_fails_costs_a_note(server: WorkflowEnvironment) -> None:
    """The default replaces the result, and the note contains the reason."""

    @activity.defn
    async def list_memories(request: Any) -> None:
        raise ApplicationError("the table cannot be read", non_retryable=True)

    async with stepping(server.client, LONG, list_memories) as handle:
        assert await handle.result() == ["nothing", "The step failed: the table cannot be read."]


async def test_a_step_without_a_worker_costs_a_note(server: WorkflowEnvironment) -> None:
    """A queue that no worker serves ends the step after its limit, and not the workflow."""
    async with stepping(server.client, SHORT) as handle:
        assert await handle.result() == ["nothing", "The step failed: no worker took it in time."]


async def test_a_step_that_hangs_costs_a_note(server: WorkflowEnvironment) -> None:
    """An activity that does not return is given up after the limit of the step."""
    ended = asyncio.Event()

    @activity.defn
    async def list_memories(request: Any) -> None:
        await ended.wait()

    async with stepping(server.client, SHORT, list_memories) as handle:
        assert await handle.result() == ["nothing", "The step failed: it took too long."]
        ended.set()


async def test_the_command_of_a_person_ends_the_step_and_the_workflow(server: WorkflowEnvironment) -> None:
    """A cancelled workflow does not continue with the default of its step."""
    started, ended = asyncio.Event(), asyncio.Event()

    @activity.defn
    async def list_memories(request: Any) -> None:
        started.set()
        await ended.wait()

    async with stepping(server.client, LONG, list_memories) as handle:
        await started.wait()
        await handle.cancel()
        with pytest.raises(WorkflowFailureError) as failed:
            await handle.result()
        ended.set()

    assert isinstance(failed.value.cause, CancelledError)
