"""Read the request of a run from its history; works without a worker and for finished runs."""

from collections.abc import Sequence
from typing import Any, TypeVar

from temporalio.api.common.v1 import Payload
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHandle

from tenure.cli.errors import UsageError
from tenure.cli.session.connection import AGENT_WORKFLOW, RESEARCH_WORKFLOW
from tenure.contracts.base import RunId
from tenure.contracts.research.fork import CycleCheckpoint, ForkOrigin
from tenure.contracts.research.report import ResearchRequest
from tenure.contracts.run.run import RunRequest

T = TypeVar("T")

CHECKPOINT_SIGNAL = "record_cycle"
"""Signal whose argument holds the checkpoint of a cycle."""


async def read_request(client: Client, handle: WorkflowHandle[Any, Any]) -> RunRequest:
    """Return the request of a run.

    Raises:
        UsageError: the id belongs to another kind of workflow.
    """
    async for event in handle.fetch_history_events(page_size=1):
        return await read_first_request(client, handle.id, event)
    raise AssertionError("a history begins with an event")


async def read_origin(client: Client, run_id: str, cycle: int) -> tuple[RunRequest, ForkOrigin]:
    """Return the request of a run and the checkpoint of one of its cycles.

    Raises:
        UsageError: the run has no such cycle, or has not reached it yet.
    """
    request: RunRequest | None = None
    research: ResearchRequest | None = None
    ended: list[int] = []
    async for event in client.get_workflow_handle(run_id).fetch_history_events():
        started = event.start_child_workflow_execution_initiated_event_attributes
        signal = event.workflow_execution_signaled_event_attributes
        if request is None:
            request = await read_first_request(client, run_id, event)
        elif started.workflow_type.name == RESEARCH_WORKFLOW:
            research = await decode_argument(client, started.input.payloads, ResearchRequest)
        elif signal.signal_name == CHECKPOINT_SIGNAL:
            end = await decode_argument(client, signal.input.payloads, CycleCheckpoint)
            ended.append(end.state.cycle)
            if research is not None and end.state.cycle == cycle:
                return request, ForkOrigin(run=RunId(run_id), research=research, checkpoint=end)
    raise UsageError(f"run {run_id} has no cycle {cycle} to continue from: {_there(ended)}")


def _there(cycles: Sequence[int]) -> str:
    if not cycles:
        return "it has completed none, and coding runs have none"
    return f"it has completed cycle {cycles[0]}" + (f" to {cycles[-1]}" if len(cycles) > 1 else " alone")


async def read_first_request(client: Client, run_id: str, first: HistoryEvent) -> RunRequest:
    """Return the request in the first event of a run's history.

    Raises:
        UsageError: the history is another workflow's.
    """
    started = first.workflow_execution_started_event_attributes
    if started.workflow_type.name != AGENT_WORKFLOW:
        raise UsageError(f"{run_id} is not a run but a {started.workflow_type.name}: `list` shows all runs")
    return await decode_argument(client, started.input.payloads, RunRequest)


async def decode_argument(client: Client, payloads: Sequence[Payload], kind: type[T]) -> T:
    """Return the first argument of a call or a signal."""
    (value,) = await client.data_converter.decode(payloads[:1], [kind])
    found: T = value
    return found
