"""Read the trace of a run: from the result of a finished run, or from the records that another one reports."""

from datetime import datetime

from temporalio.client import Client, WorkflowFailureError

from tenure.contracts.research.trace import RecordedResult, RunHead, Story, Trace
from tenure.report.trace.story import build_trace
from tenure.runs.errors import InvalidRequest
from tenure.runs.formatting import describe_failure
from tenure.runs.session.connection import AGENT_WORKFLOW, explain_ended_query, explain_refusals
from tenure.runs.session.run_records import RunRecord, open_run
from tenure.runs.session.server_target import ServerTarget

_NO_STORY = Story(
    notes=("The records of this run were not kept: no worker of its version answered when it was archived.",)
)


async def read_trace(run_id: str, place: ServerTarget, client: Client | None = None) -> Trace:
    """Return the trace of a run.

    Raises:
        TenureError: the run has no result, and no worker of its version answers.
    """
    record = await open_run(place, run_id, client)
    if record.workflow_type != AGENT_WORKFLOW:
        raise InvalidRequest(f"{run_id} is not a run but a {record.workflow_type}: only runs have a trace")
    return await trace_record(record)


async def trace_record(record: RunRecord) -> Trace:
    """Return the trace of an open run."""
    head = RunHead(
        id=record.id,
        question=(await record.read_run_request()).question,
        started_at=_format_time(record.started),
        ended_at=_format_time(record.ended) if record.ended else "",
        status="running",
    )
    if record.is_completed:
        result = await record.read_result(RecordedResult)
        return build_trace(head.model_copy(update={"status": result.status}), result.story, result)
    with explain_refusals(record.id), explain_ended_query(record.id, is_running=record.is_running):
        payload = await record.source.fetch_story()
        story = _NO_STORY if payload is None else await record.decode(payload, Story)
        if not record.is_running:
            end = await record.source.fetch_end()
            is_failed = end.status == "failed"
            failure = describe_failure(WorkflowFailureError(cause=await record.read_cause(end))) if is_failed else ""
            head = head.model_copy(update={"status": end.status, "failure": failure})
    return build_trace(head, story, None)


def _format_time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")
