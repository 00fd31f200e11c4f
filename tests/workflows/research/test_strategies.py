"""The strategies of a task: what each asks, what it brings back, and when it stops."""

import asyncio
import uuid
from dataclasses import replace
from typing import Any

import pytest

from tenure.contracts.base import ChunkId, RunId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.evidence.retrieval import Side, Strategy
from tenure.contracts.research.spiral import Step, SubagentRequest, SubagentResult
from tenure.contracts.run.budget import Resource
from tenure.contracts.run.run import Limits, Stance
from tests.conftest import Serving, Stage
from tests.worlds import KITCHEN, Line, MemoryKnowledge, ScriptedChat, Source, in_turn, says, story
from workflows.research.strategies import ROUNDS, STRATEGIES
from workflows.research.subagent import SubagentWorkflow
from workflows.runtime.task_queues import TENURE_QUEUE

pytestmark = pytest.mark.timeout(120)

TASK = "How is bread made?"
DONE: dict[str, Any] = {"complete": True, "query": ""}


def asks(*queries: str) -> list[dict[str, Any]]:
    """Answers of the refiner, one query each."""
    return [{"complete": False, "query": query} for query in queries]


def passage(name: str) -> PassageRef:
    """A passage of the kitchen."""
    return PassageRef(chunk=ChunkId(name), source=SourceId(name.split(":")[0]), score=1.0, relevance=0.9)


def task(strategy: Strategy, **others: Any) -> SubagentRequest:
    return SubagentRequest(
        **{
            "run": RunId("nobody"),
            "question": "How are bread and cheese made?",
            "step": Step(id="s1", query=TASK, topic="Bread"),
            "strategy": strategy,
            "hops": 3,
            "corpora": ("kitchen",),
            "limits": Limits(min_relevance=0.05),
            **others,
        }
    )


async def searched(
    serving: Serving, request: SubagentRequest, knowledge: MemoryKnowledge | None = None, **lines: Line
) -> SubagentResult:
    """Carry a task out by itself."""
    async with serving(ScriptedChat(story(**lines)), knowledge or MemoryKnowledge(KITCHEN)) as stage:
        return await carried_out(stage, request)


async def carried_out(stage: Stage, request: SubagentRequest) -> SubagentResult:
    """Carry a task out; what it tells its run stays unread, since no worker serves that one."""
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


def crowd(size: int) -> dict[str, Source]:
    """Documents of one passage each, all about bread and each about something else besides."""
    return {
        f"d{n:02}": Source(uri=f"d{n:02}.md", title=f"Bread {n}", text=f"Bread is made with number{n} word{n}.")
        for n in range(size)
    }


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_every_strategy_brings_back_the_same(serving: Serving, strategy: Strategy) -> None:
    """Each passage comes once, with its query, its ranks and a fused score, best first, the task's query made once."""
    result = await searched(serving, task(strategy), query_refiner=in_turn(*asks("What is rye bread?"), DONE))
    chunks = [candidate.passage.chunk for candidate in result.candidates]
    assert len(chunks) == len(set(chunks)) > 0
    assert {candidate.query for candidate in result.candidates} <= {TASK, *result.queries}
    assert all(candidate.topic == "Bread" and candidate.passage.dense_rank for candidate in result.candidates)
    scores = [candidate.score for candidate in result.candidates]
    assert scores == sorted(scores, reverse=True) and scores[-1] > 0
    assert TASK not in result.queries


async def test_a_direct_task_searches_once(serving: Serving) -> None:
    """No model is asked, and no other query is made."""
    knowledge = MemoryKnowledge(KITCHEN)
    result = await searched(serving, task("direct", hypothetical="Dough rises."), knowledge)
    assert [search.query for search in knowledge.searches] == [TASK]
    assert knowledge.searches[0].hypothetical == "Dough rises."
    assert (result.queries, result.ending) == ((), "complete")


async def test_an_iterative_task_ends_when_its_best_passages_stay(serving: Serving) -> None:
    """A query that brings something new without changing the five best passages is the last one."""
    knowledge = MemoryKnowledge(crowd(40))
    result = await searched(serving, task("iterative"), knowledge, query_refiner=in_turn(*asks("bread number30")))
    assert (result.queries, result.ending) == (("bread number30",), "converged")
    assert {candidate.round for candidate in result.candidates} == {1, 2}


async def test_an_iterative_task_ends_where_nothing_new_comes(serving: Serving) -> None:
    """A round that only brings what is there ends it, however different its words are."""
    result = await searched(serving, task("iterative"), query_refiner=in_turn(*asks("bread, flour and rye")))
    assert (result.queries, result.ending) == (("bread, flour and rye",), "nothing_new")


async def test_an_iterative_task_has_five_rounds(serving: Serving) -> None:
    """A refiner that always finds other words, and a corpus with ever other passages, are bounded."""
    knowledge = MemoryKnowledge(crowd(90))
    words = [" ".join(f"word{n} number{n}" for n in range(12 * part, 12 * part + 12)) for part in range(1, 8)]
    result = await searched(serving, task("iterative"), knowledge, query_refiner=in_turn(*asks(*words)))
    assert len(knowledge.searches) == ROUNDS or result.ending == "converged"
    assert result.ending in ("bound", "converged")


async def test_hops_follow_what_is_found(serving: Serving) -> None:
    """Each hop asks what the refiner makes of the one before, until it says that the evidence is complete."""
    hops = in_turn(*asks("How does rye sourdough age?"), DONE)
    knowledge = MemoryKnowledge(crowd(30) | KITCHEN)
    result = await searched(serving, task("multi_hop"), knowledge, query_refiner=hops)
    assert result.queries == ("How does rye sourdough age?",)
    assert result.ending == "complete"
    assert {candidate.round for candidate in result.candidates} == {1, 2}


@pytest.mark.parametrize("hops", [1, 2])
async def test_hops_are_bounded(serving: Serving, hops: int) -> None:
    """A refiner that never has enough makes as many searches as the task may have."""
    numbers = iter(range(100))

    async def more(prompt: str) -> dict[str, Any]:
        n = 9 * next(numbers)
        return asks(" ".join(f"word{n + k} number{n + k}" for k in range(9)))[0]

    knowledge = MemoryKnowledge(crowd(40))
    result = await searched(serving, task("multi_hop", hops=hops), knowledge, query_refiner=more)
    assert len(knowledge.searches) == hops
    assert result.ending == "bound"


@pytest.mark.parametrize("strategy", ["iterative", "multi_hop"])
async def test_a_query_that_was_made_ends_the_search(serving: Serving, strategy: Strategy) -> None:
    """A refiner that repeats itself is taken to have no other query."""
    result = await searched(serving, task(strategy), query_refiner=in_turn(*asks(TASK)))
    assert (result.queries, result.ending) == ((), "complete")


@pytest.mark.parametrize("strategy", ["iterative", "multi_hop", "hierarchical"])
async def test_where_nothing_is_found_nothing_more_is_asked(serving: Serving, strategy: Strategy) -> None:
    """A task without evidence ends after its first search."""
    knowledge = MemoryKnowledge({})
    result = await searched(serving, task(strategy), knowledge)
    assert (len(knowledge.searches), result.candidates, result.ending) == (1, (), "nothing_new")


@pytest.mark.parametrize("strategy", ["iterative", "multi_hop", "hierarchical", "contrastive"])
async def test_who_finishes_gets_what_there_is(serving: Serving, strategy: Strategy) -> None:
    """A task that is told to finish makes no second round and returns what the first has found."""
    knowledge = MemoryKnowledge(KITCHEN)
    request = task(strategy, stance=Stance(finishing=True))
    result = await searched(serving, request, knowledge, query_refiner=in_turn(*asks("What is rye bread?")))
    assert (len(knowledge.searches), result.ending) == (1, "stopped")
    assert result.candidates


async def test_a_broad_search_is_followed_into_its_groups(serving: Serving) -> None:
    """Every group gets a query of its own, and what it finds says which group it was."""

    async def narrow(prompt: str) -> dict[str, Any]:
        return asks("When does cheese ripen?" if "rennet" in prompt else "What is rye sourdough?")[0]

    knowledge = MemoryKnowledge({**KITCHEN, **crowd(30)})
    result = await searched(serving, task("hierarchical"), knowledge, query_refiner=narrow)
    assert knowledge.searches[0].k > knowledge.searches[1].k
    assert set(result.queries) <= {"When does cheese ripen?", "What is rye sourdough?"} and result.queries
    assert {candidate.cluster for candidate in result.candidates if candidate.round == 2} <= {1, 2, 3}


async def test_groups_of_one_query_are_asked_once(serving: Serving) -> None:
    """Where the refiner has nothing for a group, or the same for two, no search is wasted."""
    knowledge = MemoryKnowledge(KITCHEN)
    await searched(serving, task("hierarchical"), knowledge, query_refiner=says(asks("What is rye sourdough?")[0]))
    nothing = MemoryKnowledge(KITCHEN)
    result = await searched(serving, task("hierarchical"), nothing, query_refiner=says(DONE))
    assert [search.query for search in knowledge.searches] == [TASK, "What is rye sourdough?"]
    assert ([search.query for search in nothing.searches], result.ending) == ([TASK], "complete")


async def test_a_position_is_searched_from_both_sides(serving: Serving) -> None:
    """Evidence for and against it is looked for besides, and every passage carries the side that was judged."""

    async def sided(prompt: str) -> dict[str, Any]:
        return asks("Why is cheese bad?" if "evidence against" in prompt else "Why is cheese good?")[0]

    sides: list[Side] = ["supporting", "contradicting"]
    stances = [{"passage": n, "side": side} for n, side in enumerate(sides, 1)]
    result = await searched(
        serving, task("contrastive"), query_refiner=sided, stance_judge=says({"stances": [*stances, stances[0]][:2]})
    )
    assert result.queries == ("Why is cheese good?", "Why is cheese bad?")
    judged = {candidate.side for candidate in result.candidates}
    assert judged == {"supporting", "contradicting", "neutral"}


async def test_what_is_known_is_left_out_and_what_helped_is_asked_again(serving: Serving) -> None:
    """The run's own findings come no second time; remembered queries are made, remembered passages come along."""
    known, remembered = "bread:0", passage("cheese:52")
    knowledge = replace(
        MemoryKnowledge(KITCHEN),
        ours=(ChunkId(known),),
        remembered=(remembered,),
        helpful=("What is rye sourdough?", TASK, "Which mould needs air?", "a third one"),
    )
    result = await searched(serving, task("memory", limits=Limits(min_relevance=0.4)), knowledge)
    chunks = [candidate.passage.chunk for candidate in result.candidates]
    assert result.queries == ("What is rye sourdough?", "Which mould needs air?")
    assert known not in chunks
    assert [c.passage.chunk for c in result.candidates if c.remembered] == [remembered.chunk]


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_budget_bounds_every_strategy(serving: Serving, strategy: Strategy) -> None:
    """Reading on in a source, and a spent budget, leave a task with what it has, never with an error."""
    spent: Resource = "searches"
    reading = Step(id="s1", query=TASK, topic="Bread", reads=passage("bread:0"))
    stance = Stance(finishing=True, spent=spent)
    knowledge = MemoryKnowledge(KITCHEN)
    result = await searched(serving, task(strategy, step=reading, stance=stance), knowledge)
    assert all(search.sources == ("bread",) and not search.hypothetical for search in knowledge.searches)
    assert result.candidates
