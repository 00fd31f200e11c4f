"""The graph of a corpus: what its passages name, written at ingestion and walked by a search (DESIGN §6).

`mentions` has a row for each chunk: what the chunk names, its noun phrases, and which of these share a sentence.
`statements` has a row for each chunk whose relations a model has read. Two tables turn that around, for what more
than one chunk has or some chunk is about: `entities`, a row for each name and phrase, and `relations`, a row for
each pair, both with the chunks. A small graph is kept in memory until somebody writes to it; of a large one, a
walk reads the rows around its start.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tenure.algorithms.retrieval.pagerank import personalised_pagerank
from tenure.algorithms.retrieval.passage_links import MOST, Entity, Related, answering, links, restart
from tenure.algorithms.retrieval.relations import Pair, Pairs, pair
from tenure.algorithms.text import entities as naming
from tenure.algorithms.text.phrases import term_key, terms
from tenure.algorithms.text.sentences import stems
from tenure.knowledge.store.indexes import INDEX_ROWS
from tenure.knowledge.store.schema import ENTITIES, MENTIONS, RELATIONS, SCHEMAS, STATEMENTS, digest
from tenure.knowledge.store.store import Store, literal, quoted
from tenure.sources.parsers.reading import ReadChunk

_HOPS = 2
_WIDEST = 30
"""Passages of which the second links are followed; more of them change no figure of the benchmark."""
_NAMING = 2_000
"""Characters of a query in which names are looked for."""
TAB = "\t"
"""Stands between keys, none of which contains it."""
_LISTS = ("titled", "named", "mentioned")

_Words = frozenset[str]


class _Counted(NamedTuple):
    """The chunks that lead to a name, by how they do."""

    titled: list[str]
    named: list[str]
    mentioned: list[str]


def mention(chunk: str, source: str, corpus: str, title: str, read: ReadChunk) -> dict[str, object]:
    """Return the row of `mentions` of a chunk in a document of this title."""
    about = naming.title_key(title)
    found = read.names
    return {
        "id": chunk,
        "source_id": source,
        "corpus": corpus,
        "title": about,
        "named": about in found.whole or about in found.parts,
        "names": list(found.whole),
        "parts": list(found.parts),
        "terms": read.terms,
        "phrases": TAB.join(read.phrases),
        "beside": packed(read.beside),
    }


def packed(pairs: Pairs) -> str:
    """Return pairs as one text: a line for each sentence that a pair shares, each key between two tabs."""
    return "\n".join(line for both, count in pairs.items() for line in [_line(both)] * count)


def refresh(store: Store, corpus: str) -> None:
    """Bring entities and relations of a corpus into the state of its mentions and statements."""
    where = f"corpus = {literal(corpus)}"
    _bring(store, ENTITIES, where, _entities(store, corpus, where))
    refresh_relations(store, corpus)
    for table in (ENTITIES, MENTIONS):
        store.refresh_indexes(table)


def refresh_relations(store: Store, corpus: str) -> None:
    """Bring the relations of a corpus into the state of its mentions and statements."""
    where = f"corpus = {literal(corpus)}"
    _bring(store, RELATIONS, where, _relations(store, corpus, where))
    for table in (STATEMENTS, RELATIONS):
        store.refresh_indexes(table)


def _bring(store: Store, table: str, where: str, rows: Iterable[dict[str, object]]) -> None:
    """Make rows of a table what they should be, writing only what has changed."""
    schema = SCHEMAS[table]
    wanted = {str(row["id"]): row for row in rows}
    present = {str(row["id"]): row for row in store.rows(table, schema.names, where).to_pylist()}
    store.delete_in(table, "id", [key for key in present if key not in wanted])
    changed = [row for key, row in wanted.items() if present.get(key) != row]
    store.merge(table, pa.Table.from_pylist(changed, schema=schema), "id")


def _relations(store: Store, corpus: str, where: str) -> Iterator[dict[str, object]]:
    said = _predicates(store, where)
    lines = pa.concat_tables([_shared(store, table, where) for table in (MENTIONS, STATEMENTS)])
    # A sentence that a model has read is counted once, with the entities that stand in it anyway.
    chunks = lines.group_by(["pair", "chunk"], use_threads=False).aggregate([("count", "max")])
    pairs = chunks.sort_by("chunk").group_by("pair", use_threads=False)
    found = pairs.aggregate([("count_max", "sum"), ("chunk", "count"), ("chunk", "list")])
    # What one passage alone holds of two entities leads nowhere, unless a model has read what it is.
    told = pc.is_in(found["pair"], pa.array(list(said), pa.string()))
    for row in found.filter(pc.or_(pc.greater(found["chunk_count"], 1), told)).to_pylist():
        yield {
            "id": digest(corpus, row["pair"])[:24],
            "corpus": corpus,
            "pair": row["pair"],
            "predicates": said.get(row["pair"], []),
            "count": row["count_max_sum"],
            "chunk_count": row["chunk_count"],
            "chunks": row["chunk_list"] if row["chunk_count"] <= MOST else [],
        }


def _shared(store: Store, table: str, where: str) -> pa.Table:
    """Return which pairs share how many sentences of which chunk."""
    rows = store.rows(table, ["id", "beside"], f"{where} AND beside != ''").combine_chunks()
    lines = pc.split_pattern(rows["beside"], "\n")
    each = pa.table({"pair": pc.list_flatten(lines), "chunk": rows["id"].take(pc.list_parent_indices(lines))})
    counted = each.group_by(["pair", "chunk"], use_threads=False).aggregate([([], "count_all")])
    return counted.rename_columns(["pair", "chunk", "count"])


def _predicates(store: Store, where: str) -> dict[str, list[str]]:
    """Return what models have read of pairs, each predicate once."""
    said: dict[str, set[str]] = {}
    for statements in store.rows(STATEMENTS, ["statements"], where)["statements"].to_pylist():
        for one in statements:
            said.setdefault(pair_of(one["subject"], one["object"]), set()).add(one["predicate"].lower())
    return {pair: sorted(predicates) for pair, predicates in said.items()}


def pair_of(subject: str, object: str) -> str:
    """Return how a pair of entities is written in the tables."""
    return _line(pair(term_key(subject), term_key(object)))


def _line(both: Pair) -> str:
    return TAB + TAB.join(both) + TAB


def _entities(store: Store, corpus: str, where: str) -> Iterator[dict[str, object]]:
    counted: dict[str, _Counted] = {}
    holding: dict[str, list[str]] = {}

    def at(name: str) -> _Counted:
        return counted.setdefault(name, _Counted([], [], []))

    rows = store.rows(MENTIONS, ["id", "title", "names", "parts", "phrases"], where).sort_by("id")
    for chunk, title, names, parts, phrases in zip(
        *(rows[name].to_pylist() for name in rows.column_names), strict=True
    ):
        if title:
            at(title).titled.append(chunk)
        for name in names:
            at(name).named.append(chunk)
        for name in (*names, *parts):
            at(name).mentioned.append(chunk)
        for phrase in set(filter(None, phrases.split(TAB))).difference(names, parts):
            holding.setdefault(phrase, []).append(chunk)
    for phrase, chunks_with in holding.items():
        if len(chunks_with) > 1 or phrase in counted:
            at(phrase).named.extend(chunks_with)
            at(phrase).mentioned.extend(chunks_with)
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
        phrases = self._named([term_key(term) for term in terms(query[:_NAMING])])
        start = restart(best, self._named(naming.spans(query[:_NAMING])), phrases)
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

    def beside(self, names: Sequence[str], most: int) -> tuple[str, ...]:
        """Return the keys of what shares most sentences with what is named, as far as the closest passages show it."""
        wanted = set(names)
        found = self._named(names)
        chunks = dict.fromkeys(chunk for one in found.values() for chunk in (*one.titled, *one.named))
        together: Counter[str] = Counter()
        for related in self._related(list(chunks)[:_WIDEST]).values():
            for line in related.pairs:
                one, other = line.strip(TAB).split(TAB)
                if (one in wanted) != (other in wanted):
                    together[other if one in wanted else one] += 1
        return tuple(name for name, _ in sorted(together.items(), key=lambda item: (-item[1], item[0]))[:most])

    def _links(self, chunks: Sequence[str], asked: _Words, words: dict[str, _Words]) -> dict[str, dict[str, float]]:
        related = self._related(chunks)
        entities = self._named([name for one in related.values() for name in (*one.names, *one.parts, one.title)])
        together = self._together([pair for one in related.values() for pair in one.pairs])
        found = {chunk: links(chunk, one, entities, together) for chunk, one in related.items()}
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
        rows = self._rows(MENTIONS, ["id", "title", "names", "parts", "beside"], "id", chunks)
        return {
            row["id"]: Related(
                row["title"],
                frozenset(row["names"]),
                frozenset(row["parts"]),
                frozenset(filter(None, row["beside"].split("\n"))),
            )
            for row in sorted(rows.to_pylist(), key=lambda row: str(row["id"]))
        }

    def _learn_words(self, chunks: set[str], asked: _Words, words: dict[str, _Words]) -> None:
        """Note which of the question's words each chunk has."""
        rows = self._rows(MENTIONS, ["id", "terms"], "id", sorted(chunks - words.keys()))
        for chunk, held in zip(rows["id"].to_pylist(), rows["terms"].to_pylist(), strict=True):
            words[chunk] = asked.intersection(held.split())

    def _together(self, pairs: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the chunks of each pair that share a sentence, those of several corpora taken together."""
        found: dict[str, tuple[str, ...]] = {}
        rows = self._rows(RELATIONS, ["pair", "chunks"], "pair", list(dict.fromkeys(pairs)))
        for line, chunks in zip(rows["pair"].to_pylist(), rows["chunks"].to_pylist(), strict=True):
            found[line] = tuple(sorted({*found.get(line, ()), *chunks}))
        return found

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
