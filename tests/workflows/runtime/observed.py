"""Small workflows that call each other, to observe what they pass on."""

import asyncio
from datetime import timedelta

from temporalio import activity, workflow

SHORT = timedelta(minutes=2)
TASK = timedelta(seconds=3)
"""Task timeout of children: without a cache, a task that waits for a local activity often ends by its timeout only."""


@activity.defn(name="note")
async def note(text: str) -> str:
    """Return a text."""
    return text


@workflow.defn
class InnerWorkflow:
    """Child with a cycle."""

    @workflow.init
    def __init__(self, name: str) -> None:
        self.cycle = 3

    @workflow.run
    async def run(self, name: str) -> str:
        return await workflow.execute_activity(note, name, start_to_close_timeout=SHORT)


@workflow.defn
class OuterWorkflow:
    """Run that continues as new once and has a child of its own and one of another run."""

    @workflow.run
    async def run(self, again: bool) -> str:
        await workflow.execute_activity(note, "outer", start_to_close_timeout=SHORT)
        if again:
            workflow.continue_as_new(False)
        own = workflow.info().workflow_id
        await asyncio.gather(
            workflow.execute_child_workflow(InnerWorkflow.run, "own", id=f"{own}/inner", task_timeout=TASK),
            workflow.execute_child_workflow(InnerWorkflow.run, "other", id=f"other-{own}", task_timeout=TASK),
        )
        return own


@workflow.defn
class WaitingWorkflow:
    """Run that waits until it is cancelled."""

    @workflow.run
    async def run(self) -> None:
        await workflow.wait_condition(lambda: False)


@workflow.defn
class CrowdWorkflow:
    """Run that calls many activities at the same time."""

    @workflow.run
    async def run(self, count: int, queue: str) -> None:
        name = workflow.info().workflow_id
        calls = (
            workflow.execute_activity(note, name, task_queue=queue, start_to_close_timeout=SHORT) for _ in range(count)
        )
        await asyncio.gather(*calls)
