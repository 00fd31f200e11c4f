"""MaintenanceWorkflow: what keeps the knowledge base quick and small, away from any run.

A schedule starts it (`tenure/temporal/schedules.py`). Each step is an activity of its own, so that a step that fails or
is interrupted is done again alone, and the web UI shows which took how long.
"""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

from workflows.runtime.activity_options import SILENCE
from workflows.runtime.task_queues import EMBED_QUEUE

with workflow.unsafe.imports_passed_through():
    from activities.maintenance import MaintenanceActivities
    from tenure.contracts.knowledge.maintenance import MaintenanceReport, StepReport

_STEPS = (
    (MaintenanceActivities.compact_tables, "join small files"),
    (MaintenanceActivities.refresh_indexes, "build and refresh indexes"),
    (MaintenanceActivities.remove_old_versions, "remove old versions"),
)


@workflow.defn
class MaintenanceWorkflow:
    """Compacts the tables, refreshes their indexes, removes old versions."""

    @workflow.run
    async def run(self) -> MaintenanceReport:
        """Do the three steps, one after the other."""
        reports: list[StepReport] = []
        for method, summary in _STEPS:
            workflow.set_current_details(_page(reports, summary))
            reports.append(
                await workflow.execute_activity_method(
                    method,
                    task_queue=EMBED_QUEUE,
                    start_to_close_timeout=timedelta(hours=6),
                    schedule_to_close_timeout=timedelta(hours=12),
                    heartbeat_timeout=SILENCE,
                    retry_policy=RetryPolicy(maximum_attempts=5, maximum_interval=timedelta(minutes=10)),
                    summary=summary,
                )
            )
        workflow.set_current_details(_page(reports))
        return MaintenanceReport(steps=tuple(reports))


def _page(reports: list[StepReport], running: str = "") -> str:
    """Return the live status page: what is done, what is being done, what could not be done."""
    lines = [
        f"- {summary}: {report.tables} tables, {report.changed} changes, {report.seconds:.1f} s"
        for report, (_, summary) in zip(reports, _STEPS, strict=False)
    ]
    lines += [f"- {running} …"] if running else []
    lines += [f"  - left: {reason}" for report in reports for reason in report.left]
    return "\n".join(lines)
