"""Read the graphs of corpora: from memory, or from the tables if a corpus is too large for it.

A graph in memory is loaded when a search first needs it, and again after the graph of its corpus has changed; those of
other corpora stay.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from tenure.algorithms.retrieval.passage_links import EntityPassages, PassageEntities
from tenure.knowledge.graph.graph import CHUNK_LISTS
from tenure.knowledge.store.schema import ENTITIES, GRAPHS, MENTIONS, RELATIONS
from tenure.knowledge.store.store import Store, quote_list, quote_literal

MAX_LOADED_CHUNKS = 150_000
"""Chunks whose graphs are kept in memory together; they take about 3 KB each."""

_PASSAGE_COLUMNS = ("id", "title", "names", "parts", "cooccurrences")
_ENTITY_COLUMNS = ("name", *(f"{kind}_count" for kind in CHUNK_LISTS), *CHUNK_LISTS)


class RowReader(Protocol):
    """Reader of rows of the graph of some corpora."""

    def read(self, table: str, columns: Sequence[str], keys: Iterable[str]) -> list[list[Any]]:
        """Return the values of columns in the rows with these distinct values of the first one."""


class GraphReader:
    """Graph of some corpora; unknown chunks, names and pairs are missing in the answers.

    Rows are parsed when they are first asked for.
    """

    def __init__(self, rows: RowReader) -> None:
        self._rows = rows
        self._passages: dict[str, PassageEntities] = {}
        self._entities: dict[str, EntityPassages] = {}

    def load_passages(self, chunks: Iterable[str]) -> dict[str, PassageEntities]:
        """Return the entities of chunks."""
        wanted = dict.fromkeys(chunks)
        missing = [chunk for chunk in wanted if chunk not in self._passages]
        self._passages.update(map(_parse_passage, *self._rows.read(MENTIONS, _PASSAGE_COLUMNS, missing)))
        return {chunk: self._passages[chunk] for chunk in wanted if chunk in self._passages}

    def load_terms(self, chunks: Iterable[str]) -> dict[str, str]:
        """Return the distinct stems of the words of chunks, separated by spaces."""
        return dict(zip(*self._rows.read(MENTIONS, ("id", "terms"), dict.fromkeys(chunks)), strict=True))

    def load_titled(self, chunks: Iterable[str]) -> dict[str, bool]:
        """Return whether chunks name the title of their document."""
        return dict(zip(*self._rows.read(MENTIONS, ("id", "named"), dict.fromkeys(chunks)), strict=True))

    def load_entities(self, names: Iterable[str]) -> dict[str, EntityPassages]:
        """Return the chunks of entities, merged over the corpora."""
        wanted = dict.fromkeys(names)
        missing = [name for name in wanted if name not in self._entities]
        rows = zip(*self._rows.read(ENTITIES, _ENTITY_COLUMNS, missing), strict=True)
        self._entities |= merge_entities(dict([_parse_entity(*row)]) for row in rows)
        return {name: self._entities[name] for name in wanted if name in self._entities}

    def load_pair_chunks(self, pairs: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return the chunks of pairs, merged over the corpora."""
        rows = zip(*self._rows.read(RELATIONS, ("pair", "chunks"), dict.fromkeys(pairs)), strict=True)
        return merge_pair_chunks({pair: tuple(chunks)} for pair, chunks in rows)


class StoredRows:
    """Rows of the graphs of corpora in the tables."""

    def __init__(self, store: Store, corpora: Sequence[str]) -> None:
        self._store, self._condition = store, f"corpus IN {quote_list(corpora)}"

    def read(self, table: str, columns: Sequence[str], keys: Iterable[str]) -> list[list[Any]]:
        """Return the values of columns in the rows with these values of the first one, sorted by it."""
        rows = self._store.read_rows_in(table, columns, columns[0], list(keys), self._condition)
        return _columns(rows.sort_by(columns[0]))


class LoadedRows:
    """Rows of the graph of one corpus in memory."""

    def __init__(self, store: Store, corpus: str) -> None:
        where = f"corpus = {quote_literal(corpus)}"
        columns = {
            MENTIONS: (*_PASSAGE_COLUMNS, "terms", "named"),
            ENTITIES: _ENTITY_COLUMNS,
            RELATIONS: ("pair", "chunks"),
        }
        self._tables = {table: _Rows(store.read_rows(table, names, where)) for table, names in columns.items()}

    def read(self, table: str, columns: Sequence[str], keys: Iterable[str]) -> list[list[Any]]:
        """Return the values of columns in the rows with these values of the first one, in the order of the values."""
        return self._tables[table].read(keys, columns)


class _Rows:
    """Rows of a table in memory, by the value of the first column."""

    def __init__(self, rows: pa.Table) -> None:
        self._columns = {name: _combine(rows[name]) for name in rows.column_names}
        self._places = {key: place for place, key in enumerate(rows[0].to_pylist())}

    def read(self, keys: Iterable[str], columns: Sequence[str]) -> list[list[Any]]:
        """Return the values of columns in the rows of the keys that have one."""
        places = pa.array([self._places[key] for key in keys if key in self._places], pa.int64())
        return [self._columns[name].take(places).to_pylist() for name in columns]


def _combine(column: pa.ChunkedArray) -> pa.Array:
    parts = column.combine_chunks()
    return pa.concat_arrays(parts.chunks) if isinstance(parts, pa.ChunkedArray) else parts


def _columns(rows: pa.Table) -> list[list[Any]]:
    return [rows[name].to_pylist() for name in rows.column_names]


def _parse_passage(
    chunk: str, title: str, names: list[str], parts: list[str], pairs: str
) -> tuple[str, PassageEntities]:
    return chunk, PassageEntities(title, frozenset(names), frozenset(parts), frozenset(filter(None, pairs.split("\n"))))


def _parse_entity(name: str, *row: Any) -> tuple[str, EntityPassages]:
    return name, EntityPassages(*row[:3], *(tuple(sorted(chunks)) for chunks in row[3:]))


def merge_entities(found: Iterable[Mapping[str, EntityPassages]]) -> dict[str, EntityPassages]:
    """Return the chunks of entities over several graphs."""
    merged: dict[str, EntityPassages] = {}
    for entities in found:
        for name, entity in entities.items():
            merged[name] = _add_entity(merged[name], entity) if name in merged else entity
    return merged


def _add_entity(one: EntityPassages, other: EntityPassages) -> EntityPassages:
    return EntityPassages(
        one.title_count + other.title_count,
        one.name_count + other.name_count,
        one.mention_count + other.mention_count,
        one.title_passages + other.title_passages,
        one.name_passages + other.name_passages,
        one.mention_passages + other.mention_passages,
    )


def merge_pair_chunks(found: Iterable[Mapping[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """Return the chunks of pairs over several graphs."""
    merged: dict[str, tuple[str, ...]] = {}
    for pairs in found:
        for pair, chunks in pairs.items():
            merged[pair] = tuple(sorted({*merged[pair], *chunks})) if pair in merged else tuple(sorted(chunks))
    return merged


class _GraphVersion(NamedTuple):
    version: str
    chunks: int


def open_graphs(store: Store, corpora: Sequence[str]) -> list[GraphReader]:
    """Return readers of the graphs of corpora: one for each in memory, and one for those that stay in the tables."""
    rows = store.read_small_table(GRAPHS, ("corpus", "version", "chunks"))
    known = {corpus: _GraphVersion(*rest) for corpus, *rest in zip(*_columns(rows), strict=True)}
    names, small, total = dict.fromkeys(corpora), [], 0
    for name in sorted(names.keys() & known.keys(), key=lambda name: (known[name].chunks, name)):
        total += known[name].chunks
        if total <= MAX_LOADED_CHUNKS:
            small.append(name)
    # Those of unfinished first ingestions are among them.
    stored = [name for name in names if name not in small]
    readers = [
        store.load_derived(f"graph of {name}", known[name], known[name].chunks, partial(_load_graph, store, name))
        for name in sorted(small)
    ]
    return [*readers, GraphReader(StoredRows(store, stored))] if stored else readers


def _load_graph(store: Store, corpus: str) -> GraphReader:
    return GraphReader(LoadedRows(store, corpus))
