"""Consolidate memories between runs: promote, merge, abstract and forget them.

A schedule starts this workflow (`tenure/temporal/schedules.py`). Each step is a separate activity: a step that fails
or is interrupted is retried alone and continues with the memories it has not reached.
"""

from typing import get_args

from temporalio import workflow

from workflows.runtime.activity_options import execute_activity

with workflow.unsafe.imports_passed_through():
    from activities.memory import MemoryActivities
    from tenure.contracts.knowledge.memory import (
        ConsolidationRequest,
        ConsolidationStep,
        ConsolidationStepReport,
    )

_SUMMARIES: dict[ConsolidationStep, str] = {
    "embed": "renew the vectors of another embedding model",
    "promote": "keep what proved useful",
    "compare": "merge duplicates, resolve contradictions",
    "abstract": "derive lessons from episodes",
    "forget": "forget what has faded",
}


@workflow.defn
class ConsolidationWorkflow:
    """Workflow that promotes, merges, abstracts and forgets memories."""

    @workflow.run
    async def run(self) -> list[ConsolidationStepReport]:
        """Execute the steps in order."""
        steps: list[ConsolidationStepReport] = []
        for step in get_args(ConsolidationStep):
            workflow.set_current_details(_render_status(steps, _SUMMARIES[step]))
            request = ConsolidationRequest(step=step, now=workflow.now())
            steps.append(
                await execute_activity(MemoryActivities.consolidate_memories, request, summary=_SUMMARIES[step])
            )
        workflow.set_current_details(_render_status(steps))
        return steps


def _render_status(steps: list[ConsolidationStepReport], running: str = "") -> str:
    """Return the live status page: the finished steps and the running one."""
    lines = [
        f"- {_SUMMARIES[step.step]}: {step.looked_at} looked at, {step.changed} changed, {step.seconds:.1f} s"
        for step in steps
    ]
    return "\n".join([*lines, f"- {running} …"] if running else lines)
