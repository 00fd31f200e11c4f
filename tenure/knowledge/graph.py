"""The graph of a corpus: what its passages name, written at ingestion and walked by a search (DESIGN §6).

`mentions` has a row for each chunk: what the chunk names. `entities` turns it around: a row for each name
that links chunks, with those chunks. A small graph is kept in memory until somebody writes to it; of a large
one, a walk reads the rows around its start.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tenure.algorithms import entities as naming
from tenure.algorithms.links import MOST, Entity, Related, answering, links, restart
from tenure.algorithms.pagerank import personalised_pagerank
from tenure.algorithms.text import stems
from tenure.knowledge.indexes import INDEX_ROWS
from tenure.knowledge.schema import ENTITIES, ENTITIES_SCHEMA, MENTIONS, SCHEMAS, digest
from tenure.knowledge.store import Store, quoted

_HOPS = 2
_WIDEST = 30
"""Passages of which the second links are followed; more of them change no figure of the benchmark."""
_NAMING = 2_000
"""Characters of a query in which names are looked for."""
_LISTS = ("titled", "named", "mentioned")

_Words = frozenset[str]


class _Counted(NamedTuple):
    """The chunks that lead to a name, by how they do."""

    titled: list[str]
    named: list[str]
    mentioned: list[str]


def mention(chunk: str, source: str, corpus: str, title: str, found: naming.Names, terms: str) -> dict[str, object]:
    """Return the row of `mentions` of a chunk in a document of this title."""
    about = naming.title_key(title)
    return {
        "id": chunk,
        "source_id": source,
        "corpus": corpus,
        "title": about,
        "named": about in found.whole or about in found.parts,
        "names": list(found.whole),
        "parts": list(found.parts),
        "terms": terms,
    }


def refresh_entities(store: Store, corpus: str) -> None:
    """Bring the entities of a corpus into the state of its mentions, writing only what has changed."""
    where = f"corpus = {quoted([corpus])[1:-1]}"
    wanted = {str(row["id"]): row for row in _entities(store, corpus, where)}
    present = {str(row["id"]): row for row in store.rows(ENTITIES, ENTITIES_SCHEMA.names, where).to_pylist()}
    store.delete_in(ENTITIES, "id", [key for key in present if key not in wanted])
    changed = [row for key, row in wanted.items() if present.get(key) != row]
    store.merge(ENTITIES, pa.Table.from_pylist(changed, schema=ENTITIES_SCHEMA), "id")
    for table in (ENTITIES, MENTIONS):
        store.refresh_indexes(table)


def _entities(store: Store, corpus: str, where: str) -> Iterator[dict[str, object]]:
    counted: dict[str, _Counted] = {}

    def at(name: str) -> _Counted:
        return counted.setdefault(name, _Counted([], [], []))

    rows = store.rows(MENTIONS, ["id", "title", "names", "parts"], where).sort_by("id")
    for chunk, title, names, parts in zip(*(rows[name].to_pylist() for name in rows.column_names), strict=True):
        if title:
            at(title).titled.append(chunk)
        for name in names:
            at(name).named.append(chunk)
        for name in (*names, *parts):
            at(name).mentioned.append(chunk)
    for name, chunks in counted.items():
        # A name that one chunk mentions and none is about leads nowhere.
        if chunks.titled or len(chunks.mentioned) > 1:
            yield _entity(corpus, name, chunks)


def _entity(corpus: str, name: str, chunks: _Counted) -> dict[str, object]:
    lists = chunks._asdict()
    return {
        "id": digest(corpus, name)[:24],
        "corpus": corpus,
        "name": name,
        **{f"{kind}_count": len(lists[kind]) for kind in _LISTS},
        **{kind: lists[kind] if len(lists[kind]) <= MOST else [] for kind in _LISTS},
    }


class Graph:
    """The graph of some corpora, as a search reads it."""

    def __init__(self, store: Store, corpora: Sequence[str]) -> None:
        """Look at these corpora only."""
        self._store = store
        self._corpora = tuple(dict.fromkeys(corpora))
        self._small = store.count(MENTIONS) <= INDEX_ROWS

    def encyclopaedic(self, chunks: Sequence[str]) -> float:
        """Return the share of chunks that name what their document's title names.

        In an encyclopaedia, a news archive or a company's files most do, and names lead from one document to
        another. In a manual or a collection of papers hardly any does, and names lead astray.
        """
        rows = self._rows(MENTIONS, ["named"], "id", chunks)
        return sum(rows["named"].to_pylist()) / len(chunks) if chunks else 0.0

    def walk(self, query: str, best: Mapping[str, float]) -> dict[str, float]:
        """Return how much of a walk from the best chunks, and from what the query names, is spent at which chunk."""
        start = restart(best, self._named(naming.spans(query[:_NAMING])))
        if not start:
            return {}
        asked = frozenset(stems(query))
        weights: dict[str, dict[str, float]] = {}
        words: dict[str, _Words] = {}
        frontier = list(start)
        for _ in range(_HOPS):
            weights |= self._links(frontier, asked, words)
            frontier = _nearest(weights)
        return personalised_pagerank(weights, start)

    def _links(self, chunks: Sequence[str], asked: _Words, words: dict[str, _Words]) -> dict[str, dict[str, float]]:
        related = self._related(chunks)
        entities = self._named([name for one in related.values() for name in (*one.names, *one.parts, one.title)])
        found = {chunk: links(chunk, one, entities) for chunk, one in related.items()}
        self._learn_words({*found, *(target for targets in found.values() for target in targets)}, asked, words)
        empty: _Words = frozenset()
        return {
            chunk: {
                target: answering(weight, asked, words.get(chunk, empty), words.get(target, empty))
                for target, weight in sorted(targets.items())
            }
            for chunk, targets in found.items()
        }

    def _rows(self, table: str, columns: Sequence[str], key: str, values: Sequence[str]) -> pa.Table:
        """Return the rows of the corpora whose key is one of the values."""
        if not self._small:
            return self._store.rows_in(table, columns, key, values, f"corpus IN {quoted(self._corpora)}")
        rows = self._store.all_rows(table, SCHEMAS[table].names)
        own = pc.is_in(rows["corpus"], pa.array(self._corpora, pa.string()))
        return rows.filter(pc.and_(own, pc.is_in(rows[key], pa.array(values, pa.string())))).select(columns)

    def _related(self, chunks: Sequence[str]) -> dict[str, Related]:
        rows = self._rows(MENTIONS, ["id", "title", "names", "parts"], "id", chunks)
        return {
            row["id"]: Related(row["title"], frozenset(row["names"]), frozenset(row["parts"]))
            for row in sorted(rows.to_pylist(), key=lambda row: str(row["id"]))
        }

    def _learn_words(self, chunks: set[str], asked: _Words, words: dict[str, _Words]) -> None:
        """Note which of the question's words each chunk has."""
        rows = self._rows(MENTIONS, ["id", "terms"], "id", sorted(chunks - words.keys()))
        for chunk, terms in zip(rows["id"].to_pylist(), rows["terms"].to_pylist(), strict=True):
            words[chunk] = asked.intersection(terms.split())

    def _named(self, names: Sequence[str]) -> dict[str, Entity]:
        """Return the entities of these names, those of several corpora taken together."""
        columns = ["name", *(f"{kind}_count" for kind in _LISTS), *_LISTS]
        wanted = list(dict.fromkeys(name for name in names if name))
        found: dict[str, Entity] = {}
        rows = self._rows(ENTITIES, columns, "name", wanted)
        for name, *counts_and_lists in zip(*(rows[column].to_pylist() for column in columns), strict=True):
            found[name] = _joined(found.get(name, Entity()), counts_and_lists)
        return found


def _nearest(weights: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the chunks that links lead to and whose own are not known yet, those with the heaviest links."""
    closest: dict[str, float] = {}
    for targets in weights.values():
        for target, weight in targets.items():
            if target not in weights:
                closest[target] = max(closest.get(target, 0.0), weight)
    return heapq.nsmallest(_WIDEST, closest, key=lambda chunk: (-closest[chunk], chunk))


def _joined(entity: Entity, row: Sequence[object]) -> Entity:
    counts = [int(str(number)) for number in row[:3]]
    lists = [tuple(sorted(chunks)) for chunks in row[3:] if isinstance(chunks, list)]
    return Entity(
        entity.titled_count + counts[0],
        entity.named_count + counts[1],
        entity.mentioned_count + counts[2],
        entity.titled + lists[0],
        entity.named + lists[1],
        entity.mentioned + lists[2],
    )
