"""ConsolidationWorkflow: what becomes of memories between runs, away from any of them.

A schedule starts it (`tenure/temporal/schedules.py`). Each step is an activity of its own, so that one that fails or is
interrupted is done again alone, and goes on with what it had not come to.
"""

from datetime import timedelta
from typing import get_args

from temporalio import workflow
from temporalio.common import RetryPolicy

from workflows.runtime.activity_options import SILENCE
from workflows.runtime.task_queues import EMBED_QUEUE

with workflow.unsafe.imports_passed_through():
    from activities.memory import MemoryActivities
    from tenure.contracts.knowledge.memory import (
        ConsolidationReport,
        ConsolidationRequest,
        ConsolidationStep,
        ConsolidationStepReport,
    )

_ABOUT: dict[ConsolidationStep, str] = {
    "embed": "make anew the vectors of another embedding model",
    "promote": "keep what proved useful",
    "compare": "join what says the same, decide what contradicts",
    "abstract": "draw lessons from episodes",
    "forget": "forget what has faded",
}


@workflow.defn
class ConsolidationWorkflow:
    """Promotes, joins, abstracts and forgets memories."""

    @workflow.run
    async def run(self) -> ConsolidationReport:
        """Do the steps, one after the other."""
        steps: list[ConsolidationStepReport] = []
        for step in get_args(ConsolidationStep):
            workflow.set_current_details(_page(steps, _ABOUT[step]))
            steps.append(
                await workflow.execute_activity_method(
                    MemoryActivities.consolidate_memories,
                    ConsolidationRequest(step=step, now=workflow.now()),
                    task_queue=EMBED_QUEUE,
                    start_to_close_timeout=timedelta(hours=6),
                    schedule_to_close_timeout=timedelta(hours=12),
                    heartbeat_timeout=SILENCE,
                    retry_policy=RetryPolicy(maximum_attempts=5, maximum_interval=timedelta(minutes=10)),
                    summary=_ABOUT[step],
                )
            )
        workflow.set_current_details(_page(steps))
        return ConsolidationReport(steps=tuple(steps))


def _page(steps: list[ConsolidationStepReport], running: str = "") -> str:
    """Return the live status page: what is done, and what is being done."""
    lines = [
        f"- {_ABOUT[one.step]}: {one.looked_at} looked at, {one.changed} changed, {one.seconds:.1f} s" for one in steps
    ]
    return "\n".join([*lines, f"- {running} …"] if running else lines)
