"""Remember, recall and forget memories of owners.

An owner recalls only memories of their own, and a run only those that come from corpora that it may read. A statement
from a web page is unconfirmed until a page of another site, which is no copy, says the same. Unconfirmed memories are
never recalled, so that a single page cannot plant a memory.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pyarrow.compute as pc

from tenure.algorithms.memory import scoring
from tenure.algorithms.text.passage import Encoder, Vectors
from tenure.algorithms.text.sentences import normalize_sentence
from tenure.contracts.base import RunId, SourceId
from tenure.contracts.evidence.web import WEB_PREFIX
from tenure.contracts.knowledge.maintenance import UpkeepProgress, UpkeepReport
from tenure.contracts.knowledge.memory import (
    MAX_PREFERENCE_CHARS,
    MAX_PREFERENCES,
    ConsolidationRequest,
    EpisodeDetails,
    FactDetails,
    ForgetReply,
    ForgetRequest,
    MemoriesReply,
    MemoriesRequest,
    Memory,
    MemoryDetails,
    MemorySearchReply,
    MemorySearchRequest,
    NewMemory,
    ProcedureDetails,
    RememberReply,
    RememberRequest,
    ScoredMemory,
    StrategyRecord,
    WriteMemoryReply,
    WriteMemoryRequest,
)
from tenure.contracts.knowledge.memory_policy import MemoryPolicy
from tenure.knowledge.embeddings.calibration import measure_model_baseline, normalize_relevance
from tenure.knowledge.graph.facts import QuotedFact, add_facts
from tenure.knowledge.graph.walks import EntityGraph
from tenure.knowledge.memory import personal
from tenure.knowledge.memory import rows as memory_rows
from tenure.knowledge.memory.consolidation import Consolidation
from tenure.knowledge.memory.rows import FACT_KINDS, PASS_ROWS
from tenure.knowledge.store.catalogue import is_results_corpus
from tenure.knowledge.store.errors import InvalidSearch
from tenure.knowledge.store.schema import build_memory_table_name
from tenure.knowledge.store.store import Store, quote_list, quote_literal
from tenure.models.embedding import EmbeddingModel

MAX_NEAREST = 40
"""Nearest memories of a query among which importance, age and use decide."""
MAX_ENTITY_MATCHES = 10
"""Additional memories that name an entity of the query."""
_SURPLUS = 2
"""Rows that are read for each memory of a recall, because a run may not recall all of them."""
MAX_CORROBORATING = 5
"""Nearest memories of a new one that may say the same."""
MAX_RELATED_ENTITIES = 12
"""Neighbours of the entities of a query in the graph whose facts are considered."""
_MAX_EQUAL = 5
"""Nearest memories of a text that a person writes that may have the same words."""
MAX_REPLY_CHARACTERS = 180_000
"""Characters of memories that fit into one reply."""
CHARACTERS_PER_MEMORY = 400
"""Characters of a memory in a reply besides its text."""

T = TypeVar("T")


class Memories:
    """Memories of one knowledge base; safe to share between threads."""

    def __init__(self, store: Store, model: EmbeddingModel, encode: Encoder, policy: MemoryPolicy) -> None:
        self._store, self._model, self._encode, self._policy = store, model, encode, policy
        self._table = build_memory_table_name(model.dimensions)

    def remember(self, request: RememberRequest) -> RememberReply:
        """Store new memories; the operation is idempotent."""
        supports = memory_rows.compute_supports(self._store, (new.origin.sources for new in request.memories))
        corpora = memory_rows.load_corpora(self._store, (id for new in request.memories for id in new.origin.sources))
        built = [
            self._build_memory(new, support, _find_corpora(new, corpora), request)
            for new, support in zip(request.memories, supports, strict=True)
        ]
        first = {memory.id: memory for memory in reversed(built)}
        stored = self._load_memories(list(first))
        memories = [_merge_repeated(memory, stored.get(id)) for id, memory in first.items()]
        vectors = self._encode([memory_rows.select_embedded_text(memory) for memory in memories])
        joined = [self._corroborate(memory, vector) for memory, vector in zip(memories, vectors, strict=True)]
        memory_rows.write_memories(self._store, self._table, joined, vectors, self._model.name, new=True)
        state = {memory.id: memory for memory in joined}
        stated = [
            QuotedFact(new.details, new.quotes)
            for new, memory in zip(request.memories, built, strict=True)
            if isinstance(new.details, FactDetails) and new.quotes and not state[memory.id].unconfirmed
        ]
        add_facts(self._store, self._model.dimensions, stated)
        return RememberReply(
            memories=tuple(memory.id for memory in built),
            kinds=tuple(state[memory.id].kind for memory in built),
            unconfirmed=sum(memory.unconfirmed for memory in joined),
        )

    def write(self, request: WriteMemoryRequest) -> WriteMemoryReply:
        """Store a memory that a person has written, or return why it is not stored; the operation is idempotent."""
        replaced = self._load_memories([request.replaces]).get(request.replaces) if request.replaces else None
        if request.replaces and (replaced is None or replaced.owner != request.owner):
            return WriteMemoryReply(problem="unknown")
        if replaced and replaced.kind == "episodic":
            return WriteMemoryReply(problem="episode", memory=replaced)
        kind = replaced.kind if replaced else personal.choose_kind(request)
        if kind == "preference" and len(request.text) > MAX_PREFERENCE_CHARS:
            return WriteMemoryReply(problem="too_long")
        vectors = self._encode([request.text])
        equal = self._find_equal(request, vectors[0])
        if equal and equal.id != request.replaces:
            is_repeated_attempt = replaced is None and equal.created_at == request.now
            return WriteMemoryReply(problem="" if is_repeated_attempt else "duplicate", memory=equal)
        is_new_preference = kind == "preference" and replaced is None
        if is_new_preference and len(memory_rows.load_preferences(self._store, request.owner)) >= MAX_PREFERENCES:
            return WriteMemoryReply(problem="too_many")
        memory = personal.build_memory(request, kind, replaced, replaced.id if replaced else self._choose_id(request))
        memory_rows.write_memories(self._store, self._table, [memory], vectors, self._model.name, new=True)
        return WriteMemoryReply(memory=memory)

    def _find_equal(self, request: WriteMemoryRequest, vector: Vectors) -> Memory | None:
        where = f"{memory_rows.build_owner_condition(request.owner)} AND run = '' AND kind <> 'episodic'"
        where += f" AND model = {quote_literal(self._model.name)}"
        near = self._store.search_vectors(self._table, memory_rows.COLUMNS, vector, where, _MAX_EQUAL).to_pylist()
        words = personal.normalize_words(request.text)
        memories = map(memory_rows.parse_memory, near)
        return next((memory for memory in memories if personal.normalize_words(memory.text) == words), None)

    def _choose_id(self, request: WriteMemoryRequest) -> str:
        """Return the id of a new memory; not that of one that had this text before it was edited."""
        words = personal.normalize_words(request.text)
        id = memory_rows.make_memory_id(request.owner, "", words)
        if id not in self._load_memories([id]):
            return id
        return memory_rows.make_memory_id(request.owner, "", f"{words}\0{request.now.isoformat()}")

    def _build_memory(
        self,
        new_memory: NewMemory,
        support: scoring.SourceSupport,
        corpora: tuple[str, ...] | None,
        request: RememberRequest,
    ) -> Memory:
        kind = scoring.classify_memory(new_memory)
        matters = scoring.compute_importance(new_memory, kind, support.independent)
        lasting = scoring.promote_kind(kind, new_memory.text, matters)
        origin = new_memory.origin
        # Equal lessons of several runs on a repository are one memory.
        context = getattr(new_memory.details, "repository", "") or origin.run
        return Memory(
            id=memory_rows.make_memory_id(
                request.owner, context, normalize_sentence(new_memory.text) or new_memory.text
            ),
            kind=lasting,
            owner=request.owner,
            text=new_memory.text,
            created_at=request.now,
            origin=origin.model_copy(update={"support": support.independent, "corpora": corpora}),
            confidence=new_memory.confidence,
            importance=matters,
            valence=new_memory.valence,
            unconfirmed=_is_unconfirmed(new_memory.details, origin.sources, support),
            details=new_memory.details,
        )

    def _load_memories(self, ids: Sequence[str]) -> dict[str, Memory]:
        return memory_rows.load_memories(self._store, self._table, ids)

    def _corroborate(self, memory: Memory, vector: Vectors) -> Memory:
        """Return a memory with the sources of others that say the same, if its own do not confirm it."""
        if not memory.unconfirmed:
            return memory
        of_owner = memory_rows.build_owner_condition(memory.owner, FACT_KINDS)
        where = f"{of_owner} AND model = {quote_literal(self._model.name)}"
        columns = ["id", "text", "sources", "corpora"]
        near = [
            row
            for row in self._store.search_vectors(self._table, columns, vector, where, MAX_CORROBORATING).to_pylist()
            if scoring.is_duplicate(memory.text, row["text"], 1.0 - row["_distance"], self._policy.merge_similarity)
        ]
        corpora = scoring.merge_corpora([memory.origin.corpora, *(row["corpora"] for row in near)])
        confirmed = memory.model_copy(update={"origin": memory.origin.model_copy(update={"corpora": corpora})})
        sources = [*memory.origin.sources, *(source for row in near for source in row["sources"])]
        return replace_sources(self._store, confirmed, sources)

    def recall(self, request: MemorySearchRequest) -> MemorySearchReply:
        """Return the memories that match a query, best first, and count their use.

        Raises:
            InvalidSearch: the query or the list of kinds is empty.
        """
        if not request.query.strip() or not request.kinds:
            raise InvalidSearch("the query or the list of kinds is empty")
        candidates = self._find_candidates(request)
        preferences = memory_rows.load_preferences(self._store, request.owner) if request.include_preferences else []
        uses = memory_rows.load_uses(self._store, [*candidates, *(memory.id for memory in preferences)])
        ranked = sorted(
            self._score_candidates(candidates.values(), uses, request),
            key=lambda scored: (-scored.score, scored.memory.id),
        )
        best = tuple(limit_to_payload(ranked[: request.limit], lambda scored: scored.memory))
        reply = MemorySearchReply(
            memories=best,
            strategies=self.load_strategies(request.owner, request.without_runs) if request.include_strategies else (),
            preferences=tuple(preferences),
        )
        if request.used_by:
            self.count_uses([reply], request)
        return reply

    def count_uses(self, replies: Sequence[MemorySearchReply], request: MemorySearchRequest) -> None:
        """Count one use of each memory in the replies, by the user of a request."""
        recalled = [
            memory for reply in replies for memory in (*(item.memory for item in reply.memories), *reply.preferences)
        ]
        ids = list(dict.fromkeys(memory.id for memory in recalled))
        memory_rows.count_uses(self._store, ids, request.used_by, memory_rows.to_seconds(request.now))

    def _find_candidates(self, request: MemorySearchRequest) -> dict[str, tuple[Memory, float]]:
        """Return the memories nearest to a query and those that name its entities, with their cosine to it, by id."""
        with ThreadPoolExecutor(1) as executor:  # runs while the query is embedded
            naming = executor.submit(self._find_by_entity, request)
            vector = self._encode([request.query])[0]
            near = self._select_recallable(
                lambda where, limit: self._store.search_vectors(
                    self._table, memory_rows.COLUMNS, vector, where, limit
                ).to_pylist(),
                *(request, request.kinds, MAX_NEAREST),
            )
        candidates = [(memory, 1.0 - row["_distance"]) for memory, row in near]
        candidates += [(memory, float(np.asarray(row["vector"]) @ vector)) for memory, row in naming.result()]
        return {memory.id: (memory, similarity) for memory, similarity in reversed(candidates)}

    def _select_recallable(
        self,
        read: Callable[[str, int], list[dict[str, Any]]],
        request: MemorySearchRequest,
        kinds: Sequence[str],
        limit: int,
    ) -> list[tuple[Memory, dict[str, Any]]]:
        """Return the first memories that may be recalled for a request, with their rows.

        The database would evaluate conditions without an index on every row: a recall among 100,000 memories then took
        twice the time. It therefore first evaluates only the others, for more rows than needed; all conditions are left
        to it if too few of these rows may be recalled.
        """
        of_owner = memory_rows.build_owner_condition(request.owner, kinds)
        indexed = f"{of_owner} AND NOT unconfirmed AND model = {quote_literal(self._model.name)}"
        rows = read(indexed, _SURPLUS * limit)
        pairs = [(memory_rows.parse_memory(row), row) for row in rows]
        pairs = [(memory, row) for memory, row in pairs if _may_recall(memory, request)]
        if len(pairs) < limit and len(rows) == _SURPLUS * limit:
            readable = "" if request.unrestricted else f" AND {memory_rows.build_corpora_condition(request.corpora)}"
            where = f"{indexed}{memory_rows.build_run_condition(request.without_runs)}{readable}"
            pairs = [(memory_rows.parse_memory(row), row) for row in read(where, limit)]
        return pairs[:limit]

    def _find_by_entity(self, request: MemorySearchRequest) -> list[tuple[Memory, dict[str, Any]]]:
        """Return facts that name an entity of the query, with their rows and vectors."""
        keys = self._extract_entity_keys(request) if "semantic" in request.kinds else ()
        if not keys:
            return []
        naming = f"array_has_any(entities, make_array{quote_list(keys)})"
        return self._select_recallable(
            lambda where, limit: self._store.read_rows(
                self._table, [*memory_rows.COLUMNS, "vector"], f"{naming} AND {where}", limit
            ).to_pylist(),
            *(request, ("semantic",), MAX_ENTITY_MATCHES),
        )

    def _extract_entity_keys(self, request: MemorySearchRequest) -> tuple[str, ...]:
        """Return the keys of the entities of a query, and of their neighbours in the graph of the corpora."""
        keys = scoring.extract_query_keys(request.query)
        return (
            (*keys, *EntityGraph(self._store, request.corpora).find_neighbours(keys, MAX_RELATED_ENTITIES))
            if request.corpora
            else keys
        )

    def _score_candidates(
        self,
        candidates: Iterable[tuple[Memory, float]],
        uses: Mapping[str, memory_rows.MemoryRow],
        request: MemorySearchRequest,
    ) -> Iterable[ScoredMemory]:
        mean, now = self._baseline, memory_rows.to_seconds(request.now)
        near = [
            (memory_rows.add_uses(memory, uses.get(memory.id)), normalize_relevance(similarity, mean))
            for memory, similarity in candidates
        ]
        near = [(memory, likeness) for memory, likeness in near if likeness >= request.min_relevance]
        touched = [
            memory_rows.to_seconds(max(memory.created_at, memory.last_used_at or memory.created_at))
            for memory, _ in near
        ]
        freshness_values = scoring.compute_freshness(
            [memory.kind for memory, _ in near], now - np.asarray(touched, dtype=np.float64), self._policy
        )
        for (memory, likeness), freshness in zip(near, freshness_values.tolist(), strict=True):
            score = scoring.score_memory(
                *(likeness, freshness, memory.importance, memory.confidence, memory.use_count),
                disputed=bool(memory.contradicted_by),
            )
            yield ScoredMemory(memory=memory, score=round(score, 6), relevance=round(likeness, 4))

    @cached_property
    def _baseline(self) -> float:
        return measure_model_baseline(self._encode)

    def load_strategies(self, owner: str, without_runs: Sequence[RunId] = ()) -> tuple[StrategyRecord, ...]:
        """Return the results of strategies over all episodes of an owner, without those of some runs."""
        of_owner = memory_rows.build_owner_condition(owner, ("episodic",))
        where = f"{of_owner}{memory_rows.build_run_condition(without_runs)} AND strategy <> ''"
        rows = self._store.read_rows(self._table, ["query_type", "strategy", "score", "searches"], where)
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
        return tuple(sorted(records, key=lambda record: (record.query_type, record.strategy)))

    def list_page(self, request: MemoriesRequest) -> MemoriesReply:
        """Return a page of the memories of an owner, sorted by id."""
        where = memory_rows.build_owner_condition(request.owner, request.kinds)
        following = f"{where} AND id > {quote_literal(request.after)}"
        ids = self._store.read_rows(self._table, ["id"], following)["id"]
        first = ids.take(pc.sort_indices(ids)).slice(0, request.limit).to_pylist() if len(ids) else []
        stored, uses = self._load_memories(first), memory_rows.load_uses(self._store, first)
        memories = [memory_rows.add_uses(stored[id], uses.get(id)) for id in first if id in stored]
        return MemoriesReply(
            memories=tuple(limit_to_payload(memories, lambda memory: memory)),
            total=self._store.count_rows(self._table, where),
        )

    def consolidate(
        self,
        request: ConsolidationRequest,
        report: Callable[[UpkeepProgress], None],
        cancelled: Callable[[], bool] = lambda: False,
    ) -> UpkeepReport:
        """Run one step of a consolidation."""
        return Consolidation(self._store, self._model, self._encode, self._policy, request, report, cancelled).run()

    def forget(self, request: ForgetRequest) -> ForgetReply:
        """Delete the memories that match a request.

        Raises:
            InvalidSearch: the request names nothing.
        """
        if not (request.ids or request.run or request.source or request.kinds or request.all_memories):
            raise InvalidSearch("name what to forget: memories, a run, a source, kinds, or everything")
        where = memory_rows.build_owner_condition(request.owner, request.kinds)
        where += f" AND run = {quote_literal(request.run)}" if request.run else ""
        where += f" AND id IN {quote_list(request.ids)}" if request.ids else ""
        if request.source:
            return ForgetReply(forgotten=forget_sources(self._store, [SourceId(request.source)], where))
        deleted = 0
        for table in memory_rows.list_memory_tables(self._store):
            ids = self._store.read_rows(table, ["id"], where)["id"].to_pylist()
            memory_rows.delete_memories(self._store, table, ids)
            deleted += len(ids)
        return ForgetReply(forgotten=deleted)


def limit_to_payload(items: Sequence[T], memory: Callable[[T], Memory]) -> Iterable[T]:
    """Yield memories while they fit into one reply, at least one."""
    remaining = MAX_REPLY_CHARACTERS
    for number, item in enumerate(items):
        details = memory(item).details
        remaining -= len(memory(item).text) + (len(details.model_dump_json()) if details else 0) + CHARACTERS_PER_MEMORY
        if number and remaining < 0:
            return
        yield item


def _is_unconfirmed(details: MemoryDetails | None, sources: Sequence[SourceId], support: scoring.SourceSupport) -> bool:
    """Return whether a memory needs another source; an episode does not, since the run itself measured it."""
    return not isinstance(details, EpisodeDetails) and bool(sources) and not support.is_sufficient


def _may_recall(memory: Memory, request: MemorySearchRequest) -> bool:
    """Return whether a memory of the owner may be recalled; the same as the conditions on runs and corpora."""
    origin = memory.origin
    if origin.run in request.without_runs:
        return False
    if request.unrestricted:
        return True
    return not (origin.run or origin.sources) if origin.corpora is None else {*origin.corpora} <= {*request.corpora}


def _find_corpora(new_memory: NewMemory, corpora: Mapping[SourceId, str]) -> tuple[str, ...] | None:
    """Return the corpora that the text of a new memory comes from, without those of web pages; None if unknown.

    A fact comes from the corpora of its sources, if all of them are documents that still exist; anything else comes
    from all corpora that its run could read.
    """
    origin = new_memory.origin
    source_corpora = [corpora.get(source) for source in origin.sources]
    documents = [corpus for corpus in source_corpora if corpus is not None and not is_results_corpus(corpus)]
    if new_memory.rests_on_sources and source_corpora and len(documents) == len(source_corpora):
        names: Iterable[str] = documents
    elif origin.corpora is None:
        return None if origin.run or origin.sources else ()
    else:
        names = origin.corpora
    return tuple(sorted({corpus for corpus in names if not corpus.startswith(WEB_PREFIX)}))


def _merge_repeated(memory: Memory, stored: Memory | None) -> Memory:
    """Return a memory that may be stored already, with the state of the stored one."""
    if stored is None:
        return memory
    if memory.origin.run and not stored.origin.run:
        return stored  # a person has edited it
    sources = tuple(dict.fromkeys((*stored.origin.sources, *memory.origin.sources)))[: scoring.MAX_SOURCES]
    is_other_run = stored.origin.run != memory.origin.run
    update: dict[str, Any] = {
        "created_at": stored.created_at,
        "merged_count": stored.merged_count + is_other_run,
        "contradicted_by": stored.contradicted_by,
        "kind": stored.kind,
    }
    if isinstance(stored.details, ProcedureDetails):
        update["details"] = scoring.merge_details(stored, (stored, memory)) if is_other_run else stored.details
    update["importance"] = max(stored.importance, memory.importance)
    update["unconfirmed"] = memory.unconfirmed and stored.unconfirmed
    origin = {
        "sources": sources,
        "support": max(stored.origin.support, memory.origin.support),
        "corpora": scoring.merge_corpora([stored.origin.corpora, memory.origin.corpora]),
    }
    return memory.model_copy(update=update | {"origin": memory.origin.model_copy(update=origin)})


def replace_sources(store: Store, memory: Memory, sources: Iterable[SourceId]) -> Memory:
    """Return a memory with these sources, as far as they still exist, and its new support."""
    distinct = tuple(dict.fromkeys(sources))[: scoring.MAX_SOURCES]
    [support] = memory_rows.compute_supports(store, [distinct])
    return memory.model_copy(
        update={
            "origin": memory.origin.model_copy(update={"sources": distinct, "support": support.independent}),
            "unconfirmed": _is_unconfirmed(memory.details, distinct, support),
        }
    )


def forget_sources(store: Store, sources: Sequence[SourceId], where: str = "") -> int:
    """Remove sources from the memories that name them; return the number of memories deleted.

    A memory without any other source is deleted. One with other sources stays, unconfirmed if these are too few.
    """
    removed, forgotten = set(sources), 0
    for table in memory_rows.list_memory_tables(store) if removed else ():
        affected = [
            id
            for batch in store.read_batches(table, ["id", "sources"], where, PASS_ROWS)
            for id, ids in zip(batch["id"].to_pylist(), batch["sources"].to_pylist(), strict=True)
            if not removed.isdisjoint(ids)
        ]
        for at in range(0, len(affected), PASS_ROWS):
            forgotten += _remove_sources(store, table, affected[at : at + PASS_ROWS], removed)
    return forgotten


def _remove_sources(store: Store, table: str, ids: Sequence[str], sources: set[SourceId]) -> int:
    memories = memory_rows.load_memories(store, table, ids).values()
    remaining = {memory.id: [id for id in memory.origin.sources if id not in sources] for memory in memories}
    memory_rows.delete_memories(store, table, [id for id, others in remaining.items() if not others])
    staying = [replace_sources(store, memory, remaining[memory.id]) for memory in memories if remaining[memory.id]]
    memory_rows.rewrite_memories(store, table, staying)
    return len(memories) - len(staying)
