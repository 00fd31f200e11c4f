"""Read the graphs of corpora: from memory, or from the tables if a corpus is too large for it.

A graph in memory is loaded when a search first needs it, and again after the graph of its corpus has changed; those of
other corpora stay.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import add
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from tenure.algorithms.retrieval.passage_links import EntityPassages, PassageEntities
from tenure.knowledge.graph.graph import CHUNK_LISTS
from tenure.knowledge.store.schema import ENTITIES, GRAPHS, MENTIONS, RELATIONS
from tenure.knowledge.store.store import Store, quote_list, quote_literal

MAX_LOADED_CHUNKS = 150_000
"""Chunks whose graphs are kept in memory together; they take about 3 KB each."""

_ENTITY_COLUMNS = ("name", "mentioned_count", *CHUNK_LISTS)


class RowReader(Protocol):
    """Reader of rows of the graph of some corpora."""

    def read(self, table: str, columns: Sequence[str], keys: Iterable[str]) -> list[list[Any]]:
        """Return the values of columns in the rows with these distinct values of the first one."""


class GraphReader:
    """Graph of some corpora, merged over them; unknown chunks, names and pairs are missing in the answers."""

    def __init__(self, parts: Sequence[RowReader], stored: RowReader | None = None) -> None:
        """Read rows of `parts`, and in `stored` those of chunks that an ingestion has just added."""
        self._parts, self._stored = parts, stored

    def load_passages(self, chunks: Iterable[str]) -> dict[str, PassageEntities]:
        """Return the entities of chunks, sorted by chunk."""
        rows = self._read_chunks(("title", "names", "parts", "cooccurrences"), chunks)
        return {chunk: _parse_passage(*rows[chunk]) for chunk in sorted(rows)}

    def load_terms(self, chunks: Iterable[str]) -> dict[str, str]:
        """Return the distinct stems of the words of chunks, separated by spaces."""
        return {chunk: terms for chunk, (terms,) in self._read_chunks(("terms",), chunks).items()}

    def load_titled(self, chunks: Iterable[str]) -> dict[str, bool]:
        """Return whether chunks name the title of their document."""
        return {chunk: is_named for chunk, (is_named,) in self._read_chunks(("named",), chunks).items()}

    def load_entities(self, names: Iterable[str]) -> dict[str, EntityPassages]:
        """Return the chunks of entities; counts and lists of several corpora are added."""
        merged: dict[str, list[Any]] = {}
        for name, *row in self._read(ENTITIES, _ENTITY_COLUMNS, names):
            merged[name] = [*map(add, merged[name], row)] if name in merged else row
        return {
            name: EntityPassages(row[0], *(tuple(sorted(chunks)) for chunks in row[1:])) for name, row in merged.items()
        }

    def load_pair_chunks(self, pairs: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return the sorted chunks of each pair, merged over the corpora."""
        merged: dict[str, set[str]] = {}
        for pair, chunks in self._read(RELATIONS, ("pair", "chunks"), pairs):
            merged.setdefault(pair, set()).update(chunks)
        return {pair: tuple(sorted(chunks)) for pair, chunks in merged.items()}

    def _read_chunks(self, columns: Sequence[str], chunks: Iterable[str]) -> dict[str, list[Any]]:
        distinct = list(dict.fromkeys(chunks))
        rows = {chunk: values for chunk, *values in self._read(MENTIONS, ("id", *columns), distinct)}
        if self._stored and (missing := [chunk for chunk in distinct if chunk not in rows]):
            added = zip(*self._stored.read(MENTIONS, ("id", *columns), missing), strict=True)
            rows |= {chunk: values for chunk, *values in added}
        return rows

    def _read(self, table: str, columns: Sequence[str], keys: Iterable[str]) -> Iterator[tuple[Any, ...]]:
        distinct = list(dict.fromkeys(filter(None, keys)))
        for part in self._parts:
            yield from zip(*part.read(table, columns, distinct), strict=True)


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
            MENTIONS: ("id", "title", "names", "parts", "cooccurrences", "terms", "named"),
            ENTITIES: _ENTITY_COLUMNS,
            RELATIONS: ("pair", "chunks"),
        }
        rows = {table: store.read_rows(table, names, where) for table, names in columns.items()}
        self._columns = {
            table: {name: _combine(part[name]) for name in part.column_names} for table, part in rows.items()
        }
        self._positions = {
            table: {key: position for position, key in enumerate(part[0].to_pylist())} for table, part in rows.items()
        }

    def read(self, table: str, columns: Sequence[str], keys: Iterable[str]) -> list[list[Any]]:
        """Return the values of columns in the rows with these values of the first one, in the order of the values."""
        by_key = self._positions[table]
        positions = pa.array([by_key[key] for key in keys if key in by_key], pa.int64())
        return [self._columns[table][name].take(positions).to_pylist() for name in columns]


def _combine(column: pa.ChunkedArray) -> pa.Array:
    parts = column.combine_chunks()
    return pa.concat_arrays(parts.chunks) if isinstance(parts, pa.ChunkedArray) else parts


def _columns(rows: pa.Table) -> list[list[Any]]:
    return [rows[name].to_pylist() for name in rows.column_names]


def _parse_passage(title: str, names: list[str], parts: list[str], pairs: str) -> PassageEntities:
    return PassageEntities(title, frozenset(names), frozenset(parts), frozenset(filter(None, pairs.split("\n"))))


class _GraphVersion(NamedTuple):
    version: str
    chunks: int


def open_graphs(store: Store, corpora: Sequence[str]) -> list[RowReader]:
    """Return readers of the rows of corpora: one for each in memory, and one for those that stay in the tables."""
    rows = store.read_small_table(GRAPHS, ("corpus", "version", "chunks"))
    versions = {row["corpus"]: _GraphVersion(row["version"], row["chunks"]) for row in rows.to_pylist()}
    names, small, total = dict.fromkeys(corpora), [], 0
    for name in sorted(names.keys() & versions.keys(), key=lambda name: (versions[name].chunks, name)):
        total += versions[name].chunks
        if total <= MAX_LOADED_CHUNKS:
            small.append(name)
    # Those of unfinished first ingestions are among them.
    stored = [name for name in names if name not in small]
    readers = [
        store.load_derived(f"graph of {name}", versions[name], versions[name].chunks, partial(LoadedRows, store, name))
        for name in sorted(small)
    ]
    return [*readers, StoredRows(store, stored)] if stored else [*readers]
