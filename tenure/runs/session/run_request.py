"""Read the checkpoint of a run that a fork starts from; no worker is needed, and no server for an archived run."""

from collections.abc import Sequence

from tenure.contracts.base import RunId
from tenure.contracts.research.fork import CycleCheckpoint, ForkOrigin
from tenure.contracts.research.report import ResearchRequest
from tenure.contracts.run.run import RunRequest
from tenure.runs.errors import InvalidRequest
from tenure.runs.session.connection import explain_refusals
from tenure.runs.session.run_records import RunRecord


async def read_origin(record: RunRecord, cycle: int) -> tuple[RunRequest, ForkOrigin]:
    """Return the request of a run and the checkpoint of one of its cycles.

    Raises:
        InvalidRequest: the run has no such cycle, or has not reached it yet.
    """
    request = await record.read_run_request()
    with explain_refusals(record.id):
        kept = await record.source.fetch_checkpoints()
        cycles = [await record.decode(payload, CycleCheckpoint) for payload in kept.cycles]
        for checkpoint in cycles:
            if kept.research is not None and checkpoint.state.cycle == cycle:
                research = await record.decode(kept.research, ResearchRequest)
                bare = checkpoint.model_copy(update={"progress": None})
                return request, ForkOrigin(run=RunId(record.id), research=research, checkpoint=bare)
    ended = [checkpoint.state.cycle for checkpoint in cycles]
    raise InvalidRequest(f"run {record.id} has no cycle {cycle} to continue from: {_there(ended)}")


def _there(cycles: Sequence[int]) -> str:
    if not cycles:
        return "it has completed none, and coding runs have none"
    return f"it has completed cycle {cycles[0]}" + (f" to {cycles[-1]}" if len(cycles) > 1 else " alone")
