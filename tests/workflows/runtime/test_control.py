"""Control of workflows: every command reaches every child, whenever it is sent."""

import uuid

from temporalio import workflow
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.base import RunId
from tenure.contracts.run.run import ControlState, Feedback, PartRequest, RunLimits
from tests.support.workers import PatientWorker
from workflows.plugin import create_workflow_runner
from workflows.runtime.control import ControllableWorkflow


class StartRequest(PartRequest):
    """Request of both workflows."""

    run: RunId = RunId("run")
    question: str = "How is bread made?"
    limits: RunLimits = RunLimits()
    feedback: tuple[Feedback, ...] = ()


@workflow.defn(sandboxed=False)
class Child(ControllableWorkflow):
    """Ends when it has received a finish and feedback."""

    @workflow.init
    def __init__(self, request: StartRequest) -> None:
        super().__init__(request.control)
        self.feedback_items = list(request.feedback)

    @workflow.run
    async def run(self, request: StartRequest) -> list[str]:
        await workflow.wait_condition(lambda: self.is_finishing and bool(self.feedback_items))
        return [feedback.text for feedback in self.feedback_items]


@workflow.defn(sandboxed=False)
class Parent(ControllableWorkflow):
    """Starts a child with the request from before all commands, as if they arrived while the child is started."""

    async def add_feedback(self, feedback: Feedback) -> None:
        await super().add_feedback(feedback)
        for child in self.children.values():
            await child.signal("feedback", feedback)

    @workflow.run
    async def run(self, request: StartRequest) -> list[str]:
        await workflow.wait_condition(lambda: self.is_finishing and bool(self.feedback_items))
        name = f"{workflow.info().workflow_id}/child"
        async with self.run_child(Child.run, request, name, "waits", len(request.feedback)) as child:
            received: list[str] = await child
        await workflow.wait_condition(workflow.all_handlers_finished)
        return received


async def test_feedback_during_the_start_of_a_child_reaches_it_once(server: WorkflowEnvironment) -> None:
    """A child receives the control state, and each feedback item once that its request lacks."""
    name = f"steering-{uuid.uuid4().hex[:8]}"
    async with PatientWorker(
        server.client, task_queue=name, workflows=[Parent, Child], workflow_runner=create_workflow_runner()
    ):
        handle = await server.client.start_workflow(Parent.run, StartRequest(), id=name, task_queue=name)
        await handle.signal(Parent.update_control, ControlState(finishing=True))
        await handle.signal(Parent.feedback, Feedback(text="Mind the oven."))
        received = await handle.result()

    assert received == ["Mind the oven."]
