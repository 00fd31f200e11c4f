"""Keep the knowledge base fast and small, independently of any run.

A schedule starts this workflow (`tenure/temporal/schedules.py`). Each step is a separate activity: a step that fails
or is interrupted is retried alone, and the web UI shows how long each step took.
"""

from temporalio import workflow

from workflows.runtime.activity_options import execute_activity

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.contracts.knowledge.maintenance import MaintenanceStep, MaintenanceStepReport

_SUMMARIES: dict[MaintenanceStep, str] = {
    "compact": "compact small files",
    "index": "build and refresh indexes",
    "clean": "remove old versions",
}


@workflow.defn
class MaintenanceWorkflow:
    """Workflow that compacts the tables, refreshes their indexes and removes old versions."""

    @workflow.run
    async def run(self) -> list[MaintenanceStepReport]:
        """Execute the three steps in order."""
        reports: list[MaintenanceStepReport] = []
        for step, summary in _SUMMARIES.items():
            workflow.set_current_details(_render_status(reports, summary))
            reports.append(await execute_activity(KnowledgeActivities.maintain_tables, step, summary=summary))
        workflow.set_current_details(_render_status(reports))
        return reports


def _render_status(reports: list[MaintenanceStepReport], running: str = "") -> str:
    """Return the live status page: the finished steps, the running one, and tables that could not be maintained."""
    lines = [
        f"- {_SUMMARIES[report.step]}: {report.tables} tables, {report.changed} changes, {report.seconds:.1f} s"
        for report in reports
    ]
    lines += [f"- {running} …"] if running else []
    lines += [f"  - left: {reason}" for report in reports for reason in report.failed_tables]
    return "\n".join(lines)
