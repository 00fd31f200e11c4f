"""Read the graphs of corpora: from memory, or from the tables if a corpus is too large for it.

Both readers answer the same questions. A graph in memory is loaded when a search first needs it, and again after the
graph of its corpus has changed; the graphs of other corpora stay.
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


class GraphReader(Protocol):
    """Graph of some corpora; unknown chunks, names and pairs are missing in the answers."""

    def load_passages(self, chunks: Iterable[str]) -> dict[str, PassageEntities]:
        """Return the entities of chunks."""

    def load_terms(self, chunks: Iterable[str]) -> dict[str, str]:
        """Return the distinct stems of the words of chunks, separated by spaces."""

    def load_titled(self, chunks: Iterable[str]) -> dict[str, bool]:
        """Return whether chunks name the title of their document."""

    def load_entities(self, names: Iterable[str]) -> dict[str, EntityPassages]:
        """Return the chunks of entities."""

    def load_pair_chunks(self, pairs: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return the chunks of pairs."""


class StoredGraph:
    """Graph of corpora in the tables."""

    def __init__(self, store: Store, corpora: Sequence[str]) -> None:
        """Read only these corpora."""
        self._store, self._condition = store, f"corpus IN {quote_list(corpora)}"

    def load_passages(self, chunks: Iterable[str]) -> dict[str, PassageEntities]:
        """Return the entities of chunks."""
        return dict(map(_parse_passage, *_columns(self._read(MENTIONS, _PASSAGE_COLUMNS, chunks))))

    def load_terms(self, chunks: Iterable[str]) -> dict[str, str]:
        """Return the distinct stems of the words of chunks, separated by spaces."""
        return dict(zip(*_columns(self._read(MENTIONS, ("id", "terms"), chunks)), strict=True))

    def load_titled(self, chunks: Iterable[str]) -> dict[str, bool]:
        """Return whether chunks name the title of their document."""
        return dict(zip(*_columns(self._read(MENTIONS, ("id", "named"), chunks)), strict=True))

    def load_entities(self, names: Iterable[str]) -> dict[str, EntityPassages]:
        """Return the chunks of entities, merged over the corpora."""
        rows = self._read(ENTITIES, _ENTITY_COLUMNS, names)
        return merge_entities(dict([_parse_entity(*row)]) for row in zip(*_columns(rows), strict=True))

    def load_pair_chunks(self, pairs: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return the chunks of pairs, merged over the corpora."""
        rows = self._read(RELATIONS, ("pair", "chunks"), pairs)
        return merge_pair_chunks({pair: tuple(chunks)} for pair, chunks in zip(*_columns(rows), strict=True))

    def _read(self, table: str, columns: Sequence[str], keys: Iterable[str]) -> pa.Table:
        """Return the rows with these values of the first column, sorted by it."""
        wanted = list(dict.fromkeys(keys))
        return self._store.read_rows_in(table, columns, columns[0], wanted, self._condition).sort_by(columns[0])


class LoadedGraph:
    """Graph of one corpus in memory. Rows are parsed when they are first asked for."""

    def __init__(self, store: Store, corpus: str) -> None:
        """Read the graph of a corpus."""
        where = f"corpus = {quote_literal(corpus)}"
        self._chunks = _Rows(store.read_rows(MENTIONS, (*_PASSAGE_COLUMNS, "terms", "named"), where))
        self._names = _Rows(store.read_rows(ENTITIES, _ENTITY_COLUMNS, where))
        self._pairs = _Rows(store.read_rows(RELATIONS, ("pair", "chunks"), where))
        self._passages: dict[str, PassageEntities] = {}
        self._entities: dict[str, EntityPassages] = {}

    def load_passages(self, chunks: Iterable[str]) -> dict[str, PassageEntities]:
        """Return the entities of chunks."""
        known = self._chunks.select_known(chunks)
        missing = self._chunks.read([chunk for chunk in known if chunk not in self._passages], _PASSAGE_COLUMNS)
        self._passages.update(map(_parse_passage, *missing))
        return {chunk: self._passages[chunk] for chunk in known}

    def load_terms(self, chunks: Iterable[str]) -> dict[str, str]:
        """Return the distinct stems of the words of chunks, separated by spaces."""
        return dict(zip(*self._chunks.read(self._chunks.select_known(chunks), ("id", "terms")), strict=True))

    def load_titled(self, chunks: Iterable[str]) -> dict[str, bool]:
        """Return whether chunks name the title of their document."""
        return dict(zip(*self._chunks.read(self._chunks.select_known(chunks), ("id", "named")), strict=True))

    def load_entities(self, names: Iterable[str]) -> dict[str, EntityPassages]:
        """Return the chunks of entities."""
        known = self._names.select_known(names)
        missing = self._names.read([name for name in known if name not in self._entities], _ENTITY_COLUMNS)
        self._entities.update(map(_parse_entity, *missing))
        return {name: self._entities[name] for name in known}

    def load_pair_chunks(self, pairs: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return the chunks of pairs."""
        found = self._pairs.read(self._pairs.select_known(pairs), ("pair", "chunks"))
        return {pair: tuple(chunks) for pair, chunks in zip(*found, strict=True)}


class _Rows:
    """Rows of a table in memory, by the value of the first column."""

    def __init__(self, rows: pa.Table) -> None:
        self._columns = {name: _combine(rows[name]) for name in rows.column_names}
        self._places = {key: place for place, key in enumerate(rows[0].to_pylist())}

    def select_known(self, keys: Iterable[str]) -> list[str]:
        """Return the distinct keys that have a row."""
        return [key for key in dict.fromkeys(keys) if key in self._places]

    def read(self, keys: Sequence[str], columns: Sequence[str]) -> list[list[object]]:
        """Return the values of columns in the rows of keys."""
        places = pa.array([self._places[key] for key in keys], pa.int64())
        return [self._columns[name].take(places).to_pylist() for name in columns]


def _combine(column: pa.ChunkedArray) -> pa.Array:
    parts = column.combine_chunks()
    return pa.concat_arrays(parts.chunks) if isinstance(parts, pa.ChunkedArray) else parts


def _columns(rows: pa.Table) -> list[list[object]]:
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
    """Return readers of the graphs of corpora: one for each in memory, and one for those that are too large for it."""
    rows = store.read_small_table(GRAPHS, ("corpus", "version", "chunks"))
    known = {corpus: _GraphVersion(*rest) for corpus, *rest in zip(*_columns(rows), strict=True)}
    versions = {name: known.get(name) or _count_chunks(store, name) for name in dict.fromkeys(corpora)}
    small, total = [], 0
    for name in sorted(versions, key=lambda name: (versions[name].chunks, name)):
        total += versions[name].chunks
        if total <= MAX_LOADED_CHUNKS:
            small.append(name)
    large = [name for name in versions if name not in small]
    readers: list[GraphReader] = [
        store.load_derived(f"graph of {name}", versions[name], versions[name].chunks, partial(LoadedGraph, store, name))
        for name in sorted(small)
    ]
    return [*readers, StoredGraph(store, large)] if large else readers


def _count_chunks(store: Store, corpus: str) -> _GraphVersion:
    """Return the version of a graph that no process has refreshed since there are versions."""
    chunks = store.count_rows(MENTIONS, f"corpus = {quote_literal(corpus)}")
    return _GraphVersion(str(chunks), chunks)
