"""Record runs on a real server: start them under the name of the recording, and collect the histories of all parts."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowFailureError, WorkflowHandle, WorkflowHistory
from temporalio.service import RPCError

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.run.control import RunCommand
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.models.chat import ChatModel
from tenure.notifications import Notifier
from tenure.sandbox.base import Sandbox
from tests.conftest import Serving, load_family, serving_at
from tests.support.waiting import wait_until
from tests.support.worlds import KITCHEN, MemoryKnowledge, Reticent
from workflows.run.agent import AgentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

PREFIX = "recorded-"
"""Start of the workflow ids of recorded runs."""

QUESTION = "How are bread and cheese made?"

REQUEST = RunRequest(
    question=QUESTION,
    ingest=(IngestRequest(corpus="kitchen", paths=("/kitchen",)),),
    corpora=("kitchen",),
    limits=RunLimits(min_relevance=0.05),
)
"""Request of a run that reads the documents about food."""

SHORT = REQUEST.model_copy(
    update={"limits": RunLimits(min_relevance=0.05, max_sections=1, max_cycles=1, max_report_revisions=0)}
)
"""The same, with as few steps as possible."""

Handle = WorkflowHandle[Any, Any]
Act = Callable[[Handle], Awaitable[None]]


def limit(request: RunRequest, **limits: Any) -> RunRequest:
    """Return a request with other limits."""
    return request.model_copy(update={"limits": request.limits.model_copy(update=limits)})


class Recorder:
    """Recording of one path: its workers and the workflows that it has started."""

    def __init__(self, client: Client, name: str, folder: Path) -> None:
        """Start without a workflow; files of programs go to `folder`."""
        self.client = client
        self.id = f"{PREFIX}{name}"
        self.folder = folder
        self.serve: Serving = serving_at(client, 1000, folder)
        self._handles: list[Handle] = []

    async def start(
        self, run: Any, *request: Any, suffix: str = "", client: Client | None = None, **options: Any
    ) -> Handle:
        """Start a workflow under the id of the recording, and record it with everything that it starts."""
        handle = await (client or self.client).start_workflow(
            run, args=request, id=f"{self.id}{suffix}", task_queue=TENURE_QUEUE, **options
        )
        return self.adopt(handle)

    def adopt(self, handle: Handle) -> Handle:
        """Record a workflow that was started elsewhere."""
        self._handles.append(handle)
        return handle

    async def run(
        self,
        chat: ChatModel | None,
        request: Any = REQUEST,
        act: Act | None = None,
        *,
        knowledge: MemoryKnowledge | None = None,
        box: Sandbox | None = None,
        web: Sequence[Callable[..., Any]] = (),
        notifier: Notifier | None = None,
    ) -> Any:
        """Record one run from its start to its end, in which `act` does what people do; return its result or error."""
        documents = knowledge or Reticent(dict(KITCHEN), whole=QUESTION)
        async with self.serve(chat, documents, box, web, notifier):
            handle = await self.start(AgentWorkflow.run, request)
            if act:
                await act(handle)
            return await self.wait_for_end()

    async def wait_for_end(self) -> Any:
        """Wait until everything that was started has ended; return the result of the first workflow, or its error."""
        ends = [await _get_end(handle) for handle in self._handles]
        for history in await self.load():
            execution = history.events[0].workflow_execution_started_event_attributes.original_execution_run_id
            await _get_end(self.client.get_workflow_handle(history.workflow_id, run_id=execution))
        return ends[0]

    async def load(self) -> list[WorkflowHistory]:
        """Return the histories of all workflows, each followed by those of the workflows that it started."""
        first = [(handle.id, handle.first_execution_run_id or handle.run_id) for handle in self._handles]
        return [
            history for workflow, execution in first async for history in load_family(self.client, workflow, execution)
        ]


async def _get_end(handle: Handle) -> Any:
    try:
        return await handle.result()
    except WorkflowFailureError as error:
        return error


async def tell(handle: Handle, name: Any, **fields: Any) -> str:
    """Send a command to a run and return its effect."""
    reply: str = await handle.execute_update("steer", RunCommand(name=name, **fields), result_type=str)
    return reply


async def wait_for_event(handle: Handle, is_wanted: Callable[[Any], bool]) -> None:
    """Wait until the history of a workflow has an event, also if the workflow starts later."""

    async def find() -> bool:
        return any([is_wanted(event) async for event in handle.fetch_history_events()])

    await wait_until(f"an event of {handle.id}", find, ignored=RPCError)


async def wait_for_signal(handle: Handle, name: str) -> None:
    """Wait until a signal is in the history of a workflow."""
    await wait_for_event(handle, lambda event: event.workflow_execution_signaled_event_attributes.signal_name == name)


async def wait_for_question(handle: Handle) -> None:
    """Wait until a run asks for input."""
    await wait_until("a question", lambda: handle.query(AgentWorkflow.progress), lambda found: found.input_request)
