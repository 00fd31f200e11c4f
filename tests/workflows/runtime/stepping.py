"""Workflow with one optional step, for the tests of such steps."""

from datetime import timedelta

from temporalio import workflow

from workflows.runtime.activity_options import execute_activity
from workflows.runtime.optional_step import run_optional_step

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.contracts.knowledge.memory import MemoriesRequest


@workflow.defn
class SteppingWorkflow:
    """Workflow with one optional step."""

    @workflow.run
    async def run(self, limit: float) -> list[str]:
        """Return the outcome of a step with this limit in seconds, and its notes."""
        notes: list[str] = []
        step = execute_activity(KnowledgeActivities.list_memories, MemoriesRequest(), summary="a step")
        outcome = await run_optional_step(step, "nothing", "The step failed", notes.append, timedelta(seconds=limit))
        return [str(outcome), *notes]
