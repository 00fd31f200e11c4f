"""Keep the knowledge base fast and small, independently of any run.

A schedule starts this workflow (`tenure/temporal/schedules.py`). Each step is a separate activity: a step that fails
or is interrupted is retried alone, and the web UI shows how long each step took.
"""

from temporalio import workflow

from workflows.runtime.activity_options import execute_activity

with workflow.unsafe.imports_passed_through():
    from activities.maintenance import MaintenanceActivities
    from tenure.contracts.knowledge.maintenance import MaintenanceReport, MaintenanceStepReport

_STEPS = (
    (MaintenanceActivities.compact_tables, "compact small files"),
    (MaintenanceActivities.refresh_indexes, "build and refresh indexes"),
    (MaintenanceActivities.remove_old_versions, "remove old versions"),
)


@workflow.defn
class MaintenanceWorkflow:
    """Workflow that compacts the tables, refreshes their indexes and removes old versions."""

    @workflow.run
    async def run(self) -> MaintenanceReport:
        """Execute the three steps in order."""
        reports: list[MaintenanceStepReport] = []
        for method, summary in _STEPS:
            workflow.set_current_details(_render_status(reports, summary))
            reports.append(await execute_activity(method, summary=summary))
        workflow.set_current_details(_render_status(reports))
        return MaintenanceReport(steps=tuple(reports))


def _render_status(reports: list[MaintenanceStepReport], running: str = "") -> str:
    """Return the live status page: the finished steps, the running one, and tables that could not be maintained."""
    lines = [
        f"- {summary}: {report.tables} tables, {report.changed} changes, {report.seconds:.1f} s"
        for report, (_, summary) in zip(reports, _STEPS, strict=False)
    ]
    lines += [f"- {running} …"] if running else []
    lines += [f"  - left: {reason}" for report in reports for reason in report.failed_tables]
    return "\n".join(lines)
