"""What a run was started with, read from its history: no worker has to answer, and a run that is over tells it too."""

from collections.abc import Sequence
from typing import Any, TypeVar

from temporalio.api.common.v1 import Payload
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowHandle

from commands.errors import UsageError
from commands.session import AGENT_WORKFLOW
from tenure.contracts.run import RunRequest

T = TypeVar("T")


async def request_of(client: Client, handle: WorkflowHandle[Any, Any]) -> RunRequest:
    """Return the request of a run.

    Raises:
        UsageError: the id is another workflow's.
    """
    async for event in handle.fetch_history_events(page_size=1):
        return await requested(client, handle.id, event)
    raise AssertionError("a history begins with an event")


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
