"""Tests of the end of workflows whose tasks deadlock, on a real server."""

import time
from uuid import uuid4

import pytest
from temporalio import workflow
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import TerminatedError
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import UnsandboxedWorkflowRunner

from tenure.temporal.blocked_runs import end_blocked_workflows
from tests.support.tiers import slow
from tests.support.waiting import wait_until
from tests.support.workers import PatientWorker

_DEADLOCK_SECONDS = 1


@workflow.defn(name="Blocking", sandboxed=False)
class BlockingWorkflow:
    """Workflow that computes for longer than a workflow task may."""

    @workflow.run
    async def run(self) -> None:
        """Compute without yielding."""
        end = time.monotonic() + 2 * _DEADLOCK_SECONDS
        while time.monotonic() < end:
            pass


@workflow.defn(name="Faulty", sandboxed=False)
class FaultyWorkflow:
    """Workflow whose task fails by a fault of its code, which a corrected version repairs."""

    @workflow.run
    async def run(self) -> None:
        """Raise an error that fails the task and not the workflow."""
        raise RuntimeError("a fault of the code")


@workflow.defn(name="Working", sandboxed=False)
class WorkingWorkflow:
    """Workflow that waits for a signal."""

    def __init__(self) -> None:
        self.continued = False

    @workflow.signal
    def go_on(self) -> None:
        """End the workflow."""
        self.continued = True

    @workflow.run
    async def run(self) -> str:
        """Wait for the signal."""
        await workflow.wait_condition(lambda: self.continued)
        return "done"


@slow
async def test_a_workflow_that_deadlocks_is_ended_and_others_go_on(server: WorkflowEnvironment) -> None:
    """A deadlocked workflow ends with its reason; a fault waits for its correction, and a third workflow continues."""
    client, queue = server.client, f"blocked-{uuid4().hex[:8]}"
    worker = PatientWorker(
        client,
        task_queue=queue,
        workflows=[BlockingWorkflow, FaultyWorkflow, WorkingWorkflow],
        workflow_runner=UnsandboxedWorkflowRunner(),
    )
    assert worker._workflow_worker
    worker._workflow_worker._deadlock_timeout_seconds = _DEADLOCK_SECONDS
    async with worker:
        working = await client.start_workflow("Working", id=f"{queue}-working", task_queue=queue)
        faulty = await client.start_workflow("Faulty", id=f"{queue}-faulty", task_queue=queue)
        blocking = await client.start_workflow("Blocking", id=f"{queue}-blocking", task_queue=queue)
        ended: list[str] = []

        async def end_blocked() -> bool:
            ended.extend(await end_blocked_workflows(client, queue))
            return bool(ended) and (await faulty.describe()).raw_description.pending_workflow_task.attempt >= 6

        await wait_until("the end of the deadlocked workflow and six attempts of the faulty one", end_blocked)
        await working.signal("go_on")

        assert await working.result() == "done"
    with pytest.raises(WorkflowFailureError) as failed:
        await blocking.result()
    assert isinstance(failed.value.cause, TerminatedError)
    assert "blocked the worker for all runs" in str(failed.value.cause)
    assert ended == [blocking.id]
    await faulty.terminate()
