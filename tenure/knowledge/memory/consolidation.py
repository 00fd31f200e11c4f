"""Consolidation: what becomes of memories between runs, in memory that does not grow with their number.

A step goes through the table in batches and writes what it decides at once, so that one that was interrupted goes on
where it was. Only memories that were not compared before are held against the others: a consolidation costs what is
new times what there is, in one matrix product after the other.
"""

import heapq
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tenure.algorithms.claims.claim_pairs import PLAIN
from tenure.algorithms.memory import scoring as thinking
from tenure.algorithms.text.passage import Encoder, Vectors
from tenure.contracts.knowledge.memory import (
    ConsolidationProgress,
    ConsolidationRequest,
    ConsolidationStepReport,
    Memory,
    MemoryKind,
    MemoryPolicy,
    Origin,
    StrategyRecord,
)
from tenure.knowledge.embeddings.cache import vector_rows
from tenure.knowledge.memory import rows as kept
from tenure.knowledge.memory.memories import FACTS, PAGE
from tenure.knowledge.store.errors import ConsolidationCancelled
from tenure.knowledge.store.schema import memories_table
from tenure.knowledge.store.store import Store, literal
from tenure.models.embedding import EmbeddingModel

_BLOCK = 2_048
"""Memories that are held against all others at once."""
_SCAN = 4_096
"""Memories that they are held against at once."""
_NEIGHBOURS = 8
"""Memories nearest to one that are looked at."""
_CROWDED = 20_000
"""Pairs of one product from which only the nearest of each memory are picked out."""
_COMPARED = (*FACTS, "procedural")

Tell = Callable[[ConsolidationProgress], None]


@dataclass
class _Lesson:
    """What the episodes of one owner, kind of question and strategy add up to."""

    episodes: int = 0
    score: float = 0.0
    well: int = 0
    searches: int = 0
    newest: int = 0

    def add(self, score: float, searches: int, made: int) -> None:
        """Count an episode."""
        self.episodes += 1
        self.score += score
        self.well += score >= thinking.WENT_WELL
        self.searches += searches
        self.newest = max(self.newest, made)


class Consolidation:
    """One step of one consolidation."""

    def __init__(
        self,
        store: Store,
        model: EmbeddingModel,
        encode: Encoder,
        policy: MemoryPolicy,
        request: ConsolidationRequest,
        report: Tell,
        cancelled: Callable[[], bool],
    ) -> None:
        """Take what the step needs; nothing is touched yet.

        Args:
            store: where memories are.
            model: what makes their vectors.
            encode: the same, with what it has made already.
            policy: how memories age, join and go.
            request: the step.
            report: told how far it is.
            cancelled: asked whether to stop.
        """
        self._store, self._model, self._encode, self._policy = store, model, encode, policy
        self._step, self._now = request.step, kept.seconds(request.now)
        self._report, self._cancelled = report, cancelled
        self._table = memories_table(model.dimensions)
        self._looked_at = self._changed = self._noted = self._total = 0

    def run(self) -> ConsolidationStepReport:
        """Do the step.

        Raises:
            ConsolidationCancelled: somebody said so.
        """
        started = time.monotonic()
        self._total = sum(self._store.count(table) for table in kept.tables(self._store))
        if self._total:
            steps = {
                "embed": self._embed,
                "promote": self._promote,
                "compare": self._compare,
                "abstract": self._abstract,
                "forget": self._forget,
            }
            steps[self._step]()
            if self._changed or self._noted:  # rows that were written anew have left the indexes
                self._store.refresh_indexes(self._table)
        seconds = time.monotonic() - started
        return ConsolidationStepReport(
            step=self._step, looked_at=self._looked_at, changed=self._changed, seconds=seconds
        )

    def _batches(self, columns: Sequence[str], where: str, size: int = PAGE) -> Iterator[pa.RecordBatch]:
        for batch in self._store.batches(self._table, columns, where, size):
            yield batch
            self._went_on(batch.num_rows)

    def _went_on(self, looked_at: int) -> None:
        """Count, tell how far it is, and stop where that is wanted.

        Raises:
            ConsolidationCancelled: somebody said so.
        """
        self._looked_at += looked_at
        self._report(ConsolidationProgress(step=self._step, done=self._looked_at, total=self._total))
        if self._cancelled():
            raise ConsolidationCancelled(self._step, self._looked_at)

    def _embed(self) -> None:
        """Bring memories whose vectors come from another model, and of another size, into the present table."""
        foreign = f"model <> {literal(self._model.name)}"
        for table in kept.tables(self._store):
            while rows := self._store.some_rows(table, kept.COLUMNS, foreign, PAGE).to_pylist():
                memories = [kept.memory(row) for row in rows]
                vectors = self._encode([kept.embedded_text(one) for one in memories])
                kept.write(self._store, self._table, memories, vectors, self._model.name, new=True)
                if table != self._table:
                    self._store.delete_in(table, "id", [one.id for one in memories])
                self._changed += len(memories)
                self._went_on(len(memories))

    def _promote(self) -> None:
        """Keep for good what was said for a while, and has proved useful since."""
        lasting: list[Memory] = []
        for batch in self._batches(kept.COLUMNS, "kind = 'short_term' AND NOT awaiting"):
            memories = [kept.memory(row) for row in batch.to_pylist()]
            used = kept.uses(self._store, [one.id for one in memories])
            for one in memories:
                uses = used[one.id]["uses"] if one.id in used else 0
                kind = thinking.kept_as("short_term", one.text, one.importance, uses)
                if kind != "short_term":
                    lasting.append(one.model_copy(update={"kind": kind}))
        self._rewrite(lasting)

    def _rewrite(self, memories: Sequence[Memory]) -> None:
        for at in range(0, len(memories), PAGE):
            kept.rewrite(self._store, self._table, memories[at : at + PAGE])
        self._changed += len(memories)

    def _compare(self) -> None:
        """Hold what was never compared against all of its owner: join what says the same, decide what contradicts."""
        own = f"model = {literal(self._model.name)} AND kind IN ({', '.join(map(literal, _COMPARED))})"
        new = f"NOT compared AND {own}"
        owners: set[str] = set()
        for batch in self._store.batches(self._table, ["owner"], new, PAGE):
            owners.update(batch["owner"].to_pylist())
        for owner in sorted(owners):
            mine = f"owner = {literal(owner)} AND "
            while (block := self._store.some_rows(self._table, ["id", "kind", "vector"], mine + new, _BLOCK)).num_rows:
                self._settle(block["id"].to_pylist(), self._neighbours(block, mine + own))
                self._went_on(block.num_rows)

    def _neighbours(self, block: pa.Table, where: str) -> dict[str, list[tuple[float, str]]]:
        """Return for each memory of a block those most like it, nearest first, whose likeness may mean something."""
        ids, vectors = block["id"].to_pylist(), vector_rows(block["vector"], self._model.dimensions)
        places, procedural = {id: at for at, id in enumerate(ids)}, _procedural(block["kind"])
        found: dict[str, list[tuple[float, str]]] = {id: [] for id in ids}
        for batch in self._store.batches(self._table, ["id", "kind", "vector"], where, _SCAN):
            others = batch["id"].to_pylist()
            like = vectors @ vector_rows(pa.chunked_array([batch["vector"]]), self._model.dimensions).T
            like[procedural[:, None] != _procedural(batch["kind"])[None, :]] = -1.0
            own = [(places[id], at) for at, id in enumerate(others) if id in places]
            like[[at for at, _ in own], [at for _, at in own]] = -1.0
            for at, other in _near(like):
                found[ids[at]].append((float(like[at, other]), others[other]))
            if self._cancelled():
                raise ConsolidationCancelled(self._step, self._looked_at)
        return {id: heapq.nlargest(_NEIGHBOURS, near) for id, near in found.items()}

    def _settle(self, block: Sequence[str], neighbours: Mapping[str, Sequence[tuple[float, str]]]) -> None:
        """Decide on a block of memories, and note that they are compared."""
        said = self._said([id for id, near in neighbours.items() if near], neighbours)
        groups = _Groups()
        apart: list[tuple[str, str]] = []
        for id, likeness, other in _pairs(neighbours):
            if id in said and other in said:
                (kind, text), (_, words) = said[id], said[other]
                if thinking.says_the_same(text, words, likeness, self._policy.same):
                    groups.join(id, other)
                elif kind != "procedural" and thinking.contradict(text, words, likeness):
                    apart.append((id, other))
        there = self._memories(list(dict.fromkeys((*groups.members, *(id for pair in apart for id in pair)))))
        kept_in, joined = self._merge([[there[id] for id in group] for group in groups.of_several()])
        there |= {one.id: one for one in joined}
        self._dispute({(kept_in.get(a, a), kept_in.get(b, b)) for a, b in apart}, there)
        kept.fill(self._store, self._table, [{"id": id, "compared": True} for id in block])
        self._noted += len(block)

    def _said(
        self, block: Iterable[str], neighbours: Mapping[str, Sequence[tuple[float, str]]]
    ) -> dict[str, tuple[str, str]]:
        """Return kind and words of memories and their neighbours, as far as they are still there."""
        ids = dict.fromkeys((*block, *(id for _, _, id in _pairs(neighbours))))
        rows = self._store.rows_in(self._table, ["id", "kind", "text"], "id", list(ids))
        columns = (rows[name].to_pylist() for name in ("id", "kind", "text"))
        return {id: (kind, text) for id, kind, text in zip(*columns, strict=True)}

    def _memories(self, ids: Sequence[str]) -> dict[str, Memory]:
        rows = self._store.rows_in(self._table, kept.COLUMNS, "id", ids).to_pylist()
        used = kept.uses(self._store, ids)
        return {one.id: kept.with_uses(one, used.get(one.id)) for one in map(kept.memory, rows)}

    def _merge(self, groups: Sequence[Sequence[Memory]]) -> tuple[dict[str, str], list[Memory]]:
        """Make one memory of each group; return into which one the others went, and what was made."""
        sources = [[source for one in group for source in one.origin.sources] for group in groups]
        behind = kept.supports(self._store, sources)
        made = [thinking.joined(group, support) for group, support in zip(groups, behind, strict=True)]
        went = {one.id: into.id for group, into in zip(groups, made, strict=True) for one in group if one is not into}
        gone = [id for id, into in went.items() if id != into]
        kept.keep_uses(self._store, made)
        kept.rewrite(self._store, self._table, made)
        kept.delete(self._store, self._table, gone)
        self._changed += len(gone) + len(made)
        return went, made

    def _dispute(self, apart: Iterable[tuple[str, str]], there: Mapping[str, Memory]) -> None:
        """Note which of two memories that disagree has less behind it; one that still waits disputes nothing."""
        lost: dict[str, str] = {}
        for a, b in sorted(apart):
            one, other = there[a], there[b]
            if a != b and not (one.awaiting or other.awaiting):
                loser, winner = sorted((one, other), key=_standing)
                lost[loser.id] = winner.id
        doubted = (there[id].model_copy(update={"disputed": winner}) for id, winner in lost.items())
        self._rewrite([one for one in doubted if there[one.id].disputed != one.disputed])

    def _abstract(self) -> None:
        """Draw from episodes which way of searching does well with which kind of question."""
        lessons: dict[tuple[str, str, str], _Lesson] = defaultdict(_Lesson)
        columns = ["owner", "query_type", "strategy", "score", "searches", "made"]
        for batch in self._batches(columns, "kind = 'episodic' AND strategy <> '' AND query_type <> ''"):
            for owner, kind, strategy, *figures in zip(*(batch[name].to_pylist() for name in columns), strict=True):
                lessons[owner, kind, strategy].add(*figures)
        made = [self._lesson(*key, found) for key, found in sorted(lessons.items())]
        learnt = {one.id: one for one in made if one is not None}
        known = self._memories(list(learnt))
        new = [one for id, one in learnt.items() if id not in known or _teaches(one) != _teaches(known[id])]
        vectors = self._encode([one.text for one in new])
        kept.write(self._store, self._table, new, vectors, self._model.name, new=False)
        self._changed += len(new)

    def _lesson(self, owner: str, kind: Any, strategy: str, found: _Lesson) -> Memory | None:
        """Return what so many episodes teach; None while they are few."""
        if found.episodes < thinking.LEAST_EPISODES:
            return None
        record = StrategyRecord(
            query_type=kind,
            strategy=strategy,
            episodes=found.episodes,
            score=found.score,
            searches=found.searches,
        )
        procedure = thinking.lesson(record, found.well)
        return Memory(
            id=kept.memory_id(owner, "", f"lesson\0{kind}\0{strategy}"),
            kind="procedural",
            owner=owner,
            text=thinking.sentence_of(procedure),
            made=kept.moment(found.newest),
            origin=Origin(),
            confidence=thinking.confirmed(procedure),
            importance=thinking.LEARNT,
            details=procedure,
        )

    def _forget(self) -> None:
        """Forget what has faded, and of an owner with too many memories the weakest."""
        doomed: list[str] = []
        staying: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
        for ids, owners, strong, gone in self._strengths(""):
            doomed += [id for id, go in zip(ids, gone, strict=True) if go]
            for owner in set(owners.tolist()):
                staying[owner].append(strong[(owners == owner) & ~gone])
        self._delete(doomed)
        for owner, parts in sorted(staying.items()):
            if (excess := sum(map(len, parts)) - self._policy.most) > 0:
                self._forget_weakest(owner, excess, float(np.partition(np.concatenate(parts), excess - 1)[excess - 1]))

    def _forget_weakest(self, owner: str, excess: int, bound: float) -> None:
        """Forget so many memories of an owner that are no stronger than a bound."""
        weak: list[str] = []
        for ids, _, strong, _ in self._strengths(f"owner = {literal(owner)}"):
            weak += [id for id, one in zip(ids, strong, strict=True) if one <= bound]
        self._delete(weak[:excess])

    def _delete(self, ids: Sequence[str]) -> None:
        kept.delete(self._store, self._table, ids)
        self._changed += len(ids)

    def _strengths(
        self, where: str
    ) -> Iterator[tuple[list[str], NDArray[np.object_], NDArray[np.float64], NDArray[np.bool_]]]:
        """Yield ids, owners and strengths of memories, and which of them go by themselves."""
        for batch in self._batches(["id", "owner", "kind", "made", "importance", "awaiting"], where):
            rows = batch.to_pylist()
            used = kept.uses(self._store, batch["id"].to_pylist())
            ages = np.asarray([self._now - _last_touched(row, used.get(row["id"])) for row in rows], dtype=np.float64)
            kinds: list[MemoryKind] = [row["kind"] for row in rows]
            fresh = thinking.freshness(kinds, ages, self._policy)
            strong = thinking.strength(np.asarray([row["importance"] for row in rows], dtype=np.float64), fresh)
            gone = [
                thinking.faded(kind, age, one, awaiting=row["awaiting"], policy=self._policy)
                for row, kind, age, one in zip(rows, kinds, ages.tolist(), strong.tolist(), strict=True)
            ]
            owners = np.asarray([row["owner"] for row in rows], dtype=object)
            yield batch["id"].to_pylist(), owners, strong, np.asarray(gone, dtype=bool)


def _last_touched(row: kept.Row, use: kept.Row | None) -> int:
    """Return when a memory was made or used the last time."""
    return int(max(row["made"], use["last_used"] if use else 0))


def _procedural(kinds: pa.Array | pa.ChunkedArray) -> NDArray[np.bool_]:
    """Return which memories are procedures: they are held against each other only."""
    which: NDArray[np.bool_] = pc.equal(kinds, "procedural").to_numpy(zero_copy_only=False)
    return which


def _near(like: Vectors) -> Iterator[tuple[int, int]]:
    """Yield the pairs of a product that are alike; where there are very many, only the nearest of each row."""
    if np.count_nonzero(like >= PLAIN) <= _CROWDED or like.shape[1] <= _NEIGHBOURS:
        yield from zip(*(part.tolist() for part in np.nonzero(like >= PLAIN)), strict=True)
        return
    nearest = np.argpartition(-like, _NEIGHBOURS, axis=1)[:, :_NEIGHBOURS]
    for row, columns in enumerate(nearest.tolist()):
        yield from ((row, column) for column in columns if like[row, column] >= PLAIN)


def _pairs(neighbours: Mapping[str, Sequence[tuple[float, str]]]) -> Iterator[tuple[str, float, str]]:
    """Yield each memory with each of its neighbours."""
    return ((id, likeness, other) for id, near in neighbours.items() for likeness, other in near)


def _standing(memory: Memory) -> thinking.Standing:
    return thinking.Standing(memory.origin.support, kept.seconds(memory.made), memory.id)


def _teaches(memory: Memory) -> tuple[object, ...]:
    return memory.details, memory.made, memory.text


class _Groups:
    """What belongs together, through others too."""

    def __init__(self) -> None:
        """Let everything stand alone."""
        self._leads: dict[str, str] = {}

    def join(self, one: str, other: str) -> None:
        """Put two together."""
        self._leads[self._first(one)] = self._first(other)

    def _first(self, id: str) -> str:
        while (lead := self._leads.setdefault(id, id)) != id:
            self._leads[id] = id = self._leads[lead]
        return id

    @property
    def members(self) -> tuple[str, ...]:
        """All that is together with something."""
        return tuple(self._leads)

    def of_several(self) -> list[list[str]]:
        """Return the groups, each and all in order."""
        groups: dict[str, list[str]] = defaultdict(list)
        for id in sorted(self._leads):
            groups[self._first(id)].append(id)
        return [group for group in groups.values() if len(group) > 1]
