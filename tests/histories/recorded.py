"""The recorded histories of a run, read as what happened in them."""

from collections.abc import Sequence

from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from tenure.contracts.research.trace import RecordedHistory
from tenure.temporal.converter import DATA_CONVERTER
from tenure.temporal.histories import collect_events
from tests.histories.record import HERE, SLASH

PARTS = ("", "/research", "/spiral", "/section-1", "/section-2", "/code")


def events(workflow_id: str) -> Sequence[HistoryEvent]:
    """Return the events of a recorded workflow."""
    path = HERE / f"{workflow_id.replace('/', SLASH)}.json"
    return WorkflowHistory.from_json(workflow_id, path.read_text(encoding="utf-8")).events


async def told(way: str) -> list[RecordedHistory]:
    """Return the histories of a recorded way, those that were recorded."""
    ids = [f"recorded-{way}{part}" for part in PARTS]
    there = [name for name in ids if (HERE / f"{name.replace('/', SLASH)}.json").exists()]
    return [await collect_events(name, events(name), DATA_CONVERTER) for name in there]
