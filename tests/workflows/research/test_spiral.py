"""The research loop with models that plan badly, decide badly, or get feedback meanwhile."""

import asyncio
import json
import re
from itertools import pairwise
from typing import Any

from tenure.contracts.evidence.passages import SearchReply, SearchRequest
from tenure.contracts.result.result import Result
from tenure.contracts.run.run import Feedback, RunLimits, RunRequest
from tenure.knowledge.store.errors import InvalidSearch
from tenure.models.errors import RequestRejected
from tests.conftest import Serving
from tests.report.traces import trace_run
from tests.support.tiers import exhaustive, slow
from tests.support.worlds import (
    FINISH,
    KITCHEN,
    Held,
    Line,
    MemoryKnowledge,
    Reticent,
    ScriptedChat,
    Source,
    in_turn,
    plans,
    says,
    search,
    story,
)
from tests.workflows.run.test_agent import until

QUESTION = "How are bread and cheese made?"
PATIENCE = 100
MORE: dict[str, Any] = {"critique": "The oven is missing.", "missing": ["Bread: open – ovens"]}
"""Judgement of a plan that continues."""
# "call_spans":[[1795739880929,1795739881180]] and "2026-11-27T00:38:00.929+00:00": times of calls and of records.
TIMES = re.compile(rb'"call_spans":\[(?:\[\d+,\d+\],?)*\]|"\d{4}-\d\d-\d\dT[^"]*"')


def build_request(cycles: int = 4, **limits: Any) -> RunRequest:
    bounds = RunLimits(min_relevance=0.05, max_report_revisions=1, effort="complex", max_cycles=cycles)
    return RunRequest(question=QUESTION, corpora=("kitchen",), limits=bounds.model_copy(update=limits))


async def run_research(serving: Serving, chat: ScriptedChat, request: RunRequest | None = None) -> Result:
    """Run a research to its end."""
    async with serving(chat, Reticent(KITCHEN, whole=QUESTION)) as stage:
        run = await stage.start(request or build_request())
        return await asyncio.wait_for(run.result(), PATIENCE)


def script_planner(planner: Line, **lines: Line) -> ScriptedChat:
    """Return a model with a planner."""
    return ScriptedChat(story(planner=planner, **lines))


@slow
async def test_decisions_reach_the_next_plan(serving: Serving) -> None:
    """A decision is in the next planner's prompt and in the report, and a plan to finish is no cycle."""
    second = {**plans(search("How does cheese ripen?", "Cheese")), **MORE}
    planner = in_turn(plans(search("What is flour?")), second, {**FINISH, "critique": "It is enough."})
    chat = ScriptedChat(story(planner=planner))
    result = await run_research(serving, chat)
    last = [prompt for role, prompt in chat.asked if role == "planner"][2]
    assert "The oven is missing. Bread: open – ovens" in last
    assert result.decisions[:2] == (
        "Cycle 1: the research continued. The oven is missing. Bread: open – ovens",
        "Ended after 2 cycles: It is enough.",
    )
    assert len(result.information_gain) == 2


@slow
async def test_a_plan_reads_the_passages_that_the_report_is_written_from(serving: Serving) -> None:
    """With a model, plans and the report are made from one dossier: whole passages that keep their numbers."""
    long = " ".join(f"Flour number {n} is in the bread of shelf {n}." for n in range(40))
    flour = Source(uri="flour.md", title="Flour", text=long)
    planner = in_turn(plans(search("What is flour?")), plans(search("How does cheese ripen?", "Cheese")), FINISH)
    chat = ScriptedChat(story(planner=planner))
    async with serving(chat, MemoryKnowledge({**KITCHEN, "flour": flour})) as stage:
        run = await stage.start(build_request(has_model=True))
        await asyncio.wait_for(run.result(), PATIENCE)

    roles = ("planner", "report_writer", "report_reviewer")
    beginnings = {role: prompt.rpartition("</document>")[0] for role, prompt in chat.asked if role in roles}
    assert tuple(beginnings) == roles and "Flour number 39" in beginnings["planner"]
    assert all(after.startswith(before) for before, after in pairwise(beginnings.values()))


@slow
async def test_a_repeated_query_ends_the_research(serving: Serving) -> None:
    """A query that is proposed again is refused, and the run ends because no other comes."""
    chat = script_planner(says(plans(search("What is bread made of?"))))
    result = await run_research(serving, chat, build_request(9))
    told = "\n".join(prompt for role, prompt in chat.asked if role == "planner")
    assert "“What is bread made of?” was not searched: it was searched before" in told
    assert len(result.information_gain) == 1
    assert "Ended after 1 cycle: the planner sees nothing more to look for." in result.decisions
    assert result.sections


@slow
async def test_a_planner_that_never_finishes_is_stopped(serving: Serving) -> None:
    """A model that always wants more stops at the limit of cycles, or when nothing new comes."""
    numbers = iter(range(1000))

    async def planner(prompt: str) -> dict[str, Any]:
        n = next(numbers)
        return plans(*(search(f"Does dough {n} rise in kitchen {n}-{k}, and why {'x' * k}?") for k in range(9)))

    chat = script_planner(planner)
    result = await run_research(serving, chat, build_request(3))
    assert len(result.information_gain) <= 3
    assert any(line.startswith("Ended after") for line in result.decisions)
    assert result.status == "done"


@slow
async def test_a_dependency_cycle_is_planned_again(serving: Serving) -> None:
    """A dependency cycle is not executed; planner and report name it once."""
    circle = plans(
        search("What is bread made of?", id="a", depends_on=["b"]),
        search("Which mould is in cheese?", id="b", depends_on=["a"]),
    )
    chat = ScriptedChat(story(planner=in_turn(circle, plans(search("Which oven is hot?")), FINISH)))
    result = await run_research(serving, chat)
    told = [prompt for role, prompt in chat.asked if role == "planner"]
    assert "steps that depend on each other were not executed" in told[1]
    assert any("was planned again: its steps depended on each other" in note for note in result.notes)
    assert result.sections


@slow
async def test_dependent_steps_wait(serving: Serving) -> None:
    """A step starts when the steps it depends on have results, whatever the order of the plan."""
    plan = plans(
        search("Which oven does the baker use?", id="second", depends_on=["first"]),
        search("How long does dough rise?", id="first"),
    )
    knowledge = Reticent(KITCHEN)
    chat = ScriptedChat(story(planner=in_turn(plan, FINISH)))
    async with serving(chat, knowledge) as stage:
        await asyncio.wait_for((await stage.start(build_request())).result(), PATIENCE)
    made = [request.query for request in knowledge.searches]
    assert made.index("How long does dough rise?") < made.index("Which oven does the baker use?")


@slow
async def test_a_topic_in_each_cycle_stops_at_the_limit(serving: Serving) -> None:
    """A planner that adds a topic in each cycle fills the outline up to its limit."""
    numbers = iter(range(1000))

    async def planner(prompt: str) -> dict[str, Any]:
        n = next(numbers)
        topic = f"Topic number{n} kitchen{n}"
        return plans(
            {"action": "ADD_TO_OUTLINE", "query": f"What is number{n}?", "target_outline_topic": topic},
            search(f"What is bread number{n} of kitchen{n}?", topic),
        )

    result = await run_research(serving, script_planner(planner), build_request(8, max_sections=4))
    assert 2 < len(result.coverage) <= 4


@slow
async def test_topics_of_any_length_are_cut(serving: Serving) -> None:
    """A heading of ten thousand characters is cut to one that fits a report."""
    long = "bread " * 2000
    add = {"action": "ADD_TO_OUTLINE", "query": long, "target_outline_topic": long}
    chat = script_planner(in_turn(plans(add, search(long, long)), FINISH))
    result = await run_research(serving, chat)
    assert all(len(section.topic) <= 160 for section in result.sections)
    assert result.status == "done"


@slow
async def test_an_empty_plan_ends_the_research(serving: Serving) -> None:
    """A planner that proposes nothing twice ends the research; the sections are still written."""
    result = await run_research(serving, script_planner(says(plans())), build_request(6))
    assert any("it has no valid step" in note for note in result.notes)
    assert [section.topic for section in result.sections] == ["Bread", "Cheese"]
    assert (result.information_gain, result.decisions[0]) == (
        (),
        "Ended after 0 cycles: the planner sees nothing more to look for.",
    )


@slow
async def test_failing_subagents_fail_only_their_tasks(serving: Serving) -> None:
    """If every task fails, the cycle is planned again, and the report is written and names the failures."""

    async def refused(prompt: str) -> dict[str, Any]:
        raise RequestRejected("the refiner is out of order")

    plan = plans(
        search("Which of the many kinds of bread does the baker of the village like best?"),
        search("Why does the cheese of the cellar ripen for weeks or even for years?", "Cheese"),
    )
    result = await run_research(
        serving, script_planner(in_turn(plan, plans()), query_refiner=refused), build_request(3)
    )
    assert sum("failed: the refiner is out of order" in note for note in result.notes) == 2
    assert any("2 of its steps failed" in note for note in result.notes)
    assert result.sections


class Refusing(MemoryKnowledge):
    """A knowledge base that refuses all searches for rye."""

    def search(self, request: SearchRequest) -> SearchReply:
        """Fail permanently, or search."""
        if "rye" in request.query:
            raise InvalidSearch("rye is refused")
        return super().search(request)


@slow
async def test_a_failed_search_is_in_the_trace(serving: Serving) -> None:
    """A task of one search that fails is a failed task of its plan, with the reason."""
    plan = plans(search("Which of the many kinds of rye is in the bread?"))
    chat = script_planner(in_turn(plan, plans()))
    async with serving(chat, Refusing(KITCHEN)) as stage:
        run = await stage.start(build_request(2, strategy="direct"))
        await asyncio.wait_for(run.result(), PATIENCE)
        traced = await trace_run(stage.client, run.id)

    [failed] = [task for cycle in traced.cycles for one in cycle.plans for task in one.tasks if task.status == "failed"]
    assert failed.queries[0].query == "Which of the many kinds of rye is in the bread?"
    assert failed.note == "rye is refused"


@slow
async def test_feedback_changes_the_next_plan_and_is_accounted_for(serving: Serving) -> None:
    """Feedback during a cycle is in the next planner's prompt, and the report lists the queries made for it."""
    held = Held(plans(search("What is bread made of?")))
    calls = 0

    async def planner(prompt: str) -> dict[str, Any]:
        nonlocal calls
        calls += 1
        if calls == 1:
            await held(prompt)
            return plans(search("What is bread made of?"))
        return plans(search("Which sourdough is in rye bread?")) if "Say more on rye" in prompt else FINISH

    chat = ScriptedChat(story(planner=planner))
    async with serving(chat, Reticent(KITCHEN)) as stage:
        run = await stage.start(build_request())
        await held.reached.wait()
        await run.signal("feedback", Feedback(text="Say more on rye bread"))
        await until(run, lambda progress: progress.feedback)
        held.released.set()
        result = await asyncio.wait_for(run.result(), PATIENCE)
    assert result.feedback[0].outcome.startswith("The research searched for “Which sourdough is in rye bread?”.")


@slow
async def test_continue_as_new_keeps_the_research_state(serving: Serving) -> None:
    """A loop that continues as new keeps its outline, its gains and its usage."""
    numbers = iter(range(1000))

    async def planner(prompt: str) -> dict[str, Any]:
        n = next(numbers)
        return plans(search(f"{list(KITCHEN.values())[n % 2].text.split()[n]} {n} of number{n}?"))

    chat = ScriptedChat(story(planner=planner))
    result = await run_research(serving, chat, build_request(6, max_history_events=20))
    assert result.usage.model_calls == len(chat.asked)
    assert len(result.information_gain) >= 2
    asked_again = [json.dumps(prompt) for role, prompt in chat.asked if role == "planner"]
    assert len(asked_again) == len(set(asked_again))


@exhaustive
async def test_the_same_answers_give_identical_states(serving: Serving) -> None:
    """Two runs with one script carry the same state, but for times, into each history and end with the same result."""

    async def carried() -> list[bytes]:
        planner = in_turn(
            plans(search("What is flour?"), search("How long does dough rise?"), search("Which milk?", "Cheese")),
            plans(search("How does cheese ripen?", "Cheese"), search("Which sourdough is in rye bread?")),
            FINISH,
        )
        chat = ScriptedChat(story(planner=planner))
        async with serving(chat, Reticent(KITCHEN, whole=QUESTION)) as stage:
            run = await stage.start(build_request(max_history_events=10))
            await asyncio.wait_for(run.result(), PATIENCE)
            histories = [
                (await stage.client.get_workflow_handle(e.id, run_id=e.run_id).fetch_history()).events
                async for e in stage.client.list_workflows(f'WorkflowId = "{run.id}/spiral"')
            ]
        histories.sort(key=lambda events: events[0].event_time.ToNanoseconds())
        begun = [events[0].workflow_execution_started_event_attributes.input for events in histories]
        ended = histories[-1][-1].workflow_execution_completed_event_attributes.result
        return [
            TIMES.sub(b"", payload.data.replace(run.id.encode(), b"run"))
            for payloads in (*begun, ended)
            for payload in payloads.payloads
        ]

    first = await carried()
    assert len(first) > 2
    assert await carried() == first
