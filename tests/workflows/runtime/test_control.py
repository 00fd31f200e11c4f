"""Steering between workflows: whatever the moment of a word, every child hears it."""

import uuid

from temporalio import workflow
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from tenure.contracts.base import Contract
from tenure.contracts.run.run import Feedback, Stance
from worker import runner
from workflows.runtime.control import Steered


class Start(Contract):
    """What both workflows are started with."""

    stance: Stance = Stance()
    feedback: tuple[Feedback, ...] = ()


@workflow.defn(sandboxed=False)
class Child(Steered):
    """Ends once it has heard a finish and a person's word."""

    @workflow.init
    def __init__(self, request: Start) -> None:
        super().__init__(request.stance)
        self.wishes = list(request.feedback)

    @workflow.run
    async def run(self, request: Start) -> list[str]:
        await workflow.wait_condition(lambda: self.finishing and bool(self.wishes))
        return [wish.text for wish in self.wishes]


@workflow.defn(sandboxed=False)
class Parent(Steered):
    """Starts a child with what was known before it was steered, as if that came while the child is started."""

    async def heard(self, feedback: Feedback) -> None:
        await super().heard(feedback)
        for child in self.children.values():
            await child.signal("feedback", feedback)

    @workflow.run
    async def run(self, request: Start) -> list[str]:
        await workflow.wait_condition(lambda: self.finishing and bool(self.wishes))
        name = f"{workflow.info().workflow_id}/child"
        child = await self.begin("child", Child.run, request, name, "waits", len(request.feedback))
        heard: list[str] = await child
        await workflow.wait_condition(workflow.all_handlers_finished)
        return heard


async def test_a_word_said_while_a_child_starts_reaches_it_once(server: WorkflowEnvironment) -> None:
    """A child is told where the run is, and each wish once, if its request does not hold them."""
    name = f"steering-{uuid.uuid4().hex[:8]}"
    async with Worker(server.client, task_queue=name, workflows=[Parent, Child], workflow_runner=runner()):
        handle = await server.client.start_workflow(Parent.run, Start(), id=name, task_queue=name)
        await handle.signal(Parent.finish)
        await handle.signal(Parent.feedback, Feedback(text="Mind the oven."))
        heard = await handle.result()

    assert heard == ["Mind the oven."]
