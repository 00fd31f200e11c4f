"""Complete an assembled report: remember the run, and compare it with the previous report.

The report exists already, so nothing here may fail the run.
"""

from temporalio import workflow

from workflows.run.run_memory import RunMemory
from workflows.run.scheduled_question import add_changes
from workflows.runtime.optional_step import run_optional_step

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.research.report import ReportDraft
    from tenure.contracts.result.result import Result


async def complete_result(
    result: Result, draft: ReportDraft, memory: RunMemory | None, *, is_scheduled: bool
) -> Result:
    """Return a report with what can be added after its assembly, and a note on each step that failed.

    Args:
        result: the assembled report.
        draft: its draft.
        memory: stores what the run has learned; None if nothing of it is to be kept.
        is_scheduled: whether the report is compared with that of the schedule's last run.
    """
    notes: list[str] = []
    if memory:
        result = await memory.store(result, draft)
    if is_scheduled:
        failure = "This report could not be compared with the last one"
        result = await run_optional_step(add_changes(result), result, failure, notes.append)
    return result.model_copy(update={"notes": (*result.notes, *notes)})
