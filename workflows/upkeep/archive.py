"""Archive finished runs in the knowledge base, so that commands need Temporal only for running work.

A run starts an `ArchiveWorkflow` at its end, which outlives it. A schedule starts `ArchiveSweepWorkflow`, which
archives the runs that could not do so themselves (`tenure/temporal/schedules.py`).
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from temporalio import workflow
from temporalio.exceptions import FailureError

from workflows.runtime.activity_options import execute_activity
from workflows.runtime.optional_step import run_optional_step

with workflow.unsafe.imports_passed_through():
    from activities.archive import ArchiveActivities
    from tenure.contracts.base import RunId
    from tenure.contracts.knowledge.archive import ArchiveReport, ArchiveRequest


SWEEP_OVERLAP: Final = timedelta(days=1)
"""Time before the last sweep from which ended runs are listed again: a server under load lists a run late, and the
clocks of server and worker may differ."""
FULL_SWEEP_INTERVAL: Final = timedelta(days=7)
"""Time after which all runs are listed again, since the archive may have lost some."""


@workflow.defn
class ArchiveWorkflow:
    """Workflow that archives one run."""

    @workflow.run
    async def run(self, request: ArchiveRequest) -> int:
        """Wait for the end of the run and archive it; return its compressed size in bytes."""
        return await execute_activity(ArchiveActivities.archive_run, request, summary=f"archive {request.run}")


@workflow.defn
class ArchiveSweepWorkflow:
    """Workflow that archives the ended runs that the archive lacks.

    A sweep lists the runs that have ended since the last one. The result of the last sweep, which the schedule passes
    on, says when that was.
    """

    @workflow.run
    async def run(self) -> ArchiveReport:
        """Archive the runs."""
        has_last = workflow.has_last_completion_result()
        last = workflow.get_last_completion_result(ArchiveReport) if has_last else None
        since = choose_since(last or ArchiveReport(), workflow.now())
        summary = f"archive runs ended since {since:%Y-%m-%d %H:%M}" if since else "archive ended runs"
        report = await execute_activity(ArchiveActivities.archive_missing_runs, since, summary=summary)
        return report.model_copy(update={"all_listed": report.all_listed or (last and last.all_listed)})


def choose_since(last: ArchiveReport, now: datetime) -> datetime | None:
    """Return the earliest end of the runs of the next sweep; None for all runs.

    All runs are listed without a last sweep, after one that could not archive a run, and once in a week.
    """
    if last.began is None or last.failed or last.all_listed is None:
        return None
    return last.began - SWEEP_OVERLAP if now - last.all_listed < FULL_SWEEP_INTERVAL else None


async def start_archiving(add_note: Callable[[str], object], error: BaseException | None = None) -> None:
    """Start the archiving of the current workflow, which is about to end by its result or by an error.

    If that fails, the scheduled search for ended runs archives it later.
    An error in the program ends no workflow: its task is repeated, with corrected code some day, and must not leave a
    child in the history.
    """
    ends = error is None or isinstance(error, FailureError | asyncio.CancelledError)
    if not ends:
        return
    info = workflow.info()
    starting = workflow.start_child_workflow(
        ArchiveWorkflow.run,
        ArchiveRequest(run=RunId(info.workflow_id), execution=info.run_id),
        # A reset changes the execution, and with it no command before the reset may change.
        id=f"{info.workflow_id}/archive-{str(workflow.uuid4())[:8]}",
        parent_close_policy=workflow.ParentClosePolicy.ABANDON,
        static_summary="archive the run",
    )
    await run_optional_step(starting, None, "The run could not archive itself", add_note)
