"""Send the progress of a child workflow to its run.

A server accepts a limited number of signals for one run, 10,000 by default. A run that receives a flood of signals
receives none of its children afterwards: they continue without it, and its report says so.
"""

from temporalio import workflow

from workflows.runtime.control import send_signal

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.research.report import ProgressUpdate


UNHEARD = (
    "The run received more signals than its server accepts for one run. The progress and the usage of its parts after "
    "that are not counted, and their budgets could not be extended."
)
"""Note of a report whose run does not receive its children any more."""


async def send_progress(run: str, update: ProgressUpdate) -> bool:
    """Signal the progress to the run, and return whether the run received it."""
    return await send_signal(workflow.get_external_workflow_handle(run), "report_progress", update)
