"""Memories: keeping impressions, being reminded of them, and forgetting them (document 003, memory systems).

An owner is reminded of his own memories only. What pages of the web say waits until another one says it too, one of
another site and no copy; nobody is reminded of it before, so that a single page cannot put anything into a memory.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tenure.algorithms.memory import scoring as thinking
from tenure.algorithms.text.passage import Encoder, Vectors
from tenure.algorithms.text.sentences import fingerprint
from tenure.contracts.base import SourceId
from tenure.contracts.knowledge.memory import (
    Details,
    Episode,
    ForgetReply,
    ForgetRequest,
    Impression,
    MemoriesReply,
    MemoriesRequest,
    Memory,
    MemoryPolicy,
    Recollected,
    Recollecting,
    Recollection,
    RememberReply,
    RememberRequest,
    StrategyRecord,
)
from tenure.knowledge.embeddings.calibration import relevance, strangers_similarity
from tenure.knowledge.graph.graph import Graph
from tenure.knowledge.memory import rows as kept
from tenure.knowledge.store.errors import InvalidSearch
from tenure.knowledge.store.schema import memories_table
from tenure.knowledge.store.store import Store, literal, quoted
from tenure.models.embedding import EmbeddingModel

NEAR = 40
"""Memories nearest to a query among which importance, time and use decide."""
NAMING = 10
"""Memories that name what a query names, and are looked at besides."""
WITNESSES = 5
"""Memories nearest to a new one of which may say the same."""
BESIDE = 12
"""Entities beside those that a query names whose facts are looked at."""
PAYLOAD = 180_000
"""Characters of memories that travel together."""
ROW = 400
"""Characters that a memory has besides its words."""
PAGE = 2_000
"""Memories that are in memory at once, where all of an owner are gone through."""

FACTS = ("long_term", "semantic", "short_term")
"""Kinds that say how something is, and may say the same or contradict each other."""


T = TypeVar("T")


@dataclass(frozen=True)
class _Kept:
    """What an impression became."""

    memory: Memory
    promoted: bool


class _Near(NamedTuple):
    """A memory that may come to mind."""

    memory: Memory
    similarity: float
    """Cosine to the query."""


class Memories:
    """The memories of one knowledge base."""

    def __init__(self, store: Store, model: EmbeddingModel, encode: Encoder, policy: MemoryPolicy) -> None:
        """Keep them in a store, found by a model's vectors."""
        self._store, self._model, self._encode, self._policy = store, model, encode, policy
        self._table = memories_table(model.dimensions)

    def remember(self, request: RememberRequest) -> RememberReply:
        """Keep impressions; repeating it leaves the same memories."""
        witnessed = kept.supports(self._store, (one.origin.sources for one in request.impressions))
        made = [self._made(one, seen, request) for one, seen in zip(request.impressions, witnessed, strict=True)]
        first = {one.memory.id: one for one in reversed(made)}
        known = self._known(list(first))
        memories = [_again(one.memory, known.get(id)) for id, one in first.items()]
        vectors = self._encode([kept.embedded_text(one) for one in memories])
        joined = [self._joined(one, vector) for one, vector in zip(memories, vectors, strict=True)]
        kept.write(self._store, self._table, joined, vectors, self._model.name, new=True)
        state = {one.id: one for one in joined}
        return RememberReply(
            memories=tuple(one.memory.id for one in made),
            kinds=tuple(state[one.memory.id].kind for one in made),
            promoted=sum(one.promoted for one in first.values()),
            awaiting=sum(one.awaiting for one in joined),
        )

    def _made(self, impression: Impression, witnessed: thinking.Support, request: RememberRequest) -> _Kept:
        kind = thinking.kind_of(impression)
        matters = thinking.importance(impression, kind, witnessed.independent)
        lasting = thinking.kept_as(kind, impression.text, matters)
        origin = impression.origin
        memory = Memory(
            id=kept.memory_id(request.owner, origin.run, fingerprint(impression.text) or impression.text),
            kind=lasting,
            owner=request.owner,
            text=impression.text,
            made=request.now,
            origin=origin.model_copy(update={"support": witnessed.independent}),
            confidence=impression.confidence,
            importance=matters,
            valence=impression.valence,
            awaiting=_awaiting(impression.details, origin.sources, witnessed),
            details=impression.details,
        )
        return _Kept(memory, promoted=lasting != kind)

    def _known(self, ids: Sequence[str]) -> dict[str, Memory]:
        rows = self._store.rows_in(self._table, kept.COLUMNS, "id", ids).to_pylist()
        return {one.id: one for one in map(kept.memory, rows)}

    def _joined(self, memory: Memory, vector: Vectors) -> Memory:
        """Return a memory with the sources of others that say the same, where its own are too few."""
        if not memory.awaiting:
            return memory
        where = f"{kept.owned(memory.owner, FACTS)} AND model = {literal(self._model.name)}"
        near = self._store.nearest(self._table, ["id", "text", "sources"], vector, where, WITNESSES)
        sources = [
            *memory.origin.sources,
            *(
                source
                for row in near.to_pylist()
                if thinking.says_the_same(memory.text, row["text"], 1.0 - row["_distance"], self._policy.same)
                for source in row["sources"]
            ),
        ]
        return supported(self._store, memory, sources)

    def recollect(self, request: Recollecting) -> Recollection:
        """Return what comes to mind, and count its use.

        Raises:
            InvalidSearch: there is nothing to look for.
        """
        if not request.query.strip() or not request.kinds:
            raise InvalidSearch("there is nothing to be reminded of: no query, or no kind of memory")
        near = self._near(request)
        used = kept.uses(self._store, list(near))
        ranked = sorted(self._ranked(near.values(), used, request), key=lambda one: (-one.score, one.memory.id))
        best = tuple(fitting(ranked[: request.most], lambda one: one.memory))
        if request.occasion:
            ids = [one.memory.id for one in best]
            kept.count_uses(self._store, ids, used, request.occasion, kept.seconds(request.now))
        return Recollection(memories=best, strategies=self.strategies(request.owner) if request.statistics else ())

    def _near(self, request: Recollecting) -> dict[str, _Near]:
        """Return the memories nearest to a query, and those that name what it names, by their ids."""
        with ThreadPoolExecutor(1) as beside:  # the vector of the query is made meanwhile
            naming = beside.submit(self._naming, request)
            asked = self._encode([request.query])[0]
            own = self._recallable(request.owner, request.kinds)
            near = self._store.nearest(self._table, kept.COLUMNS, asked, own, NEAR).to_pylist()
        found = [_Near(kept.memory(row), 1.0 - row["_distance"]) for row in near]
        found += [_Near(kept.memory(row), float(np.asarray(row["vector"]) @ asked)) for row in naming.result()]
        return {one.memory.id: one for one in reversed(found)}

    def _recallable(self, owner: str, kinds: Sequence[str]) -> str:
        """Return the condition for what an owner may be reminded of."""
        return f"{kept.owned(owner, kinds)} AND NOT awaiting AND model = {literal(self._model.name)}"

    def _naming(self, request: Recollecting) -> list[dict[str, Any]]:
        """Return facts that name what a query names."""
        keys = self._named(request)
        if not keys or "semantic" not in request.kinds:
            return []
        own = self._recallable(request.owner, ("semantic",))
        where = f"{own} AND array_has_any(entities, make_array{quoted(keys)})"
        found: list[dict[str, Any]] = self._store.some_rows(
            self._table, [*kept.COLUMNS, "vector"], where, NAMING
        ).to_pylist()
        return found

    def _named(self, request: Recollecting) -> tuple[str, ...]:
        """Return the keys of what a query may name, and of what stands beside that in the graph of corpora."""
        keys = thinking.asked_for(request.query)
        return (*keys, *Graph(self._store, request.corpora).beside(keys, BESIDE)) if request.corpora else keys

    def _ranked(
        self, found: Iterable[_Near], used: Mapping[str, kept.Row], request: Recollecting
    ) -> Iterable[Recollected]:
        mean, now = self._strangers, kept.seconds(request.now)
        near = [(kept.with_uses(one.memory, used.get(one.memory.id)), relevance(one.similarity, mean)) for one in found]
        near = [(memory, likeness) for memory, likeness in near if likeness >= request.min_relevance]
        touched = [kept.seconds(max(memory.made, memory.last_used or memory.made)) for memory, _ in near]
        fresh = thinking.freshness(
            [memory.kind for memory, _ in near], now - np.asarray(touched, dtype=np.float64), self._policy
        )
        for (memory, likeness), left in zip(near, fresh.tolist(), strict=True):
            score = thinking.score(
                *(likeness, left, memory.importance, memory.confidence, memory.uses), disputed=bool(memory.disputed)
            )
            yield Recollected(memory=memory, score=round(score.total, 6), **_rounded(score))

    @cached_property
    def _strangers(self) -> float:
        """How similar the model finds what has nothing to do with each other."""
        return strangers_similarity(self._encode)

    def strategies(self, owner: str) -> tuple[StrategyRecord, ...]:
        """Return how strategies did in all episodes of an owner."""
        where = f"{kept.owned(owner, ('episodic',))} AND strategy <> ''"
        rows = self._store.rows(self._table, ["query_type", "strategy", "score", "searches"], where)
        groups = rows.group_by(["query_type", "strategy"], use_threads=False).aggregate(
            [([], "count_all"), ("score", "sum"), ("searches", "sum")]
        )
        records = [
            StrategyRecord(
                query_type=row["query_type"],
                strategy=row["strategy"],
                episodes=row["count_all"],
                score=round(row["score_sum"], 6),
                searches=row["searches_sum"],
            )
            for row in groups.to_pylist()
        ]
        return tuple(sorted(records, key=lambda one: (one.query_type, one.strategy)))

    def page(self, request: MemoriesRequest) -> MemoriesReply:
        """Return a page of an owner's memories, in the order of their ids."""
        where = kept.owned(request.owner, request.kinds)
        following = f"{where} AND id > {literal(request.after)}"
        ids = self._store.rows(self._table, ["id"], following)["id"]
        first = ids.take(pc.sort_indices(ids)).slice(0, request.most).to_pylist() if len(ids) else []
        known, used = self._known(first), kept.uses(self._store, first)
        there = [kept.with_uses(known[id], used.get(id)) for id in first if id in known]
        return MemoriesReply(
            memories=tuple(fitting(there, lambda one: one)),
            of=self._store.count(self._table, where),
        )

    def forget(self, request: ForgetRequest) -> ForgetReply:
        """Forget what a person wants forgotten.

        Raises:
            InvalidSearch: the request names nothing.
        """
        if not (request.ids or request.run or request.source or request.kinds or request.everything):
            raise InvalidSearch("name what is to be forgotten: memories, a run, a source, kinds, or everything")
        where = kept.owned(request.owner, request.kinds)
        where += f" AND run = {literal(request.run)}" if request.run else ""
        where += f" AND id IN {quoted(request.ids)}" if request.ids else ""
        if request.source:
            return ForgetReply(forgotten=forget_sources(self._store, [SourceId(request.source)], where))
        gone = 0
        for table in kept.tables(self._store):
            ids = self._store.rows(table, ["id"], where)["id"].to_pylist()
            kept.delete(self._store, table, ids)
            gone += len(ids)
        return ForgetReply(forgotten=gone)


def fitting(found: Sequence[T], memory: Callable[[T], Memory]) -> Iterable[T]:
    """Yield as much as travels in one payload, one thing at the least."""
    left = PAYLOAD
    for place, one in enumerate(found):
        details = memory(one).details
        left -= len(memory(one).text) + (len(details.model_dump_json()) if details else 0) + ROW
        if place and left < 0:
            return
        yield one


def _awaiting(details: Details | None, sources: Sequence[SourceId], witnessed: thinking.Support) -> bool:
    """Whether a memory waits for another source; what was measured of a run is nothing that pages say."""
    return not isinstance(details, Episode) and bool(sources) and not witnessed.enough


def _again(memory: Memory, known: Memory | None) -> Memory:
    """Return a memory that may be known already; what it has gone through since stays."""
    if known is None:
        return memory
    sources = tuple(dict.fromkeys((*known.origin.sources, *memory.origin.sources)))[: thinking.SOURCES]
    update = {"made": known.made, "merged": known.merged, "disputed": known.disputed, "kind": known.kind}
    update["importance"] = max(known.importance, memory.importance)
    update["awaiting"] = memory.awaiting and known.awaiting
    support = max(known.origin.support, memory.origin.support)
    return memory.model_copy(
        update=update | {"origin": memory.origin.model_copy(update={"sources": sources, "support": support})}
    )


def supported(store: Store, memory: Memory, sources: Iterable[SourceId]) -> Memory:
    """Return a memory that these sources say, as far as they are still there."""
    named = tuple(dict.fromkeys(sources))[: thinking.SOURCES]
    [seen] = kept.supports(store, [named])
    return memory.model_copy(
        update={
            "origin": memory.origin.model_copy(update={"sources": named, "support": seen.independent}),
            "awaiting": _awaiting(memory.details, named, seen),
        }
    )


def _rounded(score: thinking.Score) -> dict[str, float]:
    return {name: round(float(value), 4) for name, value in score._asdict().items()}


def forget_sources(store: Store, sources: Sequence[SourceId], where: str = "") -> int:
    """Take sources away from the memories that name them; return how many are forgotten with them.

    A memory that no other source says goes too. One that others say stays, and waits again where these are too few.
    """
    gone, forgotten = set(sources), 0
    for table in kept.tables(store) if gone else ():
        touched: list[str] = []
        for batch in store.batches(table, ["id", "sources"], where, PAGE):
            touched += _naming(batch, gone)
        for at in range(0, len(touched), PAGE):
            forgotten += _without(store, table, touched[at : at + PAGE], gone)
    return forgotten


def _naming(batch: pa.RecordBatch, sources: set[SourceId]) -> list[str]:
    named = zip(batch["id"].to_pylist(), batch["sources"].to_pylist(), strict=True)
    return [id for id, ids in named if not sources.isdisjoint(ids)]


def _without(store: Store, table: str, ids: Sequence[str], sources: set[SourceId]) -> int:
    memories = [kept.memory(row) for row in store.rows_in(table, kept.COLUMNS, "id", ids).to_pylist()]
    left = {one.id: [id for id in one.origin.sources if id not in sources] for one in memories}
    kept.delete(store, table, [id for id, others in left.items() if not others])
    staying = [supported(store, one, left[one.id]) for one in memories if left[one.id]]
    kept.rewrite(store, table, staying)
    return len(memories) - len(staying)
