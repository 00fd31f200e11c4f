"""Search modes of a run: the choice of a user, of a plan, of a tool, and the default."""

from collections import Counter
from typing import Any

from tenure.contracts.evidence.passages import DEFAULT_SEARCH_MODE
from tenure.contracts.research.spiral import PlanStep
from tenure.contracts.run.run import RunLimits, RunRequest
from tests.conftest import Serving
from tests.support.tiers import slow
from tests.support.worlds import KITCHEN, MemoryKnowledge, ScriptedChat, in_turn, story
from tests.workflows.research.test_strategies import TASK, build_task, run_task

STEP = PlanStep(id="s1", query=TASK, topic="Bread", search_mode="sparse")


async def test_a_task_searches_as_its_plan_chooses(serving: Serving) -> None:
    """The search mode of a step is that of all searches of its task."""
    knowledge = MemoryKnowledge(KITCHEN)
    await run_task(serving, build_task("direct", step=STEP), knowledge)

    assert {search.mode for search in knowledge.searches} == {"sparse"}


async def test_the_choice_of_a_user_replaces_that_of_the_plan(serving: Serving) -> None:
    """A search mode of the run applies to every search of a task."""
    knowledge = MemoryKnowledge(KITCHEN)
    limits = RunLimits(min_relevance=0.05, search_mode="dense")
    await run_task(serving, build_task("direct", step=STEP, limits=limits), knowledge)

    assert {search.mode for search in knowledge.searches} == {"dense"}


async def test_a_tool_for_one_mode_keeps_it(serving: Serving) -> None:
    """The tool for vectors searches by them; the general search has the mode of the run."""
    actions: list[dict[str, Any]] = [
        {"action": tool, "arguments": arguments}
        for tool, arguments in (
            ("vector_search", '{"query": "What rises?"}'),
            ("hybrid_search", '{"query": "What ferments?"}'),
        )
    ]
    steps = [{"thought": "t", "answer": "", "confidence": 0.1, **action} for action in actions]
    final = {"thought": "t", "action": "finish", "arguments": "{}", "answer": "It rises [1].", "confidence": 0.9}
    knowledge = MemoryKnowledge(KITCHEN)
    task = build_task("react", limits=RunLimits(min_relevance=0.05, search_mode="sparse"))
    await run_task(serving, task, knowledge, react=in_turn(*steps, final))

    assert [search.mode for search in knowledge.searches] == ["dense", "sparse"]


def asked(**limits: Any) -> RunRequest:
    """Return a request about the kitchen."""
    bounds = RunLimits(min_relevance=0.0, max_report_revisions=1, **limits)
    return RunRequest(question="How are bread and cheese made?", corpora=("kitchen",), limits=bounds)


@slow
async def test_every_search_of_a_run_has_its_mode(serving: Serving) -> None:
    """The search mode of a run applies to the question, the outline, the tasks and the report; without, the default.

    Both runs make the same searches.
    """
    modes: list[Counter[str]] = []
    for limits in ({}, {"search_mode": "rrf"}):
        knowledge = MemoryKnowledge(KITCHEN)
        async with serving(ScriptedChat(story()), knowledge) as stage:
            await (await stage.start(asked(**limits))).result()
        modes.append(Counter(search.mode for search in knowledge.searches))

    assert modes == [Counter({DEFAULT_SEARCH_MODE: modes[0].total()}), Counter({"rrf": modes[0].total()})]
    assert modes[0].total() > 3


@slow
async def test_the_plan_of_a_model_chooses_for_its_search_alone(serving: Serving) -> None:
    """A planner that names a search mode changes the searches of that task; the trace names the mode."""
    plan = {
        "critique": "c",
        "thought": "t",
        "plan": [
            {
                "id": "s1",
                "action": "SEARCH",
                "query": "Which flour suits rye bread?",
                "target_outline_topic": "Bread",
                "passage": 0,
                "depends_on": [],
                "expected_output": "flour",
                "search_mode": "sparse",
            }
        ],
    }
    knowledge = MemoryKnowledge(KITCHEN)
    async with serving(ScriptedChat(story(planner=in_turn(plan))), knowledge) as stage:
        await (await stage.start(asked(max_cycles=1))).result()

    modes = {search.query: search.mode for search in knowledge.searches}
    assert modes.pop("Which flour suits rye bread?") == "sparse"
    assert set(modes.values()) == {DEFAULT_SEARCH_MODE}
