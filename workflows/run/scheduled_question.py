"""Compare the report of a scheduled question with the report of the run before.

The server passes the result of a schedule's last run to the next one, so nothing has to be stored or searched for.
The knowledge base is asked only whether the quotes of the last report still occur in their sources.
"""

from temporalio import workflow

from workflows.runtime.activity_options import execute_activity

with workflow.unsafe.imports_passed_through():
    from activities.report import ReportActivities
    from tenure.algorithms.claims.report_changes import (
        collect_previous_quotes,
        collect_repeated_quotes,
        compare_reports,
    )
    from tenure.contracts.result.changes import QuoteCheckRequest, QuotedSource, QuoteLocation, ReportChanges
    from tenure.contracts.result.result import Result


async def add_changes(result: Result) -> Result:
    """Return a report with its changes since the last report of the schedule, if there is one."""
    at = workflow.now().isoformat(timespec="seconds")
    last = workflow.get_last_completion_result(Result) if workflow.has_last_completion_result() else None
    if last is None:
        return result.model_copy(update={"changes": ReportChanges(at=at)})
    previous = await _check_quotes(collect_previous_quotes(last, result))
    repeated = await _check_quotes(collect_repeated_quotes(last, result))
    return result.model_copy(update={"changes": compare_reports(last, result, previous, repeated, at)})


async def _check_quotes(locations: dict[QuotedSource, QuoteLocation]) -> dict[QuotedSource, bool]:
    """Return, for each quote, whether it occurs in its source."""
    if not locations:
        return {}
    request = QuoteCheckRequest(locations=tuple(locations.values()))
    reply = await execute_activity(
        ReportActivities.check_quotes, request, summary="which quotes occur in their sources"
    )
    return dict(zip(locations, reply.found, strict=True))
