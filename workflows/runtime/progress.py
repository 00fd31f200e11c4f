"""What the parts of a run tell it of themselves."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.research.report import ProgressUpdate


async def report(run: str, update: ProgressUpdate) -> None:
    """Tell the run how far a part of it is."""
    await workflow.get_external_workflow_handle(run).signal("progressed", update)
