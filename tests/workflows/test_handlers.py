"""Handlers of updates and signals that are running when their workflow ends."""

import asyncio
from typing import Literal
from uuid import uuid4

import pytest
from temporalio import workflow
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from tests.support.workers import PatientWorker
from workflows.plugin import create_plugin

End = Literal["result", "failure", "cancellation"]


@workflow.defn
class EndsDuringUpdate:
    """Workflow that ends while an update waits for a signal."""

    def __init__(self) -> None:
        self.begun = self.ends = self.released = False

    @workflow.run
    async def run(self, end: End) -> None:
        try:
            await workflow.wait_condition(lambda: self.begun and end != "cancellation")
            if end == "failure":
                raise ApplicationError("it fails")
        finally:
            self.ends = True

    @workflow.update
    async def apply(self) -> str:
        self.begun = True
        await workflow.wait_condition(lambda: self.released)
        return "applied"

    @workflow.signal
    def release(self) -> None:
        self.released = True

    @workflow.query
    def state(self) -> tuple[bool, bool]:
        return self.begun, self.ends


@pytest.mark.parametrize("end", ["result", "failure", "cancellation"])
async def test_an_update_in_progress_ends_before_its_workflow(server: WorkflowEnvironment, end: End) -> None:
    """A person whose update was applied receives its reply, however the workflow ends meanwhile."""
    plugin = create_plugin()
    queue = f"handlers-{uuid4().hex[:8]}"

    async def wait_for(state: int) -> None:
        while not (await handle.query(EndsDuringUpdate.state))[state]:  # noqa: ASYNC110 - of another process
            await asyncio.sleep(0.02)

    async with PatientWorker(server.client, task_queue=queue, workflows=[EndsDuringUpdate], plugins=[plugin]):
        handle = await server.client.start_workflow(EndsDuringUpdate.run, end, id=queue, task_queue=queue)
        update = asyncio.create_task(handle.execute_update(EndsDuringUpdate.apply))
        await wait_for(0)
        if end == "cancellation":
            await handle.cancel()
        await wait_for(1)
        await handle.signal(EndsDuringUpdate.release)
        reply = await update
        failure = await asyncio.gather(handle.result(), return_exceptions=True)

    assert reply == "applied"
    assert isinstance(failure[0], WorkflowFailureError) is (end != "result")
