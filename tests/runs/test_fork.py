"""A fork continues from the checkpoint of its origin alone."""

from types import SimpleNamespace
from typing import Any, cast

from tenure.contracts.base import RunId
from tenure.contracts.research.fork import CycleCheckpoint
from tenure.contracts.research.spiral import ResearchRequest, SpiralState
from tenure.runs.fork import read_origin
from tenure.runs.session.run_records import RunRecord


async def test_a_fork_of_a_fork_has_one_state() -> None:
    """The state that the request of the earlier fork began with is left out."""
    state, checkpoint, request = (cast(Any, kind) for kind in (SpiralState, CycleCheckpoint, ResearchRequest))
    before, after = (state.model_construct(cycle=cycle) for cycle in (1, 2))
    kept = SimpleNamespace(
        cycles=[checkpoint.model_construct(state=after, progress=None)],
        research=request.model_construct(state=before),
    )

    async def give(value: Any, kind: type | None = None) -> Any:
        return value

    record = SimpleNamespace(
        id=RunId("fork-1"),
        read_run_request=lambda: give("request"),
        source=SimpleNamespace(fetch_checkpoints=lambda: give(kept)),
        decode=give,
    )
    _, origin = await read_origin(cast(RunRecord, record), 2)

    assert origin.research.state is None and origin.checkpoint.state is after
