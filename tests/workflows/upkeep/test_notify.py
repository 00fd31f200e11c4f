"""NotifyWorkflow: notifications of a run, which never waits for their delivery."""

import asyncio
import json
from typing import Any

import pytest
from temporalio.client import WorkflowFailureError, WorkflowHandle

from tenure.contracts.result.result import Result
from tenure.contracts.run.notifications import Notification
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.models.errors import RequestRejected
from tenure.notifications import Notifier
from tests.conftest import Serving, Stage
from tests.support.tiers import slow
from tests.support.worlds import KITCHEN, MemoryKnowledge, Reply, ScriptedChat, story
from tests.test_notifications import Receiver
from tests.workflows.run.test_agent import until

REQUEST = RunRequest(
    question="How is bread made?",
    corpora=("kitchen",),
    limits=RunLimits(min_relevance=0.05, max_sections=1, max_cycles=1, max_report_revisions=0),
    notifications="http://ui/",
)


async def told(stage: Stage, run: WorkflowHandle[Any, Result]) -> list[str]:
    """Wait for the notifications that a run has started, and return their ids."""
    history = await run.fetch_history()
    begun = [
        event.child_workflow_execution_started_event_attributes.workflow_execution.workflow_id
        for event in history.events
        if event.HasField("child_workflow_execution_started_event_attributes")
    ]
    mine = [one for one in begun if "/notification-" in one]
    for one in mine:
        await stage.client.get_workflow_handle(one).result()
    return mine


@slow
async def test_notification_is_retried_until_delivery(serving: Serving) -> None:
    """A busy receiver gets the request again with the same body; the end of a run causes one notification."""
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


@slow
async def test_report_does_not_wait_for_the_receiver(serving: Serving) -> None:
    """A run ends while its notification is still being delivered."""
    waiting = asyncio.Event()

    class Slow(Notifier):
        async def post_webhook(self, notice: Notification) -> None:
            """Wait until the test releases the request."""
            await waiting.wait()

    async with serving(None, MemoryKnowledge(KITCHEN), notifier=Slow()) as stage:
        run = await stage.start(REQUEST)
        result = await run.result()
        waiting.set()
        begun = await told(stage, run)

    assert (result.status, len(begun)) == ("done", 1)


async def test_failed_run_sends_a_notification(serving: Serving) -> None:
    """A run that ends in an error sends a notification as well."""

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


@slow
async def test_run_without_settings_sends_no_notification(serving: Serving) -> None:
    """A request without notification settings starts no notification."""
    with Receiver() as receiver:
        async with serving(None, MemoryKnowledge(KITCHEN), notifier=Notifier(receiver.url)) as stage:
            run = await stage.start(REQUEST.model_copy(update={"notifications": None}))
            await run.result()
            begun = await told(stage, run)

    assert (begun, receiver.received) == ([], [])


@slow
async def test_waiting_run_sends_a_notification(serving: Serving) -> None:
    """A plan that waits for approval causes one notification, even if the run is paused meanwhile."""
    limits = REQUEST.limits.model_copy(update={"approve_plan": True})
    with Receiver() as receiver:
        chat = ScriptedChat(story())
        async with serving(chat, MemoryKnowledge(KITCHEN), notifier=Notifier(receiver.url)) as stage:
            run = await stage.start(REQUEST.model_copy(update={"limits": limits}))
            await until(run, lambda progress: progress.input_request)
            for word in ("pause", "resume", "approve"):
                await run.execute_update("steer", {"name": word})
            await run.result()
            begun = await told(stage, run)

    assert len(begun) == 2
    assert sorted(json.loads(body)["event"] for _, body in receiver.received) == ["finished", "waiting"]
