"""The searches of one task: every strategy makes them here, and finds here what they have brought."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from temporalio import workflow

from workflows.runtime.calls import Calls

with workflow.unsafe.imports_passed_through():
    from activities.roles import RoleActivities
    from tenure.algorithms.research.planning import same
    from tenure.algorithms.retrieval.rrf import fuse
    from tenure.contracts.base import ChunkId
    from tenure.contracts.evidence.passages import PassageRef, SearchRequest
    from tenure.contracts.evidence.react import ReactStep
    from tenure.contracts.evidence.retrieval import Ending, Purpose, Retrieval, Retrieved
    from tenure.contracts.research.spiral import SubagentRequest
    from tenure.contracts.result.programs import StoredArtifact
    from tenure.roles.research.query_refiner import QueryRefinerInput

PASSAGES = 12
"""Passages of one search."""
SHOWN = 8
"""Passages that decide what to search for next."""


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
        self.steps: list[ReactStep] = []
        self.answer = ""
        self.artifacts: tuple[StoredArtifact, ...] = ()
        self._rankings: list[Mapping[ChunkId, int]] = []

    async def look(self, *queries: Query) -> list[tuple[PassageRef, ...]]:
        """Make searches at the same time; return what each finds of what is not known."""
        self.queries += [query.text for query in queries]
        found = await asyncio.gather(*(self._search(query) for query in queries))
        for query, passages in zip(queries, found, strict=True):
            self.prefer(passages)
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

    def gain(self, passages: Sequence[PassageRef], query: str, round: int) -> int:
        """Take in what a tool has brought for a query; return how many passages were not known."""
        known = len(self.found)
        if query not in self.queries:
            self.queries.append(query)
        self.prefer(passages)
        for passage in passages:
            self.found.setdefault(passage.chunk, Retrieved(passage=passage, query=query, round=round))
        return len(self.found) - known

    def prefer(self, passages: Sequence[PassageRef]) -> None:
        """Let passages count as found once more, in this order."""
        self._rankings.append({passage.chunk: rank for rank, passage in enumerate(passages, 1)})

    def remember(self, passages: Sequence[PassageRef]) -> None:
        """Take in what earlier runs have accepted."""
        self.prefer(passages)
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
        return Retrieval(
            strategy=self.task.strategy,
            passages=self.best(),
            queries=tuple(self.queries),
            steps=tuple(self.steps),
            answer=self.answer,
            ending=ending,
        )
