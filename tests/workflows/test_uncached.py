"""Runs whose workflows are never cached: each workflow task replays the whole history first."""

import pytest

from tenure.contracts.run.run import Feedback
from tests.conftest import Serving
from tests.support.sandboxes import ScriptedSandbox
from tests.support.tiers import slow
from tests.support.worlds import (
    FINISH,
    KITCHEN,
    Held,
    MemoryKnowledge,
    ScriptedChat,
    build_report,
    in_turn,
    plans,
    search,
    story,
)
from tests.workflows.coding.test_coding import TASK, code, script
from tests.workflows.run.test_agent import REQUEST
from workflows.run.agent import AgentWorkflow


@pytest.fixture
def cached_workflows() -> int:
    """Cache no workflow."""
    return 0


async def test_a_program_is_written_without_a_cache(serving: Serving) -> None:
    """A program that fails at first is reflected on and repaired."""
    chat, box = script(coder=in_turn(code("wrong"), code("right"))), ScriptedSandbox()
    async with serving(chat, MemoryKnowledge({}), box) as stage:
        result = await (await stage.start(TASK)).result()

    assert (result.status, [attempt.error for attempt in result.attempts]) == ("done", ["test_right: no right", None])


@slow
async def test_a_report_is_written_without_a_cache(serving: Serving) -> None:
    """Research, commands, budgets and continue-as-new work as with a cache; every call is made once."""
    held = Held(build_report({"Bread": "All about it [1]."}))
    planner = in_turn(plans(search("How long does the dough rise?", strategy="react")), FINISH)
    chat = ScriptedChat(story(planner=planner, report_writer=held))
    limits = {"max_history_events": 20, "max_calls": 80, "max_call_output": 256}
    request = REQUEST.model_copy(update={"limits": REQUEST.limits.model_copy(update=limits)})
    async with serving(chat, MemoryKnowledge(KITCHEN)) as stage:
        handle = await stage.start(request)
        await held.reached.wait()
        for signal in ("pause", "resume"):
            await handle.signal(signal)
        await handle.signal(AgentWorkflow.feedback, Feedback(text="More on mould", topic="Cheese"))
        held.released.set()
        result = await handle.result()

    assert result.status == "done" and result.sections
    assert [said.text for said in result.feedback] == ["More on mould"]
    assert result.usage.model_calls == len(chat.asked)
