"""The strategies of a task: how it searches, round by round (document 003, retrieval strategies).

Each is a function that searches through a `Searching` and returns why it made no further search. What
they bring back is the same for all of them, a `Retrieval`: every passage once, with the query and the
round that found it, best first by the fusion of all rounds.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, NamedTuple

from temporalio import workflow

from workflows.calls import Calls

with workflow.unsafe.imports_passed_through():
    from activities.roles import RoleActivities
    from tenure.algorithms.effort import converged
    from tenure.algorithms.plan import same
    from tenure.algorithms.rrf import fuse
    from tenure.contracts.base import ChunkId
    from tenure.contracts.evidence import PassageRef, SearchRequest
    from tenure.contracts.retrieval import (
        Ending,
        GroupRequest,
        Purpose,
        RecallRequest,
        Retrieval,
        Retrieved,
        Side,
        Strategy,
    )
    from tenure.contracts.spiral import SubagentRequest
    from tenure.roles.query_refiner import QueryRefinerInput
    from tenure.roles.stance_judge import StanceJudgeInput

PASSAGES = 12
"""Passages of one search."""
BROAD, CLOSE = 24, 6
"""Passages of a search that is to be grouped, and of one that looks into a group."""
SHOWN = 8
"""Passages that decide what to search for next."""
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


class Query(NamedTuple):
    """A search to be made."""

    text: str
    """What to look for."""
    round: int = 1
    """Round or hop it belongs to, from 1."""
    cluster: int | None = None
    """Group it looks into."""
    k: int = PASSAGES
    """Passages wanted."""


class Searching:
    """The searches of one task, and what they have found."""

    def __init__(self, calls: Calls, task: SubagentRequest, stopped: Callable[[], bool]) -> None:
        """Search for `task`; `stopped` tells whether a person or a budget wants no further round."""
        self.calls = calls
        self.task = task
        self.stopped = stopped
        self.queries: list[str] = []
        self.found: dict[ChunkId, Retrieved] = {}
        self.known: frozenset[ChunkId] = frozenset()
        self._rankings: list[Mapping[ChunkId, int]] = []

    async def look(self, *queries: Query) -> list[tuple[PassageRef, ...]]:
        """Make searches at the same time; return what each finds of what is not known."""
        self.queries += [query.text for query in queries]
        found = await asyncio.gather(*(self._search(query) for query in queries))
        for query, passages in zip(queries, found, strict=True):
            self._rankings.append({passage.chunk: rank for rank, passage in enumerate(passages, 1)})
            for passage in passages:
                retrieved = Retrieved(passage=passage, query=query.text, round=query.round, cluster=query.cluster)
                self.found.setdefault(passage.chunk, retrieved)
        return found

    async def _search(self, query: Query) -> tuple[PassageRef, ...]:
        step, limits = self.task.step, self.task.limits
        request = SearchRequest(
            query=query.text,
            corpora=self.task.corpora,
            k=query.k + min(len(self.known), query.k),
            hypothetical=self.task.hypothetical if query.text == step.query and not step.reads else "",
            max_per_source=None if step.reads else limits.max_per_source,
            sources=(step.reads.source,) if step.reads else (),
        )
        passages = await self.calls.search(request, limits.min_relevance, summary=query.text)
        return tuple(passage for passage in passages if passage.chunk not in self.known)[: query.k]

    def remember(self, passages: Sequence[PassageRef]) -> None:
        """Take in what earlier runs have accepted."""
        self._rankings.append({passage.chunk: rank for rank, passage in enumerate(passages, 1)})
        for passage in passages:
            remembered = Retrieved(passage=passage, query=self.task.step.query, remembered=True)
            self.found.setdefault(passage.chunk, remembered)

    async def refined(self, passages: Sequence[PassageRef], purpose: Purpose) -> str:
        """Return the next query for a purpose; empty where there is none that was not made."""
        refined = await self.calls.role(
            RoleActivities.query_refiner,
            QueryRefinerInput(
                question=self.task.question, task=self.task.step.query, made=tuple(self.queries), purpose=purpose
            ),
            passages[:SHOWN],
            summary=f"{self.task.step.query}, after {len(self.queries)}",
        )
        query = refined.query.strip()
        return "" if refined.complete or any(same(query, made) for made in self.queries) else query

    def best(self) -> tuple[Retrieved, ...]:
        """Return what was found, best first by all searches together."""
        scores = fuse(self._rankings)
        scored = [one.model_copy(update={"score": round(scores[chunk], 6)}) for chunk, one in self.found.items()]
        return tuple(sorted(scored, key=lambda one: -one.score))

    def retrieval(self, ending: Ending) -> Retrieval:
        """Return what a strategy brings back."""
        return Retrieval(strategy=self.task.strategy, passages=self.best(), queries=tuple(self.queries), ending=ending)


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
}
"""Every strategy by its name."""


async def retrieve(searching: Searching) -> Retrieval:
    """Search as the task says."""
    return searching.retrieval(await STRATEGIES[searching.task.strategy](searching))
