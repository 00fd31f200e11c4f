"""Test forks: research continues from a cycle of another run, with its knowledge and without paying for it again."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from temporalio.client import Client, WorkflowHandle

from tenure.contracts.knowledge.memory import MemorySearchReply
from tenure.contracts.research.fork import ForkOrigin, ForkRunRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import Feedback, RunLimits, RunRequest
from tenure.roles.prompting import PREFERENCES_RULE
from tenure.runs.errors import InvalidRequest
from tenure.runs.fork import read_origin
from tenure.runs.session.run_records import open_on_server
from tests.conftest import Serving, Stage
from tests.histories.recorder import wait_for_signal
from tests.support.tiers import exhaustive, slow
from tests.support.worlds import (
    FINISH,
    KITCHEN,
    Held,
    Line,
    Reply,
    Reticent,
    ScriptedChat,
    in_turn,
    plans,
    says,
    search,
    story,
)
from tests.workflows.run.test_agent import until
from tests.workflows.run.test_run_memory import PREFERENCES, preferring
from workflows.run.agent import AgentWorkflow

pytestmark = slow

PATIENCE = 120
QUESTION = "How are bread and cheese made?"
ASKED = (
    "What is bread made of?",
    "How does cheese ripen in the cellar?",
    "Which sourdough is in rye bread?",
    "Which mould does blue cheese need?",
)
REQUEST = RunRequest(
    question=QUESTION,
    corpora=("kitchen",),
    limits=RunLimits(min_relevance=0.05, max_report_revisions=1, effort="complex", max_cycles=4),
)
SPIRAL = ("planner", "query_refiner", "hypothetical_document")
"""Roles of the cycles."""


def script() -> ScriptedChat:
    """Return a model for four cycles with a different search in each."""
    planner = in_turn(*(plans(search(query)) for query in ASKED), FINISH)
    return ScriptedChat(story(planner=planner))


async def through(stage: Stage, request: RunRequest = REQUEST) -> WorkflowHandle[Any, Result]:
    """Wait for the end of a run."""
    run = await stage.start(request)
    await asyncio.wait_for(run.result(), PATIENCE)
    return run


async def read_fork(client: Client, run: str, cycle: int) -> tuple[RunRequest, ForkOrigin]:
    """Return the request of a run on the server, and the starting point of a fork after a cycle."""
    record = await open_on_server(client, run)
    return await record.read_run_request(), await read_origin(record, cycle)


def words(chat: ScriptedChat, *roles: str) -> Iterator[str]:
    """Return the system and user messages of roles."""
    return (prompt for role, prompt in chat.asked if role in roles)


async def test_fork_repeats_no_call_and_knows_no_later_cycle(serving: Serving) -> None:
    """A fork at cycle 2 of 4 repeats no call of cycles 1 and 2, and receives nothing of cycles 3 and 4."""
    knowledge = Reticent(KITCHEN, whole=QUESTION)
    chat = script()
    async with serving(chat, knowledge) as stage:
        run = await through(stage)
        paid = list(chat.asked)
        request, origin = await read_fork(stage.client, run.id, 2)
        chat.asked.clear()
        chat.lines |= script().lines | {"planner": says(FINISH)}
        fork = await through(stage, _told(request, origin, "Mind the oven."))
        original, result = await run.result(), await fork.result()

    third = [at for at, (role, _) in enumerate(paid) if role == "planner"][2]
    assert not set(chat.asked) & set(paid[:third])
    assert not {role for role, _ in chat.asked} & {"router", "decomposer", "outliner"}
    told = list(words(chat, *SPIRAL))
    assert any(ASKED[1] in prompt for prompt in told)
    assert not any(later in prompt for prompt in told for later in ASKED[2:])
    assert "Mind the oven." in next(words(chat, "planner"))
    assert result.usage.model_calls == len(chat.asked)
    assert result.information_gain[:2] == original.information_gain[:2] and len(original.information_gain) == 4
    assert result.decisions[0] == original.decisions[0]
    assert [word.text for word in result.feedback] == ["Mind the oven."]
    assert any(f"continues from cycle 2 of {run.id}" in note for note in result.notes)


async def test_fork_keeps_the_outline_of_a_person(serving: Serving) -> None:
    """A person's outline of the last inherited cycle applies to the fork, which shows earlier findings."""
    held = Held(plans(search(ASKED[0])))
    chat = script()
    chat.lines["planner"] = _in_lines(held, says(plans(search(ASKED[1]))))
    limits = REQUEST.limits.model_copy(update={"max_cycles": 2})
    async with serving(chat, Reticent(KITCHEN, whole=QUESTION)) as stage:
        run = await stage.start(REQUEST.model_copy(update={"limits": limits}))
        await held.reached.wait()
        await run.signal("outline", ["Bread => Loaves", "Rye"])
        await wait_for_signal(stage.client.get_workflow_handle(f"{run.id}/spiral"), "update_control")
        held.released.set()
        await asyncio.wait_for(run.result(), PATIENCE)
        request, origin = await read_fork(stage.client, run.id, 1)
        chat.lines["planner"] = again = Held(FINISH)
        forks = [await stage.start(ForkRunRequest(**dict(request), origin=origin)) for _ in range(2)]
        began = [await fork.query(AgentWorkflow.progress) for fork in forks]
        for fork in forks:
            await until(fork, lambda progress: [topic.topic for topic in progress.topics] == ["Loaves", "Rye"])
        await forks[1].signal("outline", ["Cheese"])
        again.released.set()
        results = [await asyncio.wait_for(fork.result(), PATIENCE) for fork in forks]

    assert [aim.topic.heading for aim in origin.checkpoint.state.topics] == ["Bread", "Cheese"]
    assert all(progress.topics and progress.topics[0].coverage > 0 for progress in began)
    assert [[section.topic for section in result.sections] for result in results] == [["Loaves", "Rye"], ["Cheese"]]


async def test_fork_has_the_preferences_of_its_origin(serving: Serving) -> None:
    """It recalls no memory, but its writers receive the preferences with which the origin started."""
    chat, knowledge = script(), preferring()
    limits = REQUEST.limits.model_copy(update={"max_cycles": 1})
    async with serving(chat, knowledge) as stage:
        run = await through(stage, REQUEST.model_copy(update={"limits": limits, "memory": True}))
        request, origin = await read_fork(stage.client, run.id, 1)
        knowledge.memories.recollection = MemorySearchReply()
        asked, recalls = len(chat.asked), len(knowledge.memories.asked)
        fork = await through(stage, ForkRunRequest(**dict(request), origin=origin))
        result = await fork.result()

    prompts = [prompt for role, prompt in chat.asked[asked:] if role == "report_writer"]
    assert prompts and all(PREFERENCES_RULE in prompt and PREFERENCES[0] in prompt for prompt in prompts)
    assert any(PREFERENCES[1] in note for note in result.notes)
    assert len(knowledge.memories.asked) == recalls


@exhaustive
async def test_fork_of_the_last_cycle_has_one_more(serving: Serving) -> None:
    """A fork of a finished run has another cycle, even if the limit of cycles was reached."""
    chat = script()
    async with serving(chat, Reticent(KITCHEN, whole=QUESTION)) as stage:
        run = await through(
            stage, REQUEST.model_copy(update={"limits": REQUEST.limits.model_copy(update={"max_cycles": 1})})
        )
        request, origin = await read_fork(stage.client, run.id, 1)
        fork = await through(stage, _told(request, origin, "Say which sourdough is in rye bread."))
        result = await fork.result()
        with pytest.raises(InvalidRequest, match="has no cycle 2 to continue from: it has completed cycle 1 alone"):
            await read_fork(stage.client, run.id, 2)
        again, second = await read_fork(stage.client, fork.id, 2)

    assert len((await run.result()).information_gain) == 1
    assert len(result.information_gain) == 2
    assert again.limits.max_cycles == 1 and second.checkpoint.state.cycle == 2
    assert second.research.state is None


async def test_cycles_of_continued_histories_can_be_forked(serving: Serving) -> None:
    """A spiral that was continued as new leaves the state of each cycle in the run's own history."""
    limits = REQUEST.limits.model_copy(update={"max_history_events": 20, "max_cycles": 3})
    chat = script()
    async with serving(chat, Reticent(KITCHEN, whole=QUESTION)) as stage:
        run = await through(stage, REQUEST.model_copy(update={"limits": limits}))
        ends = [(await read_fork(stage.client, run.id, cycle))[1].checkpoint.state for cycle in (1, 2, 3)]

    assert [len(end.information_gains) for end in ends] == [1, 2, 3]
    assert all(end.usage.calls == 0 for end in ends)


def _in_lines(*lines: Line) -> Line:
    """Return lines one after the other."""
    left = list(lines)

    async def line(prompt: str) -> Reply:
        return await left.pop(0)(prompt)

    return line


def _told(request: RunRequest, origin: ForkOrigin, text: str) -> ForkRunRequest:
    """Return the request of a fork with feedback."""
    said = (*origin.checkpoint.feedback, Feedback(text=text))
    end = origin.checkpoint.model_copy(update={"feedback": said})
    return ForkRunRequest(**dict(request), origin=origin.model_copy(update={"checkpoint": end}))
