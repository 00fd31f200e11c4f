"""Send the progress of a child workflow to its run."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.research.report import ProgressUpdate


async def send_progress(run: str, update: ProgressUpdate) -> None:
    """Signal the progress to the run."""
    await workflow.get_external_workflow_handle(run).signal("report_progress", update)
