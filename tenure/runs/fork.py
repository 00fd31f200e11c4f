"""Start a new run from an earlier cycle of a run, with the knowledge of that cycle."""

from temporalio.client import WorkflowHandle

from tenure.contracts.research.fork import ForkOrigin, ForkRunRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import Feedback, RunLimits, RunRequest
from tenure.runs.messages import ForkBody
from tenure.runs.run_ids import check_run, make_fork_id
from tenure.runs.session.connection import Session, register_search_attributes
from tenure.runs.session.run_records import open_run
from tenure.runs.session.run_request import read_origin
from tenure.runs.start import PlannedRun, build_priority, find_reservation_price, refuse_archived_id, start_workflow
from tenure.settings.models import ChatModelSettings


async def launch_fork(
    session: Session, origin_id: str, body: ForkBody
) -> tuple[WorkflowHandle[object, Result], tuple[str, ...]]:
    """Start the fork and return it with notes.

    Raises:
        InvalidRequest: the original has no such cycle, or the id is in use.
    """
    chosen = check_run(body.id) if body.id else make_fork_id(origin_id, body.cycle)
    await register_search_attributes(session)
    record = await open_run(session, origin_id)
    request, origin = await read_origin(record, body.cycle)
    notes = await refuse_archived_id(session.settings, chosen) if body.id else ()
    bounded = _build_request(request, body, session.settings)
    forked = ForkRunRequest(**dict(bounded), origin=_add_feedback(origin, body.feedback))
    planned = PlannedRun(chosen, body.id is not None, forked, build_priority(body, record.priority), notes)
    return await start_workflow(await session.connect(), planned), notes


def _build_request(request: RunRequest, body: ForkBody, settings: ChatModelSettings) -> RunRequest:
    """Return the request of the fork: that of its origin with its own limits; documents are not read again."""
    given = {name: getattr(body, name) for name in body.model_fields_set if name in RunLimits.model_fields}
    if "max_cost_usd" in given:
        given["highest_price"] = find_reservation_price(settings, limited=True)
    limits: RunLimits = request.limits.model_copy(update=given)
    return request.model_copy(update={"ingest": (), "limits": limits})


def _add_feedback(origin: ForkOrigin, feedback: str) -> ForkOrigin:
    """Return the origin with feedback for the fork."""
    if not feedback.strip():
        return origin
    said = (*origin.checkpoint.feedback, Feedback(text=feedback.strip()))
    return origin.model_copy(update={"checkpoint": origin.checkpoint.model_copy(update={"feedback": said})})
