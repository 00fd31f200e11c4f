"""NotifyWorkflow: what a run tells people outside, and that it waits for nobody to hear it."""

import asyncio
import json
from typing import Any

import pytest
from temporalio.client import WorkflowFailureError, WorkflowHandle

from tenure.contracts.result.result import Result
from tenure.contracts.run.notifications import Notice, Notices
from tenure.contracts.run.run import Limits, RunRequest
from tenure.models.chat import RequestRejected
from tenure.notifications import Notifier
from tests.conftest import Serving, Stage
from tests.test_notifications import Receiver
from tests.workflows.run.test_agent import until
from tests.worlds import KITCHEN, MemoryKnowledge, Reply, ScriptedChat, story

REQUEST = RunRequest(
    question="How is bread made?",
    corpora=("kitchen",),
    limits=Limits(min_relevance=0.05, max_sections=1, max_cycles=1, max_revisions=0, max_reflexions=0),
    notices=Notices(ui="http://ui/"),
)


async def told(stage: Stage, run: WorkflowHandle[Any, Result]) -> list[str]:
    """Wait for the notices that a run has begun, and return their ids."""
    history = await run.fetch_history()
    begun = [
        event.child_workflow_execution_started_event_attributes.workflow_execution.workflow_id
        for event in history.events
        if event.HasField("child_workflow_execution_started_event_attributes")
    ]
    mine = [one for one in begun if "/notice-" in one]
    for one in mine:
        await stage.client.get_workflow_handle(one).result()
    return mine


async def test_a_finished_run_is_told_until_somebody_hears_it(serving: Serving) -> None:
    """The request is made again where the receiver was busy, with the same body; there is one notice for one end."""
    with Receiver() as receiver:
        receiver.answers = [503, 204]
        async with serving(None, MemoryKnowledge(KITCHEN), notifier=Notifier(receiver.url, b"k")) as stage:
            run = await stage.start(REQUEST)
            result = await run.result()
            begun = await told(stage, run)

    assert (result.status, len(begun)) == ("done", 1)
    first, again = receiver.received
    assert first[1] == again[1]
    sent = json.loads(first[1])
    assert (sent["event"], sent["status"], sent["url"]) == ("finished", "done", f"http://ui/{run.id}")


async def test_a_report_waits_for_no_receiver(serving: Serving) -> None:
    """A run is over while its notice is still on its way."""
    waiting = asyncio.Event()

    class Slow(Notifier):
        async def post(self, notice: Notice) -> None:
            """Hear nothing before the test lets go."""
            await waiting.wait()

    async with serving(None, MemoryKnowledge(KITCHEN), notifier=Slow()) as stage:
        run = await stage.start(REQUEST)
        result = await run.result()
        waiting.set()
        begun = await told(stage, run)

    assert (result.status, len(begun)) == ("done", 1)


async def test_a_failed_run_is_told(serving: Serving) -> None:
    """A run that ends in an error tells that as well."""

    async def refuses(prompt: str) -> Reply:
        raise RequestRejected("the key is not valid")

    with Receiver() as receiver:
        chat = ScriptedChat(story(router=refuses))
        async with serving(chat, MemoryKnowledge(KITCHEN), notifier=Notifier(receiver.url)) as stage:
            run = await stage.start(REQUEST)
            with pytest.raises(WorkflowFailureError):
                await run.result()
            begun = await told(stage, run)

    assert len(begun) == 1
    assert [json.loads(body)["event"] for _, body in receiver.received] == ["failed"]


async def test_nobody_is_told_who_did_not_ask(serving: Serving) -> None:
    """A run of a request without notices begins none."""
    with Receiver() as receiver:
        async with serving(None, MemoryKnowledge(KITCHEN), notifier=Notifier(receiver.url)) as stage:
            run = await stage.start(REQUEST.model_copy(update={"notices": None}))
            await run.result()
            begun = await told(stage, run)

    assert (begun, receiver.received) == ([], [])


async def test_a_run_that_waits_for_a_person_is_told(serving: Serving) -> None:
    """A plan to be approved is worth one notice before that of the end, also where the run is held meanwhile."""
    limits = REQUEST.limits.model_copy(update={"approve_plan": True})
    with Receiver() as receiver:
        chat = ScriptedChat(story())
        async with serving(chat, MemoryKnowledge(KITCHEN), notifier=Notifier(receiver.url)) as stage:
            run = await stage.start(REQUEST.model_copy(update={"limits": limits}))
            await until(run, lambda progress: progress.waiting)
            for word in ("pause", "resume", "approve"):
                await run.execute_update("steer", {"verb": word})
            await run.result()
            begun = await told(stage, run)

    assert len(begun) == 2
    assert sorted(json.loads(body)["event"] for _, body in receiver.received) == ["finished", "waiting"]
