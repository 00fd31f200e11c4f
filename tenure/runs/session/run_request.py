"""Read the request of a run from its history; works without a worker, and for archived runs without a server."""

from collections.abc import Sequence
from typing import TypeVar

from temporalio.api.common.v1 import Payload
from temporalio.api.history.v1 import HistoryEvent
from temporalio.converter import DataConverter

from tenure.contracts.base import RunId
from tenure.contracts.research.fork import CycleCheckpoint, ForkOrigin
from tenure.contracts.research.report import ResearchRequest
from tenure.contracts.run.run import RunRequest
from tenure.runs.errors import InvalidRequest
from tenure.runs.session.connection import AGENT_WORKFLOW, RESEARCH_WORKFLOW
from tenure.temporal.histories import HistorySource

T = TypeVar("T")

CHECKPOINT_SIGNAL = "record_cycle"
"""Signal whose argument holds the checkpoint of a cycle."""


async def read_request(source: HistorySource, run_id: str) -> RunRequest:
    """Return the request of a run.

    Raises:
        InvalidRequest: the id belongs to another kind of workflow.
    """
    return await read_first_request(source.converter, run_id, await source.fetch_first_event(run_id))


async def read_origin(source: HistorySource, run_id: str, cycle: int) -> tuple[RunRequest, ForkOrigin]:
    """Return the request of a run and the checkpoint of one of its cycles.

    Raises:
        InvalidRequest: the run has no such cycle, or has not reached it yet.
    """
    request: RunRequest | None = None
    research: ResearchRequest | None = None
    ended: list[int] = []
    converter = source.converter
    for event in await source.fetch_events(run_id):
        started = event.start_child_workflow_execution_initiated_event_attributes
        signal = event.workflow_execution_signaled_event_attributes
        if request is None:
            request = await read_first_request(converter, run_id, event)
        elif started.workflow_type.name == RESEARCH_WORKFLOW:
            research = await decode_argument(converter, started.input.payloads, ResearchRequest)
        elif signal.signal_name == CHECKPOINT_SIGNAL:
            end = await decode_argument(converter, signal.input.payloads, CycleCheckpoint)
            ended.append(end.state.cycle)
            if research is not None and end.state.cycle == cycle:
                return request, ForkOrigin(run=RunId(run_id), research=research, checkpoint=end)
    raise InvalidRequest(f"run {run_id} has no cycle {cycle} to continue from: {_there(ended)}")


def _there(cycles: Sequence[int]) -> str:
    if not cycles:
        return "it has completed none, and coding runs have none"
    return f"it has completed cycle {cycles[0]}" + (f" to {cycles[-1]}" if len(cycles) > 1 else " alone")


async def read_first_request(converter: DataConverter, run_id: str, first: HistoryEvent) -> RunRequest:
    """Return the request in the first event of a run's history.

    Raises:
        InvalidRequest: the history is another workflow's.
    """
    started = first.workflow_execution_started_event_attributes
    if started.workflow_type.name != AGENT_WORKFLOW:
        raise InvalidRequest(f"{run_id} is not a run but a {started.workflow_type.name}: `list` shows all runs")
    return await decode_argument(converter, started.input.payloads, RunRequest)


async def decode_argument(converter: DataConverter, payloads: Sequence[Payload], kind: type[T]) -> T:
    """Return the first argument of a call or a signal."""
    (value,) = await converter.decode(payloads[:1], [kind])
    found: T = value
    return found
