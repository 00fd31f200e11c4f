"""Each command in each phase of a run: applied or refused, twice concurrently, malformed, and after the end."""

import asyncio
from itertools import product
from typing import Any, Final

import pytest
from temporalio.client import WorkflowHandle, WorkflowUpdateFailedError
from temporalio.service import RPCError, RPCStatusCode

from tenure.contracts.run.control import (
    COMMAND_NAMES,
    BudgetBounds,
    CommandName,
    OutlineTopic,
    RunCommand,
)
from tenure.contracts.run.run import RunPhase
from tests.conftest import Serving
from tests.support.tiers import exhaustive, slow
from tests.support.waiting import wait_until
from tests.support.worlds import (
    FINISH,
    KITCHEN,
    Held,
    MemoryKnowledge,
    Reply,
    ScriptedChat,
    all_hold,
    build_report,
    says,
    story,
)
from tests.workflows.run.test_agent import REQUEST, until
from workflows.run.agent import AgentWorkflow

pytestmark = slow

Handle = WorkflowHandle[Any, Any]

MEGABYTE: Final = "x" * 2**20
TOPICS: Final = tuple(OutlineTopic(heading=name) for name in ("Bread", "Cheese"))
WORDS: Final = {verb: RunCommand(name=verb) for verb in COMMAND_NAMES} | {
    "feedback": RunCommand(name="feedback", text="More on rye"),
    "outline": RunCommand(name="outline", outline=TOPICS),
    "budget": RunCommand(name="budget", budget=BudgetBounds(max_calls=500)),
    "answer": RunCommand(name="answer", text="Rye."),
}
HARMLESS: Final[tuple[CommandName, ...]] = (
    *("feedback", "outline", "budget", "approve", "answer"),
    *("pause", "feedback", "budget", "resume"),
)
"""Commands that do not end a run; some are sent while it is paused as well."""
ENDS: Final = {
    "finish": (RunCommand(name="finish"), "finished_early"),
    "cancel": (RunCommand(name="cancel"), "cancelled"),
    "discard": (RunCommand(name="cancel", discard=True), "cancelled"),
}
ROUTE: Final = {"mode": "RESEARCH", "complexity": "moderate", "query_type": "factual", "reason": "asked so"}
OUTLINE: Final = {"topics": [{"heading": name, "question": f"How is {name} made?"} for name in ("Bread", "Cheese")]}
PHASES: Final[dict[RunPhase, tuple[str, Reply]]] = {
    "route": ("router", ROUTE),
    "outline": ("outliner", OUTLINE),
    "research": ("planner", FINISH),
    "write": ("report_writer", build_report({"Bread": "All about it [1]."})),
    "reflect": ("report_reviewer", "DONE"),
}
"""The role that is asked in each phase, and its delayed reply."""
BRIEFLY: Final[tuple[RunPhase, ...]] = ("route",)
"""Phases that are always tested; runs with active children are tested in `test_interleavings`."""

GARBAGE: Final[tuple[Any, ...]] = (4, [], "\x00\ud7ff", {"text": None}, [{"renamed_from": 4}])
LARGE: Final[tuple[tuple[CommandName, Any], ...]] = (
    ("feedback", {"text": MEGABYTE}),
    ("outline", [MEGABYTE]),
    ("budget", {"max_calls": MEGABYTE}),
    ("answer", MEGABYTE),
    ("cancel", {"discard": MEGABYTE}),
)
BOUNDS: Final = ({"max_calls": 10**40}, {"max_seconds": 1e300}, {"max_tokens": -1}, {"max_cost_usd": 1e-320})
ENDING: Final = {"finish", "pause", "resume"}
"""Commands whose signals need no argument, so that no argument is wrong; they are tested separately."""


async def told(run: Handle, said: Any) -> bool | None:
    """Send a command and return whether it is applied, None if the run has ended; a refusal is one short line."""
    try:
        answer = await run.execute_update("steer", said, result_type=str)
    except WorkflowUpdateFailedError as error:
        why = str(error.cause)
        assert why.startswith("Refused: ") and "\n" not in why and len(why) < 400, why
        return False
    except RPCError as error:
        assert error.status == RPCStatusCode.NOT_FOUND, error
        return None
    assert answer.endswith(".")
    return True


async def twice(run: Handle, *words: RunCommand) -> list[bool | None]:
    """Send each command twice concurrently, and return the applied ones; both copies get the same reply."""
    answers = [await asyncio.gather(told(run, said), told(run, said)) for said in words]
    assert all(first == second for first, second in answers)
    return [first for first, _ in answers]


async def ended(run: Handle, said: RunCommand) -> bool:
    """Send a command that ends the run twice concurrently, and return whether it is applied."""
    return True in await asyncio.gather(told(run, said), told(run, said))


async def nonsense(run: Handle, *, large: bool) -> None:
    """Send malformed signals concurrently; none of them is a command."""
    wrong = [(verb, given) for verb, given in product(COMMAND_NAMES, GARBAGE) if verb not in ENDING]
    wrong = [(verb, given) for verb, given in wrong if given or verb != "cancel"]  # that one is a cancel without more
    await asyncio.gather(
        *(run.signal(verb, given) for verb, given in (*wrong, *(LARGE if large else ()))),
        *(run.signal("budget", given) for given in BOUNDS),
        run.signal("resume", args=["now", 4]),
    )
    for update in ({"name": "explode"}, {"name": "budget", "budget": {"max_calls": "many"}}, 4):
        with pytest.raises(WorkflowUpdateFailedError):
            await run.execute_update("steer", update)
    assert not await told(run, RunCommand(name="feedback", text="More", topic=MEGABYTE))
    assert not await told(run, RunCommand(name="outline", outline=(OutlineTopic(heading=MEGABYTE),)))
    assert not await told(run, RunCommand(name="answer", text=MEGABYTE))


@pytest.mark.parametrize(
    "phase", [*BRIEFLY, *(pytest.param(phase, marks=exhaustive) for phase in PHASES if phase not in BRIEFLY)]
)
async def test_each_command_in_each_phase(serving: Serving, phase: RunPhase) -> None:
    """A run applies the commands that fit its phase, also while it is paused, and refuses the others."""
    role, reply = PHASES[phase]
    held = Held(reply)
    chat = ScriptedChat(story(**{role: held}))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        led, *others = [await stage.start(REQUEST) for _ in ("led", *ENDS)]
        await wait_until("a call of each run", lambda: chat.count(role), lambda count: count >= len((led, *others)))
        open_to = await twice(led, *(WORDS[verb] for verb in HARMLESS))
        await nonsense(led, large=phase == "route")
        noted = await led.query(AgentWorkflow.progress)
        stopped = [await ended(run, said) for run, (said, _) in zip(others, ENDS.values(), strict=True)]
        finishing = await twice(led, WORDS["finish"], WORDS["outline"], WORDS["feedback"], WORDS["budget"])
        stopped.append(await ended(led, WORDS["cancel"]))
        held.released.set()
        results = [await run.result() for run in others]
        last = await led.result()

    assert open_to == [True, True, True, False, False, True, True, True, True]
    assert (noted.status, len(noted.feedback)) == ("running", 1)
    assert len(noted.refused_signals) > 5 and all(len(line) < 400 for line in noted.refused_signals)
    assert (stopped, finishing) == ([True] * 4, [True, False, True, True])
    assert [result.status for result in (*results, last)] == [*(status for _, status in ENDS.values()), "cancelled"]
    assert results[-1].sections == ()


async def test_each_command_is_refused_at_the_end(serving: Serving) -> None:
    """While the report is assembled and after the end no command is applied."""
    held = Held("")

    async def check(prompt: str) -> Reply:
        await held(prompt)
        return await all_hold(prompt)

    request = REQUEST.model_copy(update={"limits": REQUEST.limits.model_copy(update={"has_model": False})})
    async with serving(ScriptedChat(story(claim_checker=check)), MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(request)
        await until(run, lambda progress: progress.phase == "compose")
        closed = await twice(run, *WORDS.values())
        await nonsense(run, large=False)
        held.released.set()
        result = await run.result()
        late = await asyncio.gather(
            *(run.execute_update("steer", said) for said in WORDS.values()),
            *(run.signal(verb) for verb in COMMAND_NAMES),
            return_exceptions=True,
        )

    assert closed == [False] * len(COMMAND_NAMES)
    assert (result.status, result.feedback) == ("done", ())
    assert {error.status for error in late if isinstance(error, RPCError)} == {RPCStatusCode.NOT_FOUND}
    assert all(isinstance(error, RPCError) for error in late)


@pytest.mark.parametrize(
    ("asks", "right", "wrong"),
    [({"approve_plan": True}, "approve", "answer"), ({"interactive": True}, "answer", "approve")],
)
async def test_waiting_run_is_released_once(
    serving: Serving, asks: dict[str, bool], right: CommandName, wrong: CommandName
) -> None:
    """A plan is approved and a question answered, not the reverse; of two concurrent commands one is applied."""
    chat = ScriptedChat(story(clarifier=says({"question": "Which bread?", "assumption": "any"})))
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        run = await stage.start(REQUEST.model_copy(update={"limits": REQUEST.limits.model_copy(update=asks)}))
        await until(run, lambda progress: progress.input_request)
        refused = await twice(run, WORDS[wrong])
        held = await twice(run, WORDS["pause"], WORDS["feedback"], WORDS["budget"])
        answers = await asyncio.gather(told(run, WORDS[right]), told(run, WORDS[right]))
        await told(run, WORDS["resume"])
        result = await run.result()

    assert (refused, held) == ([False], [True, True, True])
    assert set(answers) == {False, True}
    assert result.status == "done"
