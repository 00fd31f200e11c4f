"""Start a new run from an earlier cycle of a run, with the knowledge of that cycle; no worker is needed for that."""

from collections.abc import Sequence

from temporalio.client import WorkflowHandle

from tenure.contracts.base import RunId
from tenure.contracts.research.fork import CycleCheckpoint, ForkOrigin, ForkRunRequest
from tenure.contracts.research.spiral import ResearchRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import Feedback, RunLimits, RunRequest
from tenure.runs.errors import InvalidRequest
from tenure.runs.messages import ForkBody
from tenure.runs.run_ids import check_run, make_fork_id
from tenure.runs.session.connection import Session, explain_refusals, register_search_attributes
from tenure.runs.session.run_records import RunRecord, open_run
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
    values = {name: getattr(body, name) for name in body.model_fields_set if name in RunLimits.model_fields}
    if "max_cost_usd" in values:
        values["highest_price"] = find_reservation_price(settings, limited=True)
    limits: RunLimits = request.limits.model_copy(update=values)
    return request.model_copy(update={"ingest": (), "limits": limits})


def _add_feedback(origin: ForkOrigin, feedback: str) -> ForkOrigin:
    if not feedback.strip():
        return origin
    items = (*origin.checkpoint.feedback, Feedback(text=feedback.strip()))
    return origin.model_copy(update={"checkpoint": origin.checkpoint.model_copy(update={"feedback": items})})


async def read_origin(record: RunRecord, cycle: int) -> tuple[RunRequest, ForkOrigin]:
    """Return the request of a run and the checkpoint of one of its cycles.

    Raises:
        InvalidRequest: the run has no such cycle, or has not reached it yet.
    """
    request = await record.read_run_request()
    with explain_refusals(record.id):
        checkpoints = await record.source.fetch_checkpoints()
        cycles = [await record.decode(payload, CycleCheckpoint) for payload in checkpoints.cycles]
        for checkpoint in cycles:
            if checkpoints.research is not None and checkpoint.state.cycle == cycle:
                research = await record.decode(checkpoints.research, ResearchRequest)
                bare = checkpoint.model_copy(update={"progress": None})
                # The request of a fork has the state of the run before it, which the checkpoint replaces.
                fresh = research.model_copy(update={"state": None})
                return request, ForkOrigin(run=RunId(record.id), research=fresh, checkpoint=bare)
    ended = [checkpoint.state.cycle for checkpoint in cycles]
    raise InvalidRequest(f"run {record.id} has no cycle {cycle} to continue from: {_there(ended)}")


def _there(cycles: Sequence[int]) -> str:
    if not cycles:
        return "it has completed none, and coding runs have none"
    return f"it has completed cycle {cycles[0]}" + (f" to {cycles[-1]}" if len(cycles) > 1 else " alone")
