"""What a run was started with, read from its history: no worker has to answer, and a run that is over tells it too."""

from collections.abc import Sequence
from typing import Any, TypeVar

from temporalio.api.common.v1 import Payload
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHandle

from tenure.cli.errors import UsageError
from tenure.cli.session.connection import AGENT_WORKFLOW, RESEARCH_WORKFLOW
from tenure.contracts.base import RunId
from tenure.contracts.research.fork import CycleEnd, Origin
from tenure.contracts.research.report import ResearchRequest
from tenure.contracts.run.run import RunRequest

T = TypeVar("T")

CYCLE_ENDED = "cycle_ended"
"""The signal in which a history keeps what a cycle has left."""


async def request_of(client: Client, handle: WorkflowHandle[Any, Any]) -> RunRequest:
    """Return the request of a run.

    Raises:
        UsageError: the id is another workflow's.
    """
    async for event in handle.fetch_history_events(page_size=1):
        return await requested(client, handle.id, event)
    raise AssertionError("a history begins with an event")


async def origin_of(client: Client, run_id: str, cycle: int) -> tuple[RunRequest, Origin]:
    """Return the request of a run, and what one of its cycles has left.

    Raises:
        UsageError: the run has no such cycle, or not yet.
    """
    request: RunRequest | None = None
    research: ResearchRequest | None = None
    ended: list[int] = []
    async for event in client.get_workflow_handle(run_id).fetch_history_events():
        begun = event.start_child_workflow_execution_initiated_event_attributes
        heard = event.workflow_execution_signaled_event_attributes
        if request is None:
            request = await requested(client, run_id, event)
        elif begun.workflow_type.name == RESEARCH_WORKFLOW:
            research = await decoded(client, begun.input.payloads, ResearchRequest)
        elif heard.signal_name == CYCLE_ENDED:
            end = await decoded(client, heard.input.payloads, CycleEnd)
            ended.append(end.state.cycle)
            if research is not None and end.state.cycle == cycle:
                return request, Origin(run=RunId(run_id), research=research, end=end)
    raise UsageError(f"run {run_id} has no cycle {cycle} to go on from: {_there(ended)}")


def _there(cycles: Sequence[int]) -> str:
    if not cycles:
        return "it has ended none, and a program has none"
    return f"it has ended cycle {cycles[0]}" + (f" to {cycles[-1]}" if len(cycles) > 1 else " alone")


async def requested(client: Client, run_id: str, first: HistoryEvent) -> RunRequest:
    """Return the request in the first event of a run's history.

    Raises:
        UsageError: the history is another workflow's.
    """
    started = first.workflow_execution_started_event_attributes
    if started.workflow_type.name != AGENT_WORKFLOW:
        raise UsageError(f"{run_id} is no run but a {started.workflow_type.name}: `list` shows the runs there are")
    return await decoded(client, started.input.payloads, RunRequest)


async def decoded(client: Client, payloads: Sequence[Payload], kind: type[T]) -> T:
    """Return the first argument of a call or a signal."""
    (value,) = await client.data_converter.decode(payloads[:1], [kind])
    found: T = value
    return found
