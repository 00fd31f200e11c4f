"""Handlers of updates and signals that are running when their workflow ends."""

import asyncio
from typing import Literal
from uuid import uuid4

import pytest
from pydantic import Field
from temporalio import workflow
from temporalio.client import WorkflowFailureError, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.base import Contract
from tests.support.waiting import wait_until
from tests.support.workers import PatientWorker
from workflows.plugin import INVALID_DATA, create_plugin

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


class Bounded(Contract):
    """Data with a bound."""

    text: str = Field(max_length=3)


@workflow.defn
class MakesInvalidData:
    """Workflow that makes data which a contract refuses, in its main method, a signal or an update."""

    @workflow.run
    async def run(self, makes: bool) -> None:
        if makes:
            Bounded(text="secret")
        await workflow.wait_condition(lambda: False)

    @workflow.signal
    async def receive(self) -> None:
        Bounded(text="secret")

    @workflow.update
    async def apply(self) -> None:
        Bounded(text="secret")


async def test_invalid_data_fails_the_workflow(server: WorkflowEnvironment) -> None:
    """The task is not repeated for ever: the failure names the field and the rule, and does not quote the data."""
    queue = f"invalid-{uuid4().hex[:8]}"
    client, expected = server.client, "invalid data in Bounded.text: String should have at most 3 characters"
    async with PatientWorker(client, task_queue=queue, workflows=[MakesInvalidData], plugins=[create_plugin()]):
        handles = [
            await client.start_workflow(MakesInvalidData.run, makes, id=f"{queue}-{makes}", task_queue=queue)
            for makes in (True, False)
        ]
        with pytest.raises(WorkflowUpdateFailedError) as refused:
            await handles[1].execute_update(MakesInvalidData.apply)
        await handles[1].signal(MakesInvalidData.receive)
        async with asyncio.timeout(60):
            failures = await asyncio.gather(*(handle.result() for handle in handles), return_exceptions=True)
        history = await handles[0].fetch_history()

    for error in (refused.value, *failures):
        assert isinstance(error, WorkflowFailureError | WorkflowUpdateFailedError)
        assert isinstance(error.cause, ApplicationError)
        assert (error.cause.type, error.cause.message) == (INVALID_DATA, expected)
    assert "test_handlers" in str(history.events[-1].workflow_execution_failed_event_attributes.failure.stack_trace)


@pytest.mark.parametrize("end", ["result", "failure", "cancellation"])
async def test_an_update_in_progress_ends_before_its_workflow(server: WorkflowEnvironment, end: End) -> None:
    """A person whose update was applied receives its reply, however the workflow ends meanwhile."""
    plugin = create_plugin()
    queue = f"handlers-{uuid4().hex[:8]}"

    async def wait_for(state: int) -> None:
        await wait_until(f"state {state}", lambda: handle.query(EndsDuringUpdate.state), lambda found: found[state])

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
