"""Read and write the rows of memories and of their uses, and count the support of their sources.

Each size of vectors has a table of its own, as for chunks. Uses are counted in a separate table, so that a recall
rewrites no vector.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tenure.algorithms.memory.scoring import (
    SourceEvidence,
    SourceSupport,
    count_independent_sources,
    extract_entity_keys,
    extract_site,
)
from tenure.algorithms.text.near_duplicates import compute_fingerprint
from tenure.algorithms.text.passage import Vectors
from tenure.contracts.base import SourceId
from tenure.contracts.knowledge.memory import MAX_PREFERENCES, MEMORY_URI, EpisodeDetails, Memory
from tenure.knowledge.embeddings.cache import build_vector_column
from tenure.knowledge.store.indexes import MIN_INDEXED_ROWS
from tenure.knowledge.store.schema import (
    MEMORIES_PREFIX,
    MEMORY_USES,
    MEMORY_USES_SCHEMA,
    SOURCES,
    build_memory_schema,
    hash_parts,
)
from tenure.knowledge.store.store import Store, quote_list, quote_literal

COLUMNS = ("memory",)
"""Columns from which a memory is read: one contains it serialized; searchable fields have columns of their own."""

PASS_ROWS = 2_000
"""Memories of a batch in a pass over all memories of an owner."""

FACT_KINDS = ("long_term", "semantic", "short_term")
"""Kinds of memories that state facts and may therefore agree with or contradict each other."""

_NOT_AN_EPISODE = {"query_type": "", "strategy": "", "score": 0.0, "searches": 0}

_COMPACT_EVERY = 32
"""Commits of uses after which their small files are compacted: reading many takes longer than counting a use."""

MemoryRow = Mapping[str, Any]


def make_memory_id(owner: str, run: str, words: str) -> str:
    """Return the id of a memory: 24 hexadecimal digits, the same for the same words of a run."""
    return hash_parts(owner, run, words)[:24]


def to_seconds(moment: datetime) -> int:
    """Return a time in seconds since 1970, as the tables store it."""
    return int(moment.timestamp())


def from_seconds(at: int) -> datetime:
    """Return the time of seconds since 1970."""
    return datetime.fromtimestamp(at, UTC)


def list_memory_tables(store: Store) -> tuple[str, ...]:
    """Return the names of the tables of memories, for all sizes of vectors."""
    return tuple(sorted(name for name in store.list_table_names() if name.startswith(MEMORIES_PREFIX)))


def parse_memory(row: MemoryRow) -> Memory:
    """Return the memory of a row of `COLUMNS`, without its uses."""
    return Memory.model_validate_json(row["memory"])


def load_memories(store: Store, table: str, ids: Sequence[str]) -> dict[str, Memory]:
    """Return the memories that still exist, by id, without their uses."""
    rows = store.read_rows_in(table, COLUMNS, "id", ids).to_pylist()
    return {memory.id: memory for memory in map(parse_memory, rows)}


def add_uses(memory: Memory, use_row: MemoryRow | None) -> Memory:
    """Return a memory with the counts of its row of uses."""
    return (
        memory.model_copy(
            update={"use_count": use_row["use_count"], "last_used_at": from_seconds(use_row["last_used_at"])}
        )
        if use_row
        else memory
    )


def build_row(memory: Memory) -> dict[str, Any]:
    """Return the row of a memory without vector, model and `compared`."""
    details = memory.details
    episode = (
        details.model_dump(include=set(_NOT_AN_EPISODE)) if isinstance(details, EpisodeDetails) else _NOT_AN_EPISODE
    )
    return {
        **{
            name: getattr(memory, name)
            for name in ("id", "owner", "kind", "text", "importance", "unconfirmed", "contradicted_by")
        },
        "created_at": to_seconds(memory.created_at),
        "run": memory.origin.run,
        "sources": list(memory.origin.sources),
        "corpora": None if memory.origin.corpora is None else list(memory.origin.corpora),
        "memory": memory.model_dump_json(exclude={"use_count", "last_used_at"}),
        "entities": list(extract_entity_keys(memory.text, details)),
        **episode,
    }


def write_memories(
    store: Store, table: str, memories: Sequence[Memory], vectors: Vectors, model: str, *, new: bool
) -> None:
    """Upsert memories with their vectors; a consolidation compares `new` ones with the others."""
    if memories:
        schema = build_memory_schema(vectors.shape[1])
        rows = [build_row(memory) for memory in memories]
        columns: dict[str, Any] = {name: [memory[name] for memory in rows] for name in rows[0]}
        columns |= {
            "compared": [not new] * len(rows),
            "model": [model] * len(rows),
            "vector": build_vector_column(vectors),
        }
        store.upsert(table, pa.table({name: columns[name] for name in schema.names}, schema=schema), "id")


def select_embedded_text(memory: Memory) -> str:
    """Return the text by which a memory is found: the question of an episode, else the memory's text."""
    return memory.details.question if isinstance(memory.details, EpisodeDetails) else memory.text


def load_preferences(store: Store, owner: str) -> list[Memory]:
    """Return the preferences that an owner has written, oldest first."""
    where = f"{build_owner_condition(owner, ('preference',))} AND run = ''"
    preferences = [
        parse_memory(row)
        for table in list_memory_tables(store)
        for row in store.read_rows(table, COLUMNS, where).to_pylist()
    ]
    ordered = sorted(preferences, key=lambda memory: (memory.created_at, memory.id))
    # While memories move to the table of another embedding model, one may be in both; the later text is valid.
    latest = {memory.id: memory for memory in ordered}
    return [memory for memory in ordered if latest[memory.id] is memory][:MAX_PREFERENCES]


def load_uses(store: Store, ids: Sequence[str]) -> dict[str, MemoryRow]:
    """Return the rows of uses by memory id, for memories that were ever used."""
    if not ids:
        return {}
    columns = MEMORY_USES_SCHEMA.names
    if store.count_rows(MEMORY_USES) > MIN_INDEXED_ROWS:
        uses = store.read_rows_in(MEMORY_USES, columns, "memory", list(ids))
    else:
        rows = store.read_small_table(MEMORY_USES, columns)
        uses = rows.filter(pc.is_in(rows["memory"], pa.array(ids, pa.string())))
    return {row["memory"]: row for row in uses.to_pylist()}


def count_uses(store: Store, ids: Sequence[str], occasion: str, now: int) -> None:
    """Count a use of memories, once per `occasion`."""
    uses = load_uses(store, ids)
    rows = [
        {
            "memory": id,
            "use_count": (uses[id]["use_count"] if id in uses else 0) + 1,
            "last_used_at": now,
            "used_by": occasion,
        }
        for id in ids
        if id not in uses or uses[id]["used_by"] != occasion
    ]
    if not rows:
        return
    store.upsert(MEMORY_USES, pa.Table.from_pylist(rows, schema=MEMORY_USES_SCHEMA), "memory")
    if store.open_table(MEMORY_USES).version % _COMPACT_EVERY == 0:
        store.compact(MEMORY_USES)


def store_uses(store: Store, memories: Iterable[Memory]) -> None:
    """Store the use counts of merged memories."""
    rows = [
        {
            "memory": memory.id,
            "use_count": memory.use_count,
            "last_used_at": to_seconds(memory.last_used_at),
            "used_by": "",
        }
        for memory in memories
        if memory.last_used_at is not None
    ]
    store.upsert(MEMORY_USES, pa.Table.from_pylist(rows, schema=MEMORY_USES_SCHEMA), "memory")


def _delete_personal_passages(store: Store, ids: Sequence[str]) -> None:
    """Delete the passages that runs have made of memories as statements of a person."""
    sources = store.read_rows_in(SOURCES, ["id"], "uri", [f"{MEMORY_URI}{id}" for id in ids])["id"].to_pylist()
    if sources:
        for table in store.list_chunk_tables():
            store.delete_rows_in(table, "source_id", sources)
        store.delete_rows_in(SOURCES, "id", sources)


def delete_memories(store: Store, table: str, ids: Sequence[str]) -> None:
    """Delete memories with their uses and the passages made of them, and clear contradictions by them."""
    if ids:
        store.delete_rows_in(MEMORY_USES, "memory", ids)
        _delete_personal_passages(store, ids)
        deleted = set(ids)
        disputed = [parse_memory(row) for row in store.read_rows_in(table, COLUMNS, "contradicted_by", ids).to_pylist()]
        store.delete_rows_in(table, "id", ids)
        rewrite_memories(
            store,
            table,
            [memory.model_copy(update={"contradicted_by": ""}) for memory in disputed if memory.id not in deleted],
        )


def rewrite_memories(store: Store, table: str, memories: Sequence[Memory]) -> None:
    """Rewrite memories that still exist; their vectors stay."""
    update_memories(store, table, [build_row(memory) for memory in memories])


def update_memories(store: Store, table: str, rows: Sequence[MemoryRow]) -> None:
    """Update some columns of memories that still exist; all rows have the same columns.

    The rows are written whole: with partial rows the database would read the whole table.
    """
    if rows:
        schema = build_memory_schema(int(table.removeprefix(MEMORIES_PREFIX)))
        stored = store.read_rows_in(table, schema.names, "id", [memory["id"] for memory in rows])
        changed = {memory["id"]: memory for memory in rows}
        columns = {name: stored[name] for name in schema.names}
        for name in rows[0]:
            columns[name] = pa.array([changed[id][name] for id in stored["id"].to_pylist()], schema.field(name).type)
        store.update_columns(table, pa.table(columns, schema=schema), "id")


def compute_supports(store: Store, sources: Iterable[Sequence[SourceId]]) -> list[SourceSupport]:
    """Return the support of each memory by its sources; deleted sources count nothing.

    Texts are read only of web pages, and only for memories with several sources: a page never confirms itself.
    """
    listed = [tuple(dict.fromkeys(ids)) for ids in sources]
    every = list(dict.fromkeys(id for ids in listed for id in ids))
    uris = dict(_read_column(store, every, "uri"))
    web_sources = {id for ids in listed if len(ids) > 1 for id in ids if extract_site(uris.get(id, ""))}
    fingerprints = {id: compute_fingerprint(text) for id, text in _read_column(store, sorted(web_sources), "text")}
    return [
        count_independent_sources(SourceEvidence(id, uris[id], fingerprints.get(id, ())) for id in ids if id in uris)
        for ids in listed
    ]


def _read_column(store: Store, ids: Sequence[SourceId], column: str) -> list[tuple[SourceId, str]]:
    rows = store.read_rows_in(SOURCES, ["id", column], "id", list(ids)) if ids else None
    return list(zip(rows["id"].to_pylist(), rows[column].to_pylist(), strict=True)) if rows is not None else []


def load_corpora(store: Store, sources: Iterable[SourceId]) -> dict[SourceId, str]:
    """Return the corpora of sources that still exist."""
    return dict(_read_column(store, list(dict.fromkeys(sources)), "corpus"))


def build_corpora_condition(corpora: Sequence[str]) -> str:
    """Return the condition of memories that a run may recall that reads some corpora.

    It has to read every corpus that a memory comes from. Without a known origin, only memories of no run and of no
    source are recalled.
    """
    readable = f" OR array_has_all(make_array{quote_list(corpora)}, corpora)" if corpora else ""
    readable_only = f"(corpora IS NOT NULL AND (cardinality(corpora) = 0{readable}))"
    return f"({readable_only} OR (corpora IS NULL AND run = '' AND cardinality(sources) = 0))"


def build_run_condition(without: Sequence[str]) -> str:
    """Return the end of a condition that leaves the memories of some runs out; empty for no runs."""
    return f" AND run NOT IN {quote_list(without)}" if without else ""


def build_owner_condition(owner: str, kinds: Sequence[str] = ()) -> str:
    """Return the condition of an owner's memories of some kinds; of all kinds if none is given."""
    of_owner = f"owner = {quote_literal(owner)}"
    return f"{of_owner} AND kind IN {quote_list(kinds)}" if kinds else of_owner
