"""Waiting for people longer than any process lives, on a server that skips time."""

import asyncio
import shutil
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.api.testservice.v1 import LockTimeSkippingRequest, UnlockTimeSkippingRequest
from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.run.run import RunRequest
from tenure.temporal.converter import DATA_CONVERTER
from tests.conftest import Serving, serving_at
from tests.support.tiers import exhaustive, slow
from tests.support.waiting import wait_until
from tests.support.worlds import FINISH, KITCHEN, MemoryKnowledge, ScriptedChat, in_turn, plans, says, story
from tests.workflows.run.test_agent import REQUEST, until
from workflows.run.agent import AgentWorkflow
from workflows.runtime import search_attributes
from workflows.runtime.task_queues import MODEL_QUEUE

pytestmark = slow

DAY = timedelta(days=1)


@pytest.fixture
async def skipping() -> AsyncIterator[WorkflowEnvironment]:
    """Time-skipping server, on which a day passes immediately while no activity runs."""
    beside = Path(sys.executable).parent / "temporal-test-server"
    found = str(beside) if beside.exists() else shutil.which("temporal-test-server")
    async with await WorkflowEnvironment.start_time_skipping(
        test_server_existing_path=found, data_converter=DATA_CONVERTER
    ) as environment:
        names = dict.fromkeys((key.name for key in search_attributes.ALL), IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD)
        request = AddSearchAttributesRequest(namespace=environment.client.namespace, search_attributes=names)
        await environment.client.operator_service.add_search_attributes(request)
        yield environment


@pytest.fixture
def later(skipping: WorkflowEnvironment, tmp_path: Path) -> Serving:
    """Return a fixture that serves runs on the time-skipping server, with workers that cache no workflow."""
    return serving_at(skipping.client, 0, tmp_path)


def asked(**limits: Any) -> RunRequest:
    """Return a request with additional limits."""
    return REQUEST.model_copy(update={"limits": REQUEST.limits.model_copy(update=limits)})


async def test_plan_is_approved_a_day_later_on_another_worker(later: Serving, skipping: WorkflowEnvironment) -> None:
    """After a day without client and worker the plan still waits, and the run continues after the approval."""
    chat, knowledge = ScriptedChat(story()), MemoryKnowledge(KITCHEN)
    async with later(chat, knowledge) as stage:
        with skipping.auto_time_skipping_disabled():
            run = await stage.start(asked(approve_plan=True, answer_seconds=3 * DAY.total_seconds()))
            await until(run, lambda progress: progress.input_request)
    await skipping.sleep(DAY)
    async with later(chat, knowledge) as stage:
        waiting = await run.query(AgentWorkflow.progress)
        await run.signal("approve")
        result = await run.result()

    assert waiting.status == "waiting"
    assert (result.status, result.usage.seconds > DAY.total_seconds()) == ("done", True)
    assert chat.count("outliner") == 1
    assert not [note for note in result.notes if "answered" in note]


@exhaustive
async def test_clarification_waits_a_day_for_another_worker(later: Serving, skipping: WorkflowEnvironment) -> None:
    """A run that asks for the meaning waits a day without a worker, reminds the person, and accepts the answer."""
    chat = ScriptedChat(story(clarifier=says({"question": "Which bread?", "assumption": "any bread"})))
    async with later(chat, MemoryKnowledge(KITCHEN)) as stage:
        with skipping.auto_time_skipping_disabled():
            run = await stage.start(asked(interactive=True, answer_seconds=3 * DAY.total_seconds()))
            await until(run, lambda progress: progress.input_request)
    await skipping.sleep(DAY)
    async with later(chat, MemoryKnowledge(KITCHEN)) as stage:
        await skipping.sleep(DAY)
        waiting = await until(run, lambda progress: "still waits" in progress.last)
        await run.signal("answer", "rye bread")
        result = await run.result()

    assert waiting.status == "waiting" and waiting.last.endswith("unless somebody answers: any bread")
    assert (result.status, result.question) == ("done", "How are bread and cheese made (rye bread)?")
    assert result.usage.seconds > 2 * DAY.total_seconds()
    assert (chat.count("clarifier"), chat.count("router")) == (1, 1)


@exhaustive
async def test_unanswered_run_continues_with_its_assumptions(later: Serving) -> None:
    """Plan and question wait their time, remind once each, and lead to the assumption; no deadline runs meanwhile."""
    question = {"action": "ASK_HUMAN", "query": "Which cheese?", "expected_output": "any cheese"}
    chat = ScriptedChat(story(planner=in_turn(plans(question), FINISH)))
    async with later(chat, MemoryKnowledge(KITCHEN)) as stage:
        request = asked(approve_plan=True, interactive=True, max_seconds=3_600.0, answer_seconds=DAY.total_seconds())
        result = await (await stage.start(request)).result()

    assert result.status == "done"
    assert result.usage.seconds > 2 * DAY.total_seconds()
    assert sum("still waits for an answer" in note.lower() for note in result.notes) == 2
    assert "No answer to “Which cheese?”; assumed: any cheese" in result.notes


@exhaustive
async def test_deadline_is_suspended_while_a_run_is_paused(later: Serving, skipping: WorkflowEnvironment) -> None:
    """A run that is paused for a day has all of its hour left after the resume."""
    chat = ScriptedChat(story())
    async with later(chat, MemoryKnowledge(KITCHEN)) as stage:
        with skipping.auto_time_skipping_disabled():
            run = await stage.start(asked(approve_plan=True, max_seconds=3_600.0))
            await until(run, lambda progress: progress.input_request)
            await run.signal("pause")
            await run.signal("approve")
            await until(run, lambda progress: not progress.input_request)
        await skipping.sleep(DAY)
        held, asked_for = await run.query(AgentWorkflow.progress), chat.count("planner")
        await run.signal("resume")
        result = await run.result()

    assert (held.status, asked_for) == ("paused", 0)
    assert (result.status, result.usage.seconds > DAY.total_seconds()) == ("done", True)


async def test_a_weekend_without_a_worker_costs_a_run_nothing(later: Serving, skipping: WorkflowEnvironment) -> None:
    """A model call that is due waits three days for a worker, and the run ends without a note or a repeated call."""
    chat, knowledge = ScriptedChat(story()), MemoryKnowledge(KITCHEN)
    with skipping.auto_time_skipping_disabled():
        async with later(chat, knowledge) as stage:
            run = await stage.start(asked(approve_plan=True))
            await until(run, lambda progress: progress.input_request)
        async with later(chat, knowledge, unserved=MODEL_QUEUE):
            await run.signal("approve")
            due = await wait_until(
                "the due planner", lambda: list_due(skipping.client, run.id), lambda found: found == [("planner", 1)]
            )
    finished, left = Counter(role for role, _ in chat.asked), await skipping.get_current_time()
    await sleep_with_due_activities(skipping, 3 * DAY)
    waiting, away = await list_due(skipping.client, run.id), await skipping.get_current_time() - left
    async with later(chat, knowledge):
        result = await run.result()

    assert (waiting, away >= 3 * DAY) == (due, True)
    assert (result.status, result.usage.seconds > away.total_seconds()) == ("done", True)
    assert result.notes == ("Asks: Is this the right outline?",)
    assert finished.keys() >= {"router", "outliner"}
    assert {role: chat.count(role) for role in finished} == finished


async def list_due(client: Client, run: str) -> list[tuple[str, int]]:
    """Return the unfinished activities of a run, each with the number of its attempt."""
    due = []
    for name in (run, f"{run}/research", f"{run}/spiral"):
        with suppress(RPCError):  # it is not started yet
            pending = (await client.get_workflow_handle(name).describe()).raw_description.pending_activities
            due += [(one.activity_type.name, one.attempt) for one in pending]
    return due


async def sleep_with_due_activities(skipping: WorkflowEnvironment, duration: timedelta) -> None:
    """Let time pass although activities are unfinished, for which the server locks its clock.

    A lock after the other is opened until the clock runs, and all of them are closed after the sleep.
    """
    service, opened = skipping.client.test_service, 0
    sleeping = asyncio.create_task(skipping.sleep(duration))
    while not (await asyncio.wait((sleeping,), timeout=1))[0]:
        opened += 1
        await service.unlock_time_skipping(UnlockTimeSkippingRequest())
    await sleeping
    for _ in range(opened):
        await service.lock_time_skipping(LockTimeSkippingRequest())
