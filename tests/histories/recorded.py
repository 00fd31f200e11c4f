"""Read recorded histories as what happened in them, for tests of the trace."""

from collections.abc import Sequence

from temporalio.api.history.v1 import HistoryEvent

from tenure.contracts.research.trace import RecordedHistory
from tenure.temporal.converter import DATA_CONVERTER
from tenure.temporal.histories import TRACED_WORKFLOWS, collect_events, join_executions
from tests.histories.recorder import PREFIX
from tests.histories.storage import find_recording, read_recording

PARTS = ("", "/research", "/spiral", "/code")
"""Endings of the workflow ids of a run and of the children that its trace needs."""


def events(workflow_id: str) -> Sequence[HistoryEvent]:
    """Return the events of the first execution of a recorded workflow."""
    name = workflow_id.removeprefix(PREFIX).split("/")[0]
    return next(one.events for one in read_recording(find_recording(name)) if one.workflow_id == workflow_id)


async def told(way: str) -> list[RecordedHistory]:
    """Return the histories of a recorded run from which its trace is built, those of continued workflows joined."""
    found: dict[str, RecordedHistory] = {}
    histories = read_recording(find_recording(way))
    run = histories[0].workflow_id
    for history in histories:
        read = await collect_events(history.workflow_id, history.events, DATA_CONVERTER)
        is_part = history.workflow_id.startswith(f"{run}/") and read.type in TRACED_WORKFLOWS
        if history.workflow_id != run and not is_part:
            continue
        before = found.get(read.workflow)
        found[read.workflow] = read if before is None else join_executions(before, read)
    return list(found.values())
