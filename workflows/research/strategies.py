"""The strategies of a task: how it searches, round by round (document 003, retrieval strategies).

Each is a function that searches through a `Searching` and returns why it made no further search. What
they bring back is the same for all of them, a `Retrieval`: every passage once, with the query and the
round that found it, best first by the fusion of all rounds.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from temporalio import workflow

from workflows.research.react import react
from workflows.research.search_session import PASSAGES, Query, Searching

with workflow.unsafe.imports_passed_through():
    from activities.roles import RoleActivities
    from tenure.algorithms.research.effort import converged
    from tenure.algorithms.research.planning import same
    from tenure.contracts.base import ChunkId
    from tenure.contracts.evidence.retrieval import (
        Ending,
        GroupRequest,
        Purpose,
        RecallRequest,
        Retrieval,
        Side,
        Strategy,
    )
    from tenure.roles.retrieval.stance_judge import StanceJudgeInput

BROAD, CLOSE = 24, 6
"""Passages of a search that is to be grouped, and of one that looks into a group."""
ROUNDS = 5
"""Searches of an iterative retrieval at the most (document 003, Iterative Refinement Retriever)."""
GROUPS = 3
"""Groups of a broad search that are looked into."""
HELPFUL = 2
"""Queries of earlier runs that are made again."""
TOP = 5
"""Best passages by which a retrieval counts as converged."""
JUDGED = 12
"""Passages whose side is judged in one call."""


async def direct(searching: Searching) -> Ending:
    """Search once."""
    await searching.look(Query(searching.task.step.query))
    return "complete"


async def iterative(searching: Searching) -> Ending:
    """Search in ever other words, until the five best passages of all rounds stay the same."""
    query, best = searching.task.step.query, tuple[ChunkId, ...]()
    for number in range(1, ROUNDS + 1):
        before, known = best, len(searching.found)
        await searching.look(Query(query, number))
        ranked = [one.passage for one in searching.best()]
        best = tuple(passage.chunk for passage in ranked[:TOP])
        if len(searching.found) == known:
            return "nothing_new"
        if converged(before, best):
            return "converged"
        if searching.stopped():
            return "stopped"
        if number < ROUNDS and not (query := await searching.refined(ranked, "reword")):
            return "complete"
    return "bound"


async def multi_hop(searching: Searching) -> Ending:
    """Let each search name what the next one has to be about, until the evidence is complete."""
    query, before = searching.task.step.query, tuple[ChunkId, ...]()
    for hop in range(1, searching.task.hops + 1):
        (passages,) = await searching.look(Query(query, hop))
        now = tuple(passage.chunk for passage in passages)
        if not passages:
            return "nothing_new"
        if converged(before, now):
            return "converged"
        if searching.stopped():
            return "stopped"
        before = now
        if hop < searching.task.hops and not (query := await searching.refined(passages, "next_hop")):
            return "complete"
    return "bound"


async def hierarchical(searching: Searching) -> Ending:
    """Search broadly, group what is found, and look into each group with a query of its own."""
    (broad,) = await searching.look(Query(searching.task.step.query, k=BROAD))
    if not broad or searching.stopped():
        return "stopped" if broad else "nothing_new"
    groups = await searching.calls.group(
        GroupRequest(passages=broad, most=GROUPS), summary=f"{len(broad)} passages for {searching.task.step.query}"
    )
    wanted = await asyncio.gather(*(searching.refined(group, "narrow") for group in groups))
    first: dict[str, int] = {}
    for number, query in enumerate(wanted, 1):
        first.setdefault(query, number)
    closer = [Query(query, 2, number, CLOSE) for query, number in first.items() if query]
    if closer:
        await searching.look(*closer)
    return "complete"


async def contrastive(searching: Searching) -> Ending:
    """Search for what supports a position, what contradicts it and what stands beside it, and label what is found."""
    (beside,) = await searching.look(Query(searching.task.step.query))
    if not searching.stopped():
        sides: tuple[Purpose, ...] = ("supporting", "contradicting")
        queries = await asyncio.gather(*(searching.refined(beside, side) for side in sides))
        new = [Query(query, 2) for query in dict.fromkeys(queries) if query]
        if new:
            await searching.look(*new)
    await _label(searching)
    return "stopped" if searching.stopped() else "complete"


async def _label(searching: Searching) -> None:
    """Say of every passage on which side it stands."""
    chunks = list(searching.found)
    batches = [chunks[start : start + JUDGED] for start in range(0, len(chunks), JUDGED)]
    judged = await asyncio.gather(
        *(
            searching.calls.role(
                RoleActivities.stance_judge,
                StanceJudgeInput(position=searching.task.step.query),
                [searching.found[chunk].passage for chunk in batch],
                summary=f"{searching.task.step.query}, {len(batch)} passages",
            )
            for batch in batches
        )
    )
    for batch, output in zip(batches, judged, strict=True):
        sides: dict[int, Side] = {stance.passage: stance.side for stance in output.stances}
        for number, chunk in enumerate(batch, 1):
            side = sides.get(number, "neutral")
            searching.found[chunk] = searching.found[chunk].model_copy(update={"side": side})


async def memory(searching: Searching) -> Ending:
    """Leave out what the run has accepted, and be led by what other runs have accepted nearby."""
    task = searching.task
    recalled = await searching.calls.recall(
        RecallRequest(
            query=task.step.query,
            run=task.run,
            corpora=task.corpora,
            filters=task.limits.filters,
            min_relevance=task.limits.min_relevance,
            most=PASSAGES,
        ),
        summary=task.step.query,
    )
    searching.known = frozenset(recalled.known)
    helped = [query for query in recalled.queries if not same(query, task.step.query)][:HELPFUL]
    await searching.look(Query(task.step.query), *(Query(query, 2) for query in helped))
    searching.remember(recalled.passages)
    return "complete"


STRATEGIES: Final[Mapping[Strategy, Callable[[Searching], Awaitable[Ending]]]] = {
    "direct": direct,
    "iterative": iterative,
    "multi_hop": multi_hop,
    "hierarchical": hierarchical,
    "contrastive": contrastive,
    "memory": memory,
    "react": react,
}
"""Every strategy by its name."""


async def retrieve(searching: Searching) -> Retrieval:
    """Search as the task says."""
    return searching.retrieval(await STRATEGIES[searching.task.strategy](searching))
