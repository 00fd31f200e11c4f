"""Maintain the knowledge base, and consolidate its memories, independently of any run.

Schedules start these workflows (`tenure/temporal/schedules.py`). Each step is a separate activity: a step that fails or
is interrupted is retried alone, and the web UI shows how long each step took.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from temporalio import workflow

from workflows.runtime.activity_options import execute_activity

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.contracts.knowledge.maintenance import MaintenanceStep, UpkeepReport
    from tenure.contracts.knowledge.memory import ConsolidationRequest, ConsolidationStep

S = TypeVar("S", bound=str)

_MAINTENANCE: dict[MaintenanceStep, str] = {
    "compact": "compact small files",
    "index": "build and refresh indexes",
    "clean": "remove old versions",
}

_CONSOLIDATION: dict[ConsolidationStep, str] = {
    "embed": "renew the vectors of another embedding model",
    "promote": "keep what proved useful",
    "compare": "merge duplicates, resolve contradictions",
    "abstract": "derive lessons from episodes",
    "forget": "forget what has faded",
}


@workflow.defn
class MaintenanceWorkflow:
    """Workflow that compacts the tables, refreshes their indexes and removes old versions."""

    @workflow.run
    async def run(self) -> list[UpkeepReport]:
        """Execute the steps in order; the status page names tables that could not be maintained."""

        def execute(step: MaintenanceStep, summary: str) -> Awaitable[UpkeepReport]:
            return execute_activity(KnowledgeActivities.maintain_tables, step, summary=summary)

        return await _execute_steps(_MAINTENANCE, execute, "{0.processed} tables, {0.changed} changes")


@workflow.defn
class ConsolidationWorkflow:
    """Workflow that promotes, merges, abstracts and forgets memories."""

    @workflow.run
    async def run(self) -> list[UpkeepReport]:
        """Execute the steps in order."""

        def execute(step: ConsolidationStep, summary: str) -> Awaitable[UpkeepReport]:
            request = ConsolidationRequest(step=step, now=workflow.now())
            return execute_activity(KnowledgeActivities.consolidate_memories, request, summary=summary)

        return await _execute_steps(_CONSOLIDATION, execute, "{0.processed} looked at, {0.changed} changed")


async def _execute_steps(
    summaries: Mapping[S, str], execute: Callable[[S, str], Awaitable[UpkeepReport]], outcome: str
) -> list[UpkeepReport]:
    """Execute steps in order, and show the outcome of the finished ones and the running one on the status page."""
    reports: list[UpkeepReport] = []
    lines: list[str] = []
    for step, summary in summaries.items():
        workflow.set_current_details("\n".join((*lines, f"- {summary} …")))
        report = await execute(step, summary)
        reports.append(report)
        lines.append(f"- {summary}: {outcome.format(report)}, {report.seconds:.1f} s")
        lines += [f"  - left: {reason}" for reason in report.failed_tables]
    workflow.set_current_details("\n".join(lines))
    return reports
