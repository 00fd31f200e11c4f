"""Rows of memories: what stands in the table, and which sources stand behind it.

Each size of vectors has a table, as chunks have. Uses are counted in a table of their own, since a recall must not
rewrite rows with vectors.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tenure.algorithms.memory.scoring import Support, Witness, entities, site, support
from tenure.algorithms.text.near_duplicates import fingerprint
from tenure.algorithms.text.passage import Vectors
from tenure.contracts.base import SourceId
from tenure.contracts.knowledge.memory import Episode, Memory
from tenure.knowledge.embeddings.cache import vector_column
from tenure.knowledge.store.indexes import INDEX_ROWS
from tenure.knowledge.store.schema import (
    MEMORIES_PREFIX,
    MEMORY_USES,
    MEMORY_USES_SCHEMA,
    SOURCES,
    digest,
    memories_schema,
)
from tenure.knowledge.store.store import Store, literal, quoted

COLUMNS = ("memory",)
"""What a memory is read from; what it is found by stands in columns beside it."""

_NOT_AN_EPISODE = {"query_type": "", "strategy": "", "score": 0.0, "searches": 0}

_COMMITS = 32
"""Commits of uses after which their small files are joined: reading many takes longer than counting a use."""

Row = Mapping[str, Any]


def memory_id(owner: str, run: str, words: str) -> str:
    """Return the id of what a run remembers for an owner."""
    return digest(owner, run, words)[:24]


def seconds(moment: datetime) -> int:
    """Return a moment as the tables have it."""
    return int(moment.timestamp())


def moment(at: int) -> datetime:
    """Return a moment of the tables."""
    return datetime.fromtimestamp(at, UTC)


def tables(store: Store) -> tuple[str, ...]:
    """Return the tables of memories there are, whatever their vectors' size."""
    return tuple(sorted(name for name in store.names() if name.startswith(MEMORIES_PREFIX)))


def memory(row: Row) -> Memory:
    """Return the memory of a row of `COLUMNS`, as if it was never used."""
    return Memory.model_validate_json(row["memory"])


def with_uses(one: Memory, use: Row | None) -> Memory:
    """Return a memory with its row of uses."""
    return one.model_copy(update={"uses": use["uses"], "last_used": moment(use["last_used"])}) if use else one


def row(one: Memory) -> dict[str, Any]:
    """Return what stands in the table of a memory, but for its vector, the vector's model and whether it is new."""
    details = one.details
    episode = details.model_dump(include=set(_NOT_AN_EPISODE)) if isinstance(details, Episode) else _NOT_AN_EPISODE
    return {
        **{name: getattr(one, name) for name in ("id", "owner", "kind", "text", "importance", "awaiting", "disputed")},
        "made": seconds(one.made),
        "run": one.origin.run,
        "sources": list(one.origin.sources),
        "memory": one.model_dump_json(exclude={"uses", "last_used"}),
        "entities": list(entities(one.text, details)),
        **episode,
    }


def write(store: Store, table: str, memories: Sequence[Memory], vectors: Vectors, model: str, *, new: bool) -> None:
    """Write memories with their vectors; one of the same id is replaced.

    Args:
        store: where they are written.
        table: of memories with vectors of this size.
        memories: the memories, n of them.
        vectors: theirs, shape (n, dimensions).
        model: what made the vectors.
        new: whether a consolidation has to hold them against the others.
    """
    if memories:
        schema = memories_schema(vectors.shape[1])
        rows = [row(one) for one in memories]
        columns: dict[str, Any] = {name: [one[name] for one in rows] for name in rows[0]}
        columns |= {"compared": [not new] * len(rows), "model": [model] * len(rows), "vector": vector_column(vectors)}
        store.merge(table, pa.table({name: columns[name] for name in schema.names}, schema=schema), "id")


def embedded_text(one: Memory) -> str:
    """Return what a memory is found by: of an episode the question, since a like question is what recalls it."""
    return one.details.question if isinstance(one.details, Episode) else one.text


def uses(store: Store, ids: Sequence[str]) -> dict[str, Row]:
    """Return the rows of uses of memories that were ever used."""
    if not ids:
        return {}
    columns = MEMORY_USES_SCHEMA.names
    if store.count(MEMORY_USES) > INDEX_ROWS:
        found = store.rows_in(MEMORY_USES, columns, "memory", list(ids))
    else:
        rows = store.all_rows(MEMORY_USES, columns)
        found = rows.filter(pc.is_in(rows["memory"], pa.array(ids, pa.string())))
    return {row["memory"]: row for row in found.to_pylist()}


def count_uses(store: Store, ids: Sequence[str], known: Mapping[str, Row], occasion: str, now: int) -> None:
    """Count a use of memories, once for each occasion."""
    rows = [
        {
            "memory": id,
            "uses": (known[id]["uses"] if id in known else 0) + 1,
            "last_used": now,
            "occasion": occasion,
        }
        for id in ids
        if id not in known or known[id]["occasion"] != occasion
    ]
    store.merge(MEMORY_USES, pa.Table.from_pylist(rows, schema=MEMORY_USES_SCHEMA), "memory")
    if store.table(MEMORY_USES).version % _COMMITS == 0:
        store.compact(MEMORY_USES)


def keep_uses(store: Store, memories: Iterable[Memory]) -> None:
    """Write the uses of memories that were made of others."""
    rows = [
        {"memory": one.id, "uses": one.uses, "last_used": seconds(one.last_used), "occasion": ""}
        for one in memories
        if one.last_used is not None
    ]
    store.merge(MEMORY_USES, pa.Table.from_pylist(rows, schema=MEMORY_USES_SCHEMA), "memory")


def delete(store: Store, table: str, ids: Sequence[str]) -> None:
    """Delete memories with their uses; what was disputed for one of them no longer is."""
    if ids:
        store.delete_in(MEMORY_USES, "memory", ids)
        gone = set(ids)
        disputed = [memory(row) for row in store.rows_in(table, COLUMNS, "disputed", ids).to_pylist()]
        store.delete_in(table, "id", ids)
        rewrite(store, table, [one.model_copy(update={"disputed": ""}) for one in disputed if one.id not in gone])


def rewrite(store: Store, table: str, memories: Sequence[Memory]) -> None:
    """Write memories that are still there anew; their vectors stay."""
    fill(store, table, [row(one) for one in memories])


def fill(store: Store, table: str, rows: Sequence[Row]) -> None:
    """Write some columns of memories that are still there; all rows have the same ones.

    The rows are written whole: where only some columns are given, the database reads all of the table.
    """
    if rows:
        schema = memories_schema(int(table.removeprefix(MEMORIES_PREFIX)))
        there = store.rows_in(table, schema.names, "id", [one["id"] for one in rows])
        changed = {one["id"]: one for one in rows}
        columns = {name: there[name] for name in schema.names}
        for name in rows[0]:
            columns[name] = pa.array([changed[id][name] for id in there["id"].to_pylist()], schema.field(name).type)
        store.fill(table, pa.table(columns, schema=schema), "id")


def supports(store: Store, sources: Iterable[Sequence[SourceId]]) -> list[Support]:
    """Return for each memory what its sources are worth; a source that is gone is worth nothing.

    Texts are read only of pages of the web, and only where a memory has several: one page never supports itself.
    """
    listed = [tuple(dict.fromkeys(ids)) for ids in sources]
    every = list(dict.fromkeys(id for ids in listed for id in ids))
    uris = dict(_pairs(store, every, "uri"))
    outside = {id for ids in listed if len(ids) > 1 for id in ids if site(uris.get(id, ""))}
    prints = {id: fingerprint(text) for id, text in _pairs(store, sorted(outside), "text")}
    return [support(Witness(id, uris[id], prints.get(id, ())) for id in ids if id in uris) for ids in listed]


def _pairs(store: Store, ids: Sequence[SourceId], column: str) -> list[tuple[SourceId, str]]:
    found = store.rows_in(SOURCES, ["id", column], "id", list(ids)) if ids else None
    return list(zip(found["id"].to_pylist(), found[column].to_pylist(), strict=True)) if found is not None else []


def owned(owner: str, kinds: Sequence[str] = ()) -> str:
    """Return the condition for an owner's memories of some kinds, of all where none is named."""
    own = f"owner = {literal(owner)}"
    return f"{own} AND kind IN {quoted(kinds)}" if kinds else own
