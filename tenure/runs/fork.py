"""Start a new run from an earlier cycle of a run, from an answer of the model in a repository, or from its request.

A cycle is in the history of its run, so that no worker is needed. The work after an answer is computed by a worker.
"""

from collections.abc import Sequence

from temporalio.client import WorkflowHandle
from temporalio.service import RPCError, RPCStatusCode

from tenure.contracts.base import RunId
from tenure.contracts.coding.engineering import RepositoryRequest
from tenure.contracts.research.fork import (
    CycleCheckpoint,
    ForkOrigin,
    ForkRunRequest,
    RepositoryCheckpoint,
    RepositoryForkRequest,
    RepositoryOrigin,
)
from tenure.contracts.research.spiral import ResearchRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import Feedback, RunLimits, RunRequest
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.messages import ForkBody, RepeatBody
from tenure.runs.run_ids import check_run, make_fork_id
from tenure.runs.session.connection import (
    QUERY_TIMEOUT,
    Session,
    describe_refusal,
    explain_ended_query,
    explain_refusals,
    register_search_attributes,
)
from tenure.runs.session.run_records import RunRecord, open_run
from tenure.runs.start import (
    PlannedRun,
    build_priority,
    find_reservation_price,
    launch_run,
    make_id,
    refuse_archived_id,
    start_workflow,
)
from tenure.settings.models import ChatModelSettings


async def launch_fork(
    session: Session, origin_id: str, body: ForkBody
) -> tuple[WorkflowHandle[object, Result], tuple[str, ...]]:
    """Start the fork and return it with notes.

    Raises:
        InvalidRequest: the original has no such cycle, or the id is in use.
    """
    if body.id:
        check_run(body.id)
    await register_search_attributes(session)
    record = await open_run(session, origin_id)
    request = await record.read_run_request()
    # Its documents are not read again.
    bounded = request.model_copy(update={"ingest": (), "limits": _change_limits(request, body, session.settings)})
    forked: RunRequest
    if request.repository:
        number, forked = await _fork_work(session, record, bounded, body)
    else:
        number, forked = await _fork_research(record, bounded, body)
    chosen = body.id or make_fork_id(origin_id, number)
    notes = await refuse_archived_id(session.settings, chosen) if body.id else ()
    planned = PlannedRun(chosen, body.id is not None, forked, build_priority(body, record.priority), notes)
    return await start_workflow(await session.connect(), planned), notes


async def _fork_research(record: RunRecord, bounded: RunRequest, body: ForkBody) -> tuple[int, ForkRunRequest]:
    """Return the cycle after which a fork of a research continues, and its request."""
    for name in ("answer", "attempt"):
        if getattr(body, name):
            raise InvalidRequest(f"run {record.id} is no work in a repository: give a cycle instead", name)
    if body.cycle is None:
        raise InvalidRequest("the last cycle to take over is missing: give one", "cycle")
    origin = await read_origin(record, body.cycle)
    feedback = (*origin.checkpoint.feedback, *_list_feedback(body))
    origin = origin.model_copy(update={"checkpoint": origin.checkpoint.model_copy(update={"feedback": feedback})})
    return body.cycle, ForkRunRequest(**dict(bounded), origin=origin)


async def _fork_work(
    session: Session, record: RunRecord, bounded: RunRequest, body: ForkBody
) -> tuple[int, RepositoryForkRequest]:
    """Return the answer after which a fork of the work in a repository continues, and its request."""
    for name in ("cycle", "max_cycles"):
        if getattr(body, name):
            raise InvalidRequest(f"run {record.id} works in a repository and has no cycles: leave it out", name)
    if bounded.limits.candidates > 1 and not body.attempt:
        raise InvalidRequest(f"run {record.id} has {bounded.limits.candidates} attempts: name one", "attempt")
    work = await read_work(session, record, body.answer or 0, body.attempt or 0)
    number = work.state.answers if work.state else 0
    work = work.model_copy(update={"feedback": (*work.feedback, *_list_feedback(body))})
    origin = RepositoryOrigin(run=RunId(record.id), request=work)
    limits = bounded.limits.model_copy(update={"candidates": 1})
    own = {"limits": limits, "question": work.question, "repository": work.task}  # the task may be that of a page
    bounded = bounded.model_copy(update=own)
    return number, RepositoryForkRequest(**dict(bounded), origin=origin)


async def read_work(session: Session, record: RunRecord, answer: int, attempt: int) -> RepositoryRequest:
    """Return the work of a run after an answer of the model, by default the last one.

    Raises:
        InvalidRequest: the run has no such answer or attempt.
        TenureError: no worker answers, or only the archive has the run.
    """
    if record.is_archived:
        raise TenureError(f"run {record.id} is archived: its work can be continued only while the server has it")
    client = await session.connect()
    part = client.get_workflow_handle(f"{record.id}/repository" + (f"/{attempt}" if attempt else ""))
    try:
        with explain_ended_query(record.id, is_running=record.is_running):
            found: RepositoryCheckpoint = await part.query(
                "checkpoint", answer, result_type=RepositoryCheckpoint, rpc_timeout=QUERY_TIMEOUT
            )
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise describe_refusal(error, record.id) from error
        found = RepositoryCheckpoint()
    if found.request is None:
        known = f"answers {found.first} to {found.last}" if found.last else "none whose preparation was finished"
        part_name = f"attempt {attempt} of run {record.id}" if attempt else f"run {record.id}"
        raise InvalidRequest(f"{part_name} has no such answer to continue from: it has {known}", "answer")
    return found.request


async def repeat_run(
    session: Session, origin_id: str, body: RepeatBody
) -> tuple[WorkflowHandle[object, Result], tuple[str, ...]]:
    """Ask the question of a run again in a new run, with changes, and return it with notes; documents are read again.

    Raises:
        InvalidRequest: the id belongs to another kind of workflow, or a document is no longer there.
    """
    record = await open_run(session, origin_id)
    request = await record.read_run_request()
    question = body.question or request.question
    changed = request.model_copy(
        update={"question": question, "limits": _change_limits(request, body, session.settings)}
    )
    chosen = make_id(question, request.mode, session.settings)
    return await launch_run(session, PlannedRun(chosen, False, changed, build_priority(body, record.priority), ()))


def _change_limits(request: RunRequest, body: ForkBody | RepeatBody, settings: ChatModelSettings) -> RunLimits:
    """Return the limits of an earlier run with those of a new one in their place."""
    values = {name: getattr(body, name) for name in body.model_fields_set if name in RunLimits.model_fields}
    if body.max_cost_usd is not None and "max_cost_usd" not in values:  # a bound of the owner's quota
        values["max_cost_usd"] = min(request.limits.max_cost_usd or body.max_cost_usd, body.max_cost_usd)
    if "max_cost_usd" in values:
        values["highest_price"] = find_reservation_price(settings, request.limits.chat_model, limited=True)
    limits: RunLimits = request.limits.model_copy(update=values)
    return limits


def _list_feedback(body: ForkBody) -> list[Feedback]:
    text = body.feedback.strip()
    return [Feedback(text=text)] if text else []


async def read_origin(record: RunRecord, cycle: int) -> ForkOrigin:
    """Return a run and the checkpoint of one of its cycles.

    Raises:
        InvalidRequest: the run has no such cycle, or has not reached it yet.
    """
    with explain_refusals(record.id):
        checkpoints = await record.source.fetch_checkpoints()
        cycles = [await record.decode(payload, CycleCheckpoint) for payload in checkpoints.cycles]
        for checkpoint in cycles:
            if checkpoints.research is not None and checkpoint.state.cycle == cycle:
                research = await record.decode(checkpoints.research, ResearchRequest)
                bare = checkpoint.model_copy(update={"progress": None})
                # The request of a fork has the state of the run before it, which the checkpoint replaces.
                fresh = research.model_copy(update={"state": None})
                return ForkOrigin(run=RunId(record.id), research=fresh, checkpoint=bare)
    ended = [checkpoint.state.cycle for checkpoint in cycles]
    raise InvalidRequest(f"run {record.id} has no cycle {cycle} to continue from: {_there(ended)}")


def _there(cycles: Sequence[int]) -> str:
    if not cycles:
        return "it has completed none, and coding runs have none"
    return f"it has completed cycle {cycles[0]}" + (f" to {cycles[-1]}" if len(cycles) > 1 else " alone")
