"""Test steering commands in any order, at any moment, by update and by signal: no run blocks and no command is lost.

Each case is derived from a number, so that a failing one can be repeated. Commands are sent during model calls, several
concurrently.
"""

import asyncio
import json
import random
import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from temporalio.client import WorkflowHandle, WorkflowUpdateFailedError
from temporalio.service import RPCError, RPCStatusCode

from tenure.contracts.result.result import Result
from tenure.contracts.run.control import COMMAND_NAMES, BudgetBounds, OutlineTopic, RunCommand
from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.models.chat import ChatRequest, Completion, ModelCall
from tests.conftest import Serving
from tests.support.tiers import exhaustive, slow
from tests.support.worlds import KITCHEN, MemoryKnowledge, ScriptedChat, plans, search, story
from workflows.run.agent import AgentWorkflow

pytestmark = slow

ENDS = {"done", "finished_early", "cancelled", "no_evidence"}
CALLS = 30
"""Model calls over which the commands of a case are distributed."""
HEADINGS = ("Bread", "Cheese", "Bread => Loaves", "Butter", "Wine | What is made of grapes?", "Rye")
GARBAGE: tuple[tuple[str, Any], ...] = (
    ("feedback", [4]),
    ("feedback", "x" * 10_000),
    ("outline", {"heading": 4}),
    ("budget", "all of it"),
    ("answer", None),
)


def word(chance: random.Random, case: int, number: int) -> RunCommand:
    """Generate a random command."""
    (verb,) = chance.choices(COMMAND_NAMES, (40, 14, 8, 2, 2, 10, 8, 8, 8))
    said = f"Mind matter {number} of kitchen {case}." if verb in ("feedback", "answer") else ""
    topic = chance.choice((None, None, "Bread", "Cheese", "Rye")) if verb == "feedback" else None
    lines = chance.sample(HEADINGS, chance.randint(1, 3)) if verb == "outline" else []
    bounds = BudgetBounds(max_calls=chance.randint(5, 90)) if verb == "budget" else BudgetBounds()
    outline = tuple(OutlineTopic.model_validate(line) for line in lines)
    return RunCommand(
        name=verb,
        text=said,
        topic=topic,
        outline=outline,
        budget=bounds,
        discard=chance.random() < 0.3,
    )


@dataclass
class Person:
    """Sender of the commands of one case, each during a certain model call."""

    case: int
    run: WorkflowHandle[Any, Result] | None = None
    calls: int = 0
    accepted: list[str] = field(default_factory=list)
    signalled: list[str] = field(default_factory=list)
    speaking: list[asyncio.Task[None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.case)
        self.words: dict[int, list[RunCommand]] = {}
        for number in range(self.chance.randint(1, 12)):
            said = word(self.chance, self.case, number)
            self.words.setdefault(self.chance.randint(1, CALLS), []).append(said)

    async def called(self) -> None:
        """Send the commands that are due during this call, concurrently.

        A call may be cancelled by one of them; the remaining ones are still sent.
        """
        self.calls += 1
        due = self.words.pop(self.calls, [])
        if due and self.run is not None:
            self.speaking.append(asyncio.create_task(self._speak(due)))
            await asyncio.shield(self.speaking[-1])

    async def _speak(self, due: list[RunCommand]) -> None:
        """Send commands concurrently; a paused run is resumed."""
        await asyncio.gather(*(self._say(said, by_signal=self.chance.random() < 0.5) for said in due))
        if self.chance.random() < 0.3:
            await self._signal(*self.chance.choice(GARBAGE))
        if any(said.name == "pause" for said in due):
            await self._say(RunCommand(name="resume"), by_signal=False)

    async def _say(self, said: RunCommand, *, by_signal: bool) -> None:
        assert self.run is not None
        if by_signal:
            given: dict[str, Any] = {
                "feedback": {"text": said.text, "topic": said.topic},
                "answer": said.text,
                "outline": [topic.model_dump() for topic in said.outline],
                "budget": said.budget.model_dump(exclude_none=True),
                "cancel": {"discard": said.discard},
            }
            if await self._signal(said.name, given.get(said.name)) and said.name == "feedback":
                self.signalled.append(said.text)
            return
        try:
            await self.run.execute_update("steer", said, result_type=str)
        except WorkflowUpdateFailedError as error:
            assert getattr(error.cause, "type", "") == "Refused", error.cause
        except RPCError as error:
            assert error.status == RPCStatusCode.NOT_FOUND, error
        else:
            if said.text:
                self.accepted.append(said.text)

    async def _signal(self, name: str, given: Any) -> bool:
        assert self.run is not None
        try:
            await self.run.signal(name, *([] if given is None else [given]))
        except RPCError as error:
            assert error.status == RPCStatusCode.NOT_FOUND, error
            return False
        return True


@dataclass
class Meddled(ScriptedChat):
    """A model during whose calls people send commands."""

    people: dict[int, Person] = field(default_factory=dict)

    async def complete(self, request: ChatRequest, call: ModelCall) -> Completion:
        named = re.search(r"kitchen (\d+)", request.messages[-1].content)
        if named and int(named[1]) in self.people:
            await self.people[int(named[1])].called()
        return await super().complete(request, call)


def model() -> Meddled:
    """Return a model that plans and asks alternately, is never satisfied, and writes according to its story."""
    question = {"action": "ASK_HUMAN", "query": "Which bread?", "expected_output": "any bread"}

    async def planner(prompt: str) -> Any:
        asked = len(re.findall("Mind matter", prompt))
        return plans(search(f"How long does the dough rise {asked}?"), question)

    async def clarifier(prompt: str) -> Any:
        asks = bool(re.search(r"kitchen \d*[02468]\b", prompt))
        return {"question": "Which kitchen?" if asks else "", "assumption": "any kitchen" if asks else ""}

    return Meddled(story(planner=planner, clarifier=clarifier))


def request(case: int) -> RunRequest:
    chance = random.Random(-case)
    limits = RunLimits(
        min_relevance=0.05,
        max_report_revisions=chance.randint(0, 1),
        max_cycles=chance.randint(1, 3),
        max_history_events=chance.choice((1, 4_000)),
        max_calls=chance.choice((None, None, 40)),
        max_call_output=256,
        approve_plan=chance.random() < 0.4,
        interactive=chance.random() < 0.4,
        answer_seconds=0.3,
    )
    return RunRequest(question=f"How are bread and cheese made in kitchen {case}?", corpora=("kitchen",), limits=limits)


async def end(person: Person, patience: float) -> Result:
    """Wait for a run's end; report the state of a blocked run."""
    assert person.run is not None
    try:
        result = await asyncio.wait_for(person.run.result(), patience)
    except TimeoutError:
        progress = await person.run.query(AgentWorkflow.progress)
        raise AssertionError(f"case {person.case} is stuck: {progress.model_dump_json()}") from None
    await asyncio.gather(*person.speaking)
    return result


def check(person: Person, result: Result) -> None:
    """Assert the guarantees of every run after its commands."""
    heard = [handled.text for handled in result.feedback]
    whole = "\n".join(heard)
    refused = sum("“feedback” was refused" in note for note in result.notes)
    told = json.dumps([person.case, heard, person.accepted, person.signalled, result.notes])
    assert result.status in ENDS, told
    assert all(text in whole for text in person.accepted), told
    assert len(heard) == len(set(heard)), told
    assert sum(text not in whole for text in person.signalled) <= refused, told
    assert all(handled.outcome for handled in result.feedback), told


async def interleaved(serving: Serving, cases: range, patience: float = 100) -> None:
    chat = model()
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        people = [Person(case) for case in cases]
        for person in people:
            chat.people[person.case] = person
            person.run = await stage.start(request(person.case))
        results = await asyncio.gather(*(end(person, patience) for person in people))
    for person, result in zip(people, results, strict=True):
        check(person, result)


async def test_no_command_is_lost_and_no_run_is_stuck(serving: Serving) -> None:
    """Three concurrent runs receive random commands: each delivers its report with all accepted feedback."""
    await interleaved(serving, range(1, 4))


@exhaustive
@pytest.mark.timeout(600)
@pytest.mark.parametrize("batch", range(100))
async def test_no_command_is_lost_in_a_thousand_runs(serving: Serving, batch: int) -> None:
    """The same with a thousand runs, ten of them concurrently."""
    await interleaved(serving, range(10 * batch, 10 * batch + 10), patience=500)
