"""Compare the report of a scheduled question with the report of the run before.

The server passes the result of a schedule's last run to the next one, so nothing has to be stored or searched for.
The activity looks up whether the quotes of both reports occur in the sources of the other one.
"""

from temporalio import workflow

from workflows.runtime.activity_options import execute_activity
from workflows.runtime.optional_step import run_optional_step

with workflow.unsafe.imports_passed_through():
    from activities.report import ReportActivities
    from tenure.algorithms.claims.report_changes import select_compared_parts
    from tenure.contracts.result.changes import ReportChanges
    from tenure.contracts.result.result import ComparisonRequest, Result


async def add_changes(result: Result) -> Result:
    """Return a report with its changes since the last report of the schedule, or with a note if that fails."""
    at = workflow.now().isoformat(timespec="seconds")
    last = workflow.get_last_completion_result(Result) if workflow.has_last_completion_result() else None
    if last is None:
        return result.model_copy(update={"changes": ReportChanges(at=at)})
    request = ComparisonRequest(last=select_compared_parts(last), now=select_compared_parts(result), at=at)
    summary = f"changes since {last.id}"
    comparing = execute_activity(ReportActivities.compare_reports, request, summary=summary)
    failure, notes = "This report could not be compared with the last one", list[str]()
    changes = await run_optional_step(comparing, None, failure, notes.append)
    return result.model_copy(update={"changes": changes, "notes": (*result.notes, *notes)})
