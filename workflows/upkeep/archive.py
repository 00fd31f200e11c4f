"""Archive finished runs in the knowledge base, so that commands need Temporal only for running work.

A run starts an `ArchiveWorkflow` at its end, which outlives it. A schedule starts `ArchiveSweepWorkflow`, which
archives the runs that could not do so themselves (`tenure/temporal/schedules.py`).
"""

import asyncio

from temporalio import workflow
from temporalio.exceptions import FailureError

from workflows.runtime.activity_options import execute_activity

with workflow.unsafe.imports_passed_through():
    from activities.archive import ArchiveActivities
    from tenure.contracts.base import RunId
    from tenure.contracts.knowledge.archive import ArchiveReply, ArchiveReport, ArchiveRequest


@workflow.defn
class ArchiveWorkflow:
    """Workflow that archives one run."""

    @workflow.run
    async def run(self, request: ArchiveRequest) -> ArchiveReply:
        """Wait for the end of the run and archive it."""
        return await execute_activity(ArchiveActivities.archive_run, request, summary=f"archive {request.run}")


@workflow.defn
class ArchiveSweepWorkflow:
    """Workflow that archives all ended runs that the archive lacks."""

    @workflow.run
    async def run(self) -> ArchiveReport:
        """Archive the runs."""
        return await execute_activity(ArchiveActivities.archive_missing_runs, summary="archive ended runs")


async def start_archiving(error: BaseException | None = None) -> None:
    """Start the archiving of the current workflow, which is about to end by its result or by an error.

    An error in the program ends no workflow: its task is repeated, with corrected code some day, and must not leave a
    child in the history.
    """
    ends = error is None or isinstance(error, FailureError | asyncio.CancelledError)
    if not ends:
        return
    info = workflow.info()
    await workflow.start_child_workflow(
        ArchiveWorkflow.run,
        ArchiveRequest(run=RunId(info.workflow_id), execution=info.run_id),
        id=f"{info.workflow_id}/archive-{info.run_id[:8]}",
        parent_close_policy=workflow.ParentClosePolicy.ABANDON,
        static_summary="archive the run",
    )
