"""Test what a run records of itself, read while it runs and at its end."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tenure.contracts.run.run import RunLimits, RunRequest
from tenure.report.trace.markdown import render_trace
from tenure.roles.research import planner
from tests.conftest import Serving
from tests.report.traces import trace_run
from tests.support.tiers import slow
from tests.support.worlds import FINISH, KITCHEN, Held, Reply, Reticent, ScriptedChat, plans, search, story
from tests.workflows.run.test_agent import until

QUESTION = "How are bread and cheese made?"
LIMITS = RunLimits(min_relevance=0.05, max_report_revisions=2, effort="complex", max_cycles=4)
REQUEST = RunRequest(question=QUESTION, corpora=("kitchen",), limits=LIMITS)
DOUGH, MILK = "How long does the dough rise?", "Which milk curdles?"
MORE: dict[str, Any] = {"critique": "Mould is missing.", "missing": ["Cheese: open – mould"]}
PATIENCE = 100


async def test_a_running_run_tells_what_it_has_done(serving: Serving) -> None:
    """The story has finished cycles before the run ends, and more at its end; both have no open ends."""
    held = Held({**FINISH, "critique": "It is enough."})
    first, second = plans(search(DOUGH, "Bread"), search(DOUGH, "Bread")), {**plans(search(MILK, "Cheese")), **MORE}
    turns = [first, second]

    async def plan(prompt: str) -> Reply:
        return turns.pop(0) if turns else await held(prompt)

    async with serving(ScriptedChat(story(planner=plan)), Reticent(KITCHEN, whole=QUESTION)) as stage:
        run = await stage.start(REQUEST)
        await run.signal("pause")
        await run.signal("resume")
        await held.reached.wait()
        await until(run, lambda progress: progress.cycle == 3)
        running = await trace_run(stage.client, run.id)
        held.released.set()
        result = await asyncio.wait_for(run.result(), PATIENCE)
        ended = await trace_run(stage.client, run.id)

    for trace in (running, ended):
        one, two = trace.cycles
        assert [action.query for action in one.plans[0].actions] == [DOUGH, DOUGH]
        assert [task.queries[0].query for task in one.plans[0].tasks] == [DOUGH]
        assert one.decision and (one.decision.continues, one.decision.reasoning) == (True, "Mould is missing.")
        assert one.gain and one.coverage and set(two.coverage) == set(one.coverage)
        queries = [query for cycle in (one, two) for task in cycle.plans[0].tasks for query in task.queries]
        assert all(one.found == one.accepted + one.irrelevant + one.known + one.elsewhere for one in queries)
        assert [command.signal for command in trace.commands] == ["pause", "resume"]
        assert trace.outline and trace.effort and trace.complexity
    assert (running.status, running.ended_at, running.sections, running.cycles[1].decision) == ("running", "", (), None)
    assert ended.cycles[1].decision and not ended.cycles[1].decision.continues
    assert {section.topic for section in ended.sections} == {section.topic for section in result.sections}
    assert ended.decisions == result.decisions
    assert sum(call.tokens for call in ended.calls) == result.usage.tokens_in + result.usage.tokens_out
    assert sum(call.model_calls for call in ended.calls) == result.usage.model_calls
    assert {call.part for call in ended.calls} == {"run", "report", "research"}


@slow
async def test_a_renamed_role_changes_only_its_name(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trace reads no name of a role: that of the planner may be any other."""
    monkeypatch.setattr(planner, "ROLE", replace(planner.ROLE, name="strategist"))
    async with serving(None, Reticent(KITCHEN, whole=QUESTION)) as stage:
        run = await stage.start(REQUEST)
        await asyncio.wait_for(run.result(), PATIENCE)
        trace = await trace_run(stage.client, run.id)

    assert trace.cycles[0].plans[0].actions and trace.cycles[0].plans[0].tasks
    assert "**Plan**" in render_trace(trace) and "strategist" in {call.name for call in trace.calls}
