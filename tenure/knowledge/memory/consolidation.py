"""Consolidate memories between runs: embed, promote, merge, abstract and forget, in bounded RAM.

A step reads the table in batches and writes each decision immediately, so that an interrupted step can be continued.
Only new memories are compared with the others, each by one vector search.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tenure.algorithms.claims.contradictions import detect_contradiction
from tenure.algorithms.memory import scoring
from tenure.algorithms.text.passage import Encoder
from tenure.contracts.choices import MemoryKind
from tenure.contracts.knowledge.maintenance import UpkeepProgress, UpkeepReport
from tenure.contracts.knowledge.memory import (
    ConsolidationRequest,
    Memory,
    MemoryOrigin,
    StrategyRecord,
)
from tenure.contracts.knowledge.memory_policy import MemoryPolicy
from tenure.knowledge.memory import rows as memory_rows
from tenure.knowledge.memory.rows import FACT_KINDS, PASS_ROWS
from tenure.knowledge.store.errors import WorkCancelled
from tenure.knowledge.store.schema import build_memory_table_name
from tenure.knowledge.store.store import Store, quote_list, quote_literal
from tenure.models.embedding import EmbeddingModel

_BLOCK_ROWS = 500
"""New memories that are compared before they are marked as compared."""
_MAX_NEIGHBOURS = 8
"""Nearest memories that are examined for each new one."""
_MIN_COMPARED_SIMILARITY = 0.75
"""Minimum similarity of two memories that are compared."""
_COMPARED_KINDS = (*FACT_KINDS, "procedural")

ReportProgress = Callable[[UpkeepProgress], None]


@dataclass
class _EpisodeTotals:
    """Totals over the episodes of one owner, query type and strategy."""

    episodes: int = 0
    score: float = 0.0
    well: int = 0
    searches: int = 0
    newest: int = 0

    def add(self, score: float, searches: int, created_at: int) -> None:
        """Add an episode."""
        self.episodes += 1
        self.score += score
        self.well += score >= scoring.SUCCESS_SCORE
        self.searches += searches
        self.newest = max(self.newest, created_at)


class Consolidation:
    """One step of one consolidation."""

    def __init__(
        self,
        store: Store,
        model: EmbeddingModel,
        encode: Encoder,
        policy: MemoryPolicy,
        request: ConsolidationRequest,
        report: ReportProgress,
        cancelled: Callable[[], bool],
    ) -> None:
        self._store, self._model, self._encode, self._policy = store, model, encode, policy
        self._step, self._now = request.step, memory_rows.to_seconds(request.now)
        self._report, self._cancelled = report, cancelled
        self._table = build_memory_table_name(model.dimensions)
        self._looked_at = self._changed = self._noted = self._total = 0

    def run(self) -> UpkeepReport:
        """Run the step."""
        started = time.monotonic()
        self._total = sum(self._store.count_rows(table) for table in memory_rows.list_memory_tables(self._store))
        if self._total:
            steps = {
                "embed": self._embed,
                "promote": self._promote,
                "compare": self._compare,
                "abstract": self._abstract,
                "forget": self._forget,
            }
            steps[self._step]()
            if self._changed or self._noted:  # rewritten rows are not in the indexes
                self._store.refresh_indexes(self._table)
        seconds = time.monotonic() - started
        return UpkeepReport(step=self._step, processed=self._looked_at, changed=self._changed, seconds=seconds)

    def _batches(self, columns: Sequence[str], where: str) -> Iterator[pa.RecordBatch]:
        for batch in self._store.read_batches(self._table, columns, where, PASS_ROWS):
            yield batch
            self._advance(batch.num_rows)

    def _advance(self, looked_at: int) -> None:
        """Count rows, report the progress, and stop if cancelled."""
        self._looked_at += looked_at
        self._report(UpkeepProgress(step=self._step, done=self._looked_at, total=self._total))
        self._check_cancelled()

    def _check_cancelled(self) -> None:
        if self._cancelled():
            raise WorkCancelled(f"consolidation step {self._step} stopped after {self._looked_at} memories")

    def _embed(self) -> None:
        """Embed memories whose vectors come from another model, and move them into the table of the current model."""
        other_model = f"model <> {quote_literal(self._model.name)}"
        for table in memory_rows.list_memory_tables(self._store):
            while rows := self._store.read_rows(table, memory_rows.COLUMNS, other_model, PASS_ROWS).to_pylist():
                memories = [memory_rows.parse_memory(row) for row in rows]
                vectors = self._encode([memory_rows.select_embedded_text(memory) for memory in memories])
                memory_rows.write_memories(self._store, self._table, memories, vectors, self._model.name, new=True)
                if table != self._table:
                    self._store.delete_rows_in(table, "id", [memory.id for memory in memories])
                self._changed += len(memories)
                self._advance(len(memories))

    def _promote(self) -> None:
        """Make short-term memories permanent that have proved useful."""
        lasting: list[Memory] = []
        for batch in self._batches(memory_rows.COLUMNS, "kind = 'short_term' AND NOT unconfirmed"):
            memories = [memory_rows.parse_memory(row) for row in batch.to_pylist()]
            used = memory_rows.load_uses(self._store, [memory.id for memory in memories])
            for memory in memories:
                uses = used[memory.id]["use_count"] if memory.id in used else 0
                kind = scoring.promote_kind("short_term", memory.text, memory.importance, uses)
                if kind != "short_term":
                    lasting.append(memory.model_copy(update={"kind": kind}))
        self._rewrite(lasting)

    def _rewrite(self, memories: Sequence[Memory]) -> None:
        for at in range(0, len(memories), PASS_ROWS):
            memory_rows.rewrite_memories(self._store, self._table, memories[at : at + PASS_ROWS])
        self._changed += len(memories)

    def _compare(self) -> None:
        """Compare new memories with all others of their owner: merge paraphrases, and mark contradictions."""
        compared = f"model = {quote_literal(self._model.name)} AND kind IN {quote_list(_COMPARED_KINDS)}"
        new = f"NOT compared AND {compared}"
        owners: set[str] = set()
        for batch in self._store.read_batches(self._table, ["owner"], new, PASS_ROWS):
            owners.update(batch["owner"].to_pylist())
        for owner in sorted(owners):
            mine = f"owner = {quote_literal(owner)} AND "
            while (
                block := self._store.read_rows(self._table, ["id", "kind", "vector"], mine + new, _BLOCK_ROWS)
            ).num_rows:
                self._resolve(block["id"].to_pylist(), self._find_neighbours(block, mine + compared))
                self._advance(block.num_rows)

    def _find_neighbours(self, block: pa.Table, where: str) -> dict[str, list[tuple[float, str]]]:
        """Return the most similar memories of each memory of a block as (cosine, id), nearest first."""
        neighbours: dict[str, list[tuple[float, str]]] = {}
        for row in block.to_pylist():
            # Procedures are compared only with each other.
            kinds = ("procedural",) if row["kind"] == "procedural" else FACT_KINDS
            others = f"{where} AND kind IN {quote_list(kinds)} AND id <> {quote_literal(row['id'])}"
            vector = np.asarray(row["vector"], dtype=np.float32)
            near = self._store.search_vectors(self._table, ["id"], vector, others, _MAX_NEIGHBOURS).to_pylist()
            similar = [(1.0 - neighbour["_distance"], neighbour["id"]) for neighbour in near]
            neighbours[row["id"]] = [pair for pair in similar if pair[0] >= _MIN_COMPARED_SIMILARITY]
            self._check_cancelled()
        return neighbours

    def _resolve(self, block: Sequence[str], neighbours: Mapping[str, Sequence[tuple[float, str]]]) -> None:
        """Merge or mark the memories of a block and their neighbours, and record that the block is compared."""
        texts = self._load_texts([id for id, near in neighbours.items() if near], neighbours)
        groups: dict[str, set[str]] = {}
        contradictions: list[tuple[str, str]] = []
        for id, similarity, other in _list_pairs(neighbours):
            if id in texts and other in texts:
                (kind, text), (_, words) = texts[id], texts[other]
                if scoring.is_duplicate(text, words, similarity, self._policy.merge_similarity):
                    merged = groups.get(id, {id}) | groups.get(other, {other})
                    groups.update(dict.fromkeys(merged, merged))
                elif kind != "procedural" and detect_contradiction(text, words):
                    contradictions.append((id, other))
        memories_by_id = self._load_memories(
            list(dict.fromkeys((*groups, *(id for pair in contradictions for id in pair))))
        )
        merged_into_ids, merged_memories = self._merge_groups(
            [
                same
                for id, group in sorted(groups.items())
                if id == min(group)
                for same in _split_by_repository(memories_by_id[id] for id in sorted(group))
                if len(same) > 1
            ]
        )
        memories_by_id |= {memory.id: memory for memory in merged_memories}
        self._mark_contradictions(
            {(merged_into_ids.get(a, a), merged_into_ids.get(b, b)) for a, b in contradictions}, memories_by_id
        )
        memory_rows.update_memories(self._store, self._table, [{"id": id, "compared": True} for id in block])
        self._noted += len(block)

    def _load_texts(
        self, block: Iterable[str], neighbours: Mapping[str, Sequence[tuple[float, str]]]
    ) -> dict[str, tuple[str, str]]:
        """Return kind and text of memories and their neighbours, for those that still exist."""
        ids = dict.fromkeys((*block, *(id for _, _, id in _list_pairs(neighbours))))
        rows = self._store.read_rows_in(self._table, ["id", "kind", "text"], "id", list(ids))
        columns = (rows[name].to_pylist() for name in ("id", "kind", "text"))
        return {id: (kind, text) for id, kind, text in zip(*columns, strict=True)}

    def _load_memories(self, ids: Sequence[str]) -> dict[str, Memory]:
        uses = memory_rows.load_uses(self._store, ids)
        memories = memory_rows.load_memories(self._store, self._table, ids)
        return {id: memory_rows.add_uses(memory, uses.get(id)) for id, memory in memories.items()}

    def _merge_groups(self, groups: Sequence[Sequence[Memory]]) -> tuple[dict[str, str], list[Memory]]:
        sources = [[source for memory in group for source in memory.origin.sources] for group in groups]
        supports = memory_rows.compute_supports(self._store, sources)
        merged = [scoring.merge_memories(group, support) for group, support in zip(groups, supports, strict=True)]
        merged_into = {
            memory.id: into.id
            for group, into in zip(groups, merged, strict=True)
            for memory in group
            if memory is not into
        }
        removed = [id for id, into in merged_into.items() if id != into]
        memory_rows.store_uses(self._store, merged)
        memory_rows.rewrite_memories(self._store, self._table, merged)
        memory_rows.delete_memories(self._store, self._table, removed)
        self._changed += len(removed) + len(merged)
        return merged_into, merged

    def _mark_contradictions(
        self, contradictions: Iterable[tuple[str, str]], memories_by_id: Mapping[str, Memory]
    ) -> None:
        """Record for each contradiction which memory has less support; unconfirmed memories contradict nothing."""
        winners: dict[str, str] = {}
        for a, b in sorted(contradictions):
            first, second = memories_by_id[a], memories_by_id[b]
            if a != b and not (first.unconfirmed or second.unconfirmed):
                loser, winner = sorted((first, second), key=_get_priority)
                winners[loser.id] = winner.id
        marked = (memories_by_id[id].model_copy(update={"contradicted_by": winner}) for id, winner in winners.items())
        self._rewrite([first for first in marked if memories_by_id[first.id].contradicted_by != first.contradicted_by])

    def _abstract(self) -> None:
        """Derive procedures from episodes: which strategy does well with which type of query."""
        lessons: dict[tuple[str, str, str], _EpisodeTotals] = defaultdict(_EpisodeTotals)
        columns = ["owner", "query_type", "strategy", "score", "searches", "created_at"]
        for batch in self._batches(columns, "kind = 'episodic' AND strategy <> '' AND query_type <> ''"):
            for owner, kind, strategy, *figures in zip(*(batch[name].to_pylist() for name in columns), strict=True):
                lessons[owner, kind, strategy].add(*figures)
        built = [self._build_procedure(*key, totals) for key, totals in sorted(lessons.items())]
        procedures = {procedure.id: procedure for procedure in built if procedure is not None}
        stored = self._load_memories(list(procedures))
        new = [
            procedure
            for id, procedure in procedures.items()
            if id not in stored or _get_content(procedure) != _get_content(stored[id])
        ]
        vectors = self._encode([procedure.text for procedure in new])
        memory_rows.write_memories(self._store, self._table, new, vectors, self._model.name, new=False)
        self._changed += len(new)

    def _build_procedure(self, owner: str, kind: Any, strategy: str, totals: _EpisodeTotals) -> Memory | None:
        """Return the procedure that episodes support; None if there are too few."""
        if totals.episodes < scoring.MIN_EPISODES:
            return None
        record = StrategyRecord(
            query_type=kind,
            strategy=strategy,
            episodes=totals.episodes,
            score=totals.score,
            searches=totals.searches,
        )
        procedure = scoring.build_lesson(record, totals.well)
        return Memory(
            id=memory_rows.make_memory_id(owner, "", f"lesson\0{kind}\0{strategy}"),
            kind="procedural",
            owner=owner,
            text=scoring.format_procedure(procedure),
            created_at=memory_rows.from_seconds(totals.newest),
            origin=MemoryOrigin(corpora=()),  # a procedure counts outcomes, and has no text of a corpus
            confidence=scoring.compute_confidence(procedure),
            importance=scoring.LESSON_IMPORTANCE,
            details=procedure,
        )

    def _forget(self) -> None:
        """Delete memories that have decayed, and the weakest of owners with too many."""
        decayed: list[str] = []
        kept_strengths: dict[str, list[NDArray[np.float64]]] = defaultdict(list)
        for ids, owners, strengths, removed in self._compute_strengths(""):
            decayed += [id for id, go in zip(ids, removed, strict=True) if go]
            for owner in set(owners.tolist()):
                kept_strengths[owner].append(strengths[(owners == owner) & ~removed])
        self._delete(decayed)
        for owner, parts in sorted(kept_strengths.items()):
            if (excess := sum(map(len, parts)) - self._policy.max_memories) > 0:
                self._delete_weakest(owner, excess, float(np.partition(np.concatenate(parts), excess - 1)[excess - 1]))

    def _delete_weakest(self, owner: str, excess: int, bound: float) -> None:
        """Delete `excess` memories of an owner whose strength is at most `bound`."""
        weak: list[str] = []
        for ids, _, strengths, _ in self._compute_strengths(f"owner = {quote_literal(owner)}"):
            weak += [id for id, value in zip(ids, strengths, strict=True) if value <= bound]
        self._delete(weak[:excess])

    def _delete(self, ids: Sequence[str]) -> None:
        memory_rows.delete_memories(self._store, self._table, ids)
        self._changed += len(ids)

    def _compute_strengths(
        self, where: str
    ) -> Iterator[tuple[list[str], NDArray[np.object_], NDArray[np.float64], NDArray[np.bool_]]]:
        """Yield ids, owners and strengths of memories, and a mask of those that have decayed."""
        for batch in self._batches(["id", "owner", "kind", "created_at", "importance", "unconfirmed"], where):
            rows = batch.to_pylist()
            used = memory_rows.load_uses(self._store, batch["id"].to_pylist())
            never = {"last_used_at": 0}
            last_uses = [max(row["created_at"], used.get(row["id"], never)["last_used_at"]) for row in rows]
            ages = self._now - np.asarray(last_uses, dtype=np.float64)
            kinds: list[MemoryKind] = [row["kind"] for row in rows]
            fresh = scoring.compute_freshness(kinds, ages, self._policy)
            strengths = np.asarray([row["importance"] for row in rows], dtype=np.float64) * fresh
            removed = [
                scoring.is_faded(kind, age, value, unconfirmed=row["unconfirmed"], policy=self._policy)
                for row, kind, age, value in zip(rows, kinds, ages.tolist(), strengths.tolist(), strict=True)
            ]
            owners = np.asarray([row["owner"] for row in rows], dtype=object)
            yield batch["id"].to_pylist(), owners, strengths, np.asarray(removed, dtype=bool)


def _list_pairs(neighbours: Mapping[str, Sequence[tuple[float, str]]]) -> Iterator[tuple[str, float, str]]:
    return ((id, similarity, other) for id, near in neighbours.items() for similarity, other in near)


def _split_by_repository(memories: Iterable[Memory]) -> Iterable[Sequence[Memory]]:
    """Return the memories of each repository: a lesson is recalled in its own only, however similar another one is."""
    groups: defaultdict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        groups[getattr(memory.details, "repository", "")].append(memory)
    return groups.values()


def _get_priority(memory: Memory) -> tuple[int, int, str]:
    """Return the sort key of contradicting memories: more independent sources, then the newer one is believed."""
    return memory.origin.support, memory_rows.to_seconds(memory.created_at), memory.id


def _get_content(memory: Memory) -> tuple[object, ...]:
    return memory.details, memory.created_at, memory.text
