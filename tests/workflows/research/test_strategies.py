"""Retrieval strategies: which queries each makes, what it returns, and when it stops."""

import asyncio
import uuid
from dataclasses import replace
from typing import Any

import pytest

from tenure.contracts.base import ChunkId, RunId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.evidence.retrieval import PassageStance, RetrievalStrategy
from tenure.contracts.research.spiral import PlanStep, SubagentRequest, SubagentResult
from tenure.contracts.run.budget import BudgetResource
from tenure.contracts.run.run import ControlState, RunLimits
from tests.conftest import Serving, Stage
from tests.support.worlds import KITCHEN, Line, MemoryKnowledge, ScriptedChat, Source, in_turn, says, story
from tests.workflows.test_structured import Tabular
from workflows.research.strategies import list_strategy_names
from workflows.research.strategies.iterative import MAX_ROUNDS
from workflows.research.strategy_registry import STRATEGIES
from workflows.research.subagent import SubagentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

TASK = "How is bread made?"
DONE: dict[str, Any] = {"complete": True, "query": ""}


def build_queries(*queries: str) -> list[dict[str, Any]]:
    """Return answers of the query refiner, one query each."""
    return [{"complete": False, "query": query} for query in queries]


def passage(name: str) -> PassageRef:
    """Return a passage of the kitchen corpus."""
    return PassageRef(chunk=ChunkId(name), source=SourceId(name.split(":")[0]), score=1.0, relevance=0.9)


def build_task(strategy: RetrievalStrategy, **others: Any) -> SubagentRequest:
    return SubagentRequest(
        **{
            "run": RunId("nobody"),
            "question": "How are bread and cheese made?",
            "step": PlanStep(id="s1", query=TASK, topic="Bread"),
            "strategy": strategy,
            "max_hops": 3,
            "corpora": ("kitchen",),
            "limits": RunLimits(min_relevance=0.05),
            **others,
        }
    )


async def run_task(
    serving: Serving, request: SubagentRequest, knowledge: MemoryKnowledge | None = None, **lines: Line
) -> SubagentResult:
    """Run one task."""
    async with serving(ScriptedChat(story(**lines)), knowledge or MemoryKnowledge(KITCHEN)) as stage:
        return await run_task_on(stage, request)


async def run_task_on(stage: Stage, request: SubagentRequest) -> SubagentResult:
    """Run one task; its progress signals stay unread, since no worker serves its run."""
    client, run = stage.client, f"run-{uuid.uuid4().hex[:8]}"
    parent = await client.start_workflow("Unserved", id=run, task_queue=f"{run}-queue")
    handle = await client.start_workflow(
        SubagentWorkflow.run,
        request.model_copy(update={"run": RunId(run)}),
        id=f"{run}/task",
        task_queue=TENURE_QUEUE,
    )
    try:
        return await asyncio.wait_for(handle.result(), 60)
    finally:
        await parent.terminate("its test has ended")


def build_corpus(size: int) -> dict[str, Source]:
    """Return documents of one passage each, all about bread and each about something else."""
    return {
        f"d{n:02}": Source(uri=f"d{n:02}.md", title=f"Bread {n}", text=f"Bread is made with number{n} word{n}.")
        for n in range(size)
    }


def test_every_module_of_the_package_is_a_strategy() -> None:
    """A strategy has the name of its module and a description for the planner."""
    assert tuple(STRATEGIES) == list_strategy_names() and len(STRATEGIES) >= 7
    assert all(strategy.name == name and strategy.description for name, strategy in STRATEGIES.items())


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_every_strategy_returns_the_same_form(serving: Serving, strategy: RetrievalStrategy) -> None:
    """Each passage comes once, with its query and its ranks; the task's query is made once."""
    result = await run_task(
        serving, build_task(strategy), query_refiner=in_turn(*build_queries("What is rye bread?"), DONE)
    )
    chunks = [candidate.passage.chunk for candidate in result.candidates]
    assert len(chunks) == len(set(chunks)) > 0
    assert {candidate.query for candidate in result.candidates} <= {TASK, *result.queries}
    assert all(candidate.topic == "Bread" and candidate.passage.dense_rank for candidate in result.candidates)
    assert TASK not in result.queries


async def test_with_a_model_the_wording_of_a_task_calls_for_no_tool(serving: Serving) -> None:
    """Plans choose the tasks with tools: a search that mentions figures asks no model for a query of tables."""
    step = PlanStep(id="s1", query="How many loaves are sold per day on average?", topic="Bread")
    task = build_task("direct", step=step, limits=RunLimits(min_relevance=0.05, has_model=True))
    chat = ScriptedChat(story())
    async with serving(chat, Tabular(KITCHEN)) as stage:
        result = await run_task_on(stage, task)

    assert (chat.asked, result.steps) == ([], ()) and result.candidates


async def test_a_task_repeats_no_tool_of_the_question(serving: Serving) -> None:
    """The run used the tools for its question before; a task for the same calculation makes no call."""
    step = PlanStep(id="s1", query="How is bread made for 15 % of 2,400 people?", topic="Bread")
    task = build_task("direct", step=step, question="What is 15 % of 2,400?")
    result = await run_task(serving, task)

    assert result.steps == () and result.candidates


async def test_a_direct_task_searches_once(serving: Serving) -> None:
    """No model is called, and no other query is made."""
    knowledge = MemoryKnowledge(KITCHEN)
    result = await run_task(serving, build_task("direct", hypothetical_answer="Dough rises."), knowledge)
    assert [search.query for search in knowledge.searches] == [TASK]
    assert knowledge.searches[0].hypothetical_answer == "Dough rises."
    assert result.queries == ()


async def test_an_iterative_task_ends_when_its_best_passages_stay(serving: Serving) -> None:
    """A query with new passages that leaves the five best unchanged is the last one."""
    knowledge = MemoryKnowledge(build_corpus(40))
    result = await run_task(
        serving, build_task("iterative"), knowledge, query_refiner=in_turn(*build_queries("bread number30"))
    )
    assert result.queries == ("bread number30",)


async def test_an_iterative_task_ends_without_new_passages(serving: Serving) -> None:
    """A round without new passages ends the task, however different its words are."""
    result = await run_task(
        serving, build_task("iterative"), query_refiner=in_turn(*build_queries("bread, flour and rye"))
    )
    assert result.queries == ("bread, flour and rye",)


async def test_an_iterative_task_has_five_rounds(serving: Serving) -> None:
    """A refiner that always rewords and a corpus with ever new passages stop at the limit."""
    knowledge = MemoryKnowledge(build_corpus(90))
    words = [" ".join(f"word{n} number{n}" for n in range(12 * part, 12 * part + 12)) for part in range(1, 8)]
    await run_task(serving, build_task("iterative"), knowledge, query_refiner=in_turn(*build_queries(*words)))
    assert len(knowledge.searches) == MAX_ROUNDS


async def test_hops_follow_what_is_found(serving: Serving) -> None:
    """Each hop makes the query that the refiner derives from the last one, until the evidence is complete."""
    hops = in_turn(*build_queries("How does rye sourdough age?"), DONE)
    knowledge = MemoryKnowledge(build_corpus(30) | KITCHEN)
    result = await run_task(serving, build_task("multi_hop"), knowledge, query_refiner=hops)
    assert result.queries == ("How does rye sourdough age?",)


@pytest.mark.parametrize("hops", [1, 2])
async def test_hops_are_bounded(serving: Serving, hops: int) -> None:
    """A refiner that always wants more makes as many searches as the task may."""
    numbers = iter(range(100))

    async def more(prompt: str) -> dict[str, Any]:
        n = 9 * next(numbers)
        return build_queries(" ".join(f"word{n + k} number{n + k}" for k in range(9)))[0]

    knowledge = MemoryKnowledge(build_corpus(40))
    await run_task(serving, build_task("multi_hop", max_hops=hops), knowledge, query_refiner=more)
    assert len(knowledge.searches) == hops


@pytest.mark.parametrize("strategy", ["iterative", "multi_hop"])
async def test_a_repeated_query_ends_the_search(serving: Serving, strategy: RetrievalStrategy) -> None:
    """A refiner that repeats itself has no other query."""
    result = await run_task(serving, build_task(strategy), query_refiner=in_turn(*build_queries(TASK)))
    assert result.queries == ()


@pytest.mark.parametrize("strategy", ["iterative", "multi_hop", "hierarchical"])
async def test_a_task_without_evidence_stops(serving: Serving, strategy: RetrievalStrategy) -> None:
    """A task whose first search finds nothing makes no second one."""
    knowledge = MemoryKnowledge({})
    result = await run_task(serving, build_task(strategy), knowledge)
    assert (len(knowledge.searches), result.candidates) == (1, ())


@pytest.mark.parametrize("strategy", ["iterative", "multi_hop", "hierarchical", "contrastive"])
async def test_a_finishing_task_makes_no_second_round(serving: Serving, strategy: RetrievalStrategy) -> None:
    """A finishing task returns the passages of the first round."""
    knowledge = MemoryKnowledge(KITCHEN)
    request = build_task(strategy, control=ControlState(finishing=True))
    result = await run_task(serving, request, knowledge, query_refiner=in_turn(*build_queries("What is rye bread?")))
    assert len(knowledge.searches) == 1 and result.candidates


async def test_a_broad_search_is_followed_by_one_for_each_group(serving: Serving) -> None:
    """Every group gets a query of its own, and passages name their group."""

    async def narrow(prompt: str) -> dict[str, Any]:
        return build_queries("When does cheese ripen?" if "rennet" in prompt else "What is rye sourdough?")[0]

    knowledge = MemoryKnowledge({**KITCHEN, **build_corpus(30)})
    result = await run_task(serving, build_task("hierarchical"), knowledge, query_refiner=narrow)
    assert knowledge.searches[0].k > knowledge.searches[1].k
    assert set(result.queries) <= {"When does cheese ripen?", "What is rye sourdough?"} and result.queries


async def test_equal_queries_of_groups_are_made_once(serving: Serving) -> None:
    """A group without a query, or with that of another group, costs no search."""
    knowledge = MemoryKnowledge(KITCHEN)
    await run_task(
        serving, build_task("hierarchical"), knowledge, query_refiner=says(build_queries("What is rye sourdough?")[0])
    )
    nothing = MemoryKnowledge(KITCHEN)
    result = await run_task(serving, build_task("hierarchical"), nothing, query_refiner=says(DONE))
    assert [search.query for search in knowledge.searches] == [TASK, "What is rye sourdough?"]
    assert ([search.query for search in nothing.searches], result.queries) == ([TASK], ())


async def test_a_position_is_searched_from_both_sides(serving: Serving) -> None:
    """Evidence for and against the position is searched, and every passage carries its label."""

    async def sided(prompt: str) -> dict[str, Any]:
        return build_queries("Why is cheese bad?" if "evidence against" in prompt else "Why is cheese good?")[0]

    sides: list[PassageStance] = ["supporting", "contradicting"]
    stances = [{"passage": n, "side": side} for n, side in enumerate(sides, 1)]
    result = await run_task(
        serving,
        build_task("contrastive"),
        query_refiner=sided,
        stance_judge=says({"stances": [*stances, stances[0]][:2]}),
    )
    assert result.queries == ("Why is cheese good?", "Why is cheese bad?")
    (held,) = result.positions
    assert (held.position, held.topic, held.neutral) == (TASK, "Bread", len(result.candidates) - 2)
    for sides_held in (held.supporting, held.contradicting):
        (one,) = sides_held
        assert one.citation.chunk == one.passage.chunk and one.citation.quote


async def test_an_equal_sentence_of_two_versions_is_one_argument(serving: Serving) -> None:
    """Passages with the same quote count once, although both are found."""
    versions = {
        name: Source(uri=f"{name}/bread.md", title="Bread", text="Bread is made of rye.") for name in ("v1", "v2")
    }
    result = await run_task(
        serving,
        build_task("contrastive"),
        MemoryKnowledge(versions),
        query_refiner=in_turn(*build_queries("Why is rye good?", "Why is rye bad?")),
        stance_judge=says({"stances": [{"passage": n, "side": "supporting"} for n in (1, 2)]}),
    )
    (held,) = result.positions

    assert len({candidate.passage.chunk for candidate in result.candidates}) == 2
    assert len(held.supporting) == 1


async def test_the_position_of_the_question_is_searched_from_both_sides(serving: Serving) -> None:
    """The query of a task without a position is searched as it is; both sides are those of the question's position."""
    question = "Does rye make bread better?"
    result = await run_task(
        serving,
        build_task("contrastive", question=question),
        query_refiner=in_turn(*build_queries("Why is rye good?", "Why is rye bad?")),
        stance_judge=says({"stances": [{"passage": 1, "side": "supporting"}]}),
    )
    (held,) = result.positions
    assert held.position == question and {candidate.query for candidate in result.candidates} >= {TASK}


async def test_memory_leads_the_search(serving: Serving) -> None:
    """Findings of the run are left out; remembered queries are made, and remembered passages are added."""
    known, remembered = "bread:0", passage("cheese:52")
    knowledge = replace(
        MemoryKnowledge(KITCHEN),
        ours=(ChunkId(known),),
        remembered=(remembered,),
        helpful=("What is rye sourdough?", TASK, "Which mould needs air?", "a third one"),
    )
    result = await run_task(serving, build_task("memory", limits=RunLimits(min_relevance=0.4)), knowledge)
    chunks = [candidate.passage.chunk for candidate in result.candidates]
    assert result.queries == ("What is rye sourdough?", "Which mould needs air?")
    assert known not in chunks and remembered.chunk in chunks


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_budget_bounds_every_strategy(serving: Serving, strategy: RetrievalStrategy) -> None:
    """Reading on in a source and an exhausted budget leave a task with what it has, without an error."""
    spent: BudgetResource = "searches"
    reading = PlanStep(id="s1", query=TASK, topic="Bread", read_passage=passage("bread:0"))
    control = ControlState(finishing=True, exhausted=spent)
    knowledge = MemoryKnowledge(KITCHEN)
    result = await run_task(serving, build_task(strategy, step=reading, control=control), knowledge)
    assert all(search.sources == ("bread",) and not search.hypothetical_answer for search in knowledge.searches)
    assert result.candidates
