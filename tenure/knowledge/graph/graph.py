"""Build the graph of a corpus at ingestion, and walk it in searches.

`mentions` has a row for each chunk: the names and noun phrases in it, and which of them share a sentence. `statements`
has a row for each chunk from which a model has extracted relations. Two inverted tables list the chunks of what
several chunks share or a chunk is about: `entities` for each name and phrase, `relations` for each pair. A small graph
is cached in memory until a process writes to it; of a large one, a walk reads the rows around its start.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tenure.algorithms.retrieval.pagerank import compute_personalised_pagerank
from tenure.algorithms.retrieval.passage_links import (
    MAX_PASSAGES_PER_NAME,
    EntityPassages,
    PassageEntities,
    boost_unanswered_terms,
    compute_restart_weights,
    weigh_passage_links,
)
from tenure.algorithms.retrieval.relations import EntityPair, EntityPairCounts, sort_pair
from tenure.algorithms.text import entities as naming
from tenure.algorithms.text.phrases import extract_terms, normalize_term
from tenure.algorithms.text.sentences import stem_words
from tenure.knowledge.store.indexes import MIN_INDEXED_ROWS
from tenure.knowledge.store.schema import ENTITIES, MENTIONS, RELATIONS, SCHEMAS, STATEMENTS, hash_parts
from tenure.knowledge.store.store import Store, quote_list, quote_literal
from tenure.sources.parsers.reader_process import ParsedChunk

_MAX_HOPS = 2
_MAX_FRONTIER = 30
"""Passages whose second-hop links are followed; more of them do not improve the benchmark."""
_MAX_QUERY_CHARACTERS = 2_000
"""Characters of a query in which names are looked for."""
TAB = "\t"
"""Separator between keys, which no key contains."""
_LISTS = ("titled", "named", "mentioned")

_Words = frozenset[str]


class _ChunkLists(NamedTuple):
    """Chunks that lead to a name, by where they name it."""

    titled: list[str]
    named: list[str]
    mentioned: list[str]


def build_mention_row(chunk: str, source: str, corpus: str, title: str, read: ParsedChunk) -> dict[str, object]:
    """Return the row of `mentions` of a chunk in a document with this title."""
    title_key = naming.normalize_title(title)
    found = read.names
    return {
        "id": chunk,
        "source_id": source,
        "corpus": corpus,
        "title": title_key,
        "named": title_key in found.full_names or title_key in found.partial_names,
        "names": list(found.full_names),
        "parts": list(found.partial_names),
        "terms": read.terms,
        "phrases": TAB.join(read.phrases),
        "cooccurrences": pack_pairs(read.co_occurrences),
    }


def pack_pairs(pairs: EntityPairCounts) -> str:
    """Return pairs as one text: a line per shared sentence, each key between two tabs."""
    return "\n".join(line for pair_keys, count in pairs.items() for line in [_pack_pair(pair_keys)] * count)


def refresh_graph(store: Store, corpus: str) -> None:
    """Update the entities and relations of a corpus from its mentions and statements."""
    where = f"corpus = {quote_literal(corpus)}"
    _synchronize_rows(store, ENTITIES, where, _build_entity_rows(store, corpus, where))
    refresh_relations(store, corpus)
    for table in (ENTITIES, MENTIONS):
        store.refresh_indexes(table)


def refresh_relations(store: Store, corpus: str) -> None:
    """Update the relations of a corpus from its mentions and statements."""
    where = f"corpus = {quote_literal(corpus)}"
    _synchronize_rows(store, RELATIONS, where, _build_relation_rows(store, corpus, where))
    for table in (STATEMENTS, RELATIONS):
        store.refresh_indexes(table)


def _synchronize_rows(store: Store, table: str, where: str, rows: Iterable[dict[str, object]]) -> None:
    """Make the rows of a table that match the condition equal to `rows`; write only the differences."""
    schema = SCHEMAS[table]
    wanted = {str(row["id"]): row for row in rows}
    present = {str(row["id"]): row for row in store.read_rows(table, schema.names, where).to_pylist()}
    store.delete_rows_in(table, "id", [key for key in present if key not in wanted])
    changed = [row for key, row in wanted.items() if present.get(key) != row]
    store.upsert(table, pa.Table.from_pylist(changed, schema=schema), "id")


def _build_relation_rows(store: Store, corpus: str, where: str) -> Iterator[dict[str, object]]:
    predicates_by_pair = _load_predicates(store, where)
    lines = pa.concat_tables([_count_shared_sentences(store, table, where) for table in (MENTIONS, STATEMENTS)])
    # A sentence with both a co-occurrence and a statement of a pair counts once.
    chunks = lines.group_by(["pair", "chunk"], use_threads=False).aggregate([("count", "max")])
    pairs = chunks.sort_by("chunk").group_by("pair", use_threads=False)
    found = pairs.aggregate([("count_max", "sum"), ("chunk", "count"), ("chunk", "list")])
    # A pair in a single passage links nothing, unless a model has extracted its relation.
    is_stated = pc.is_in(found["pair"], pa.array(list(predicates_by_pair), pa.string()))
    for row in found.filter(pc.or_(pc.greater(found["chunk_count"], 1), is_stated)).to_pylist():
        yield {
            "id": hash_parts(corpus, row["pair"])[:24],
            "corpus": corpus,
            "pair": row["pair"],
            "predicates": predicates_by_pair.get(row["pair"], []),
            "count": row["count_max_sum"],
            "chunk_count": row["chunk_count"],
            "chunks": row["chunk_list"] if row["chunk_count"] <= MAX_PASSAGES_PER_NAME else [],
        }


def _count_shared_sentences(store: Store, table: str, where: str) -> pa.Table:
    """Return the number of sentences that each pair shares in each chunk: columns `pair`, `chunk`, `count`."""
    rows = store.read_rows(table, ["id", "cooccurrences"], f"{where} AND cooccurrences != ''").combine_chunks()
    lines = pc.split_pattern(rows["cooccurrences"], "\n")
    each = pa.table({"pair": pc.list_flatten(lines), "chunk": rows["id"].take(pc.list_parent_indices(lines))})
    lists_by_name = each.group_by(["pair", "chunk"], use_threads=False).aggregate([([], "count_all")])
    return lists_by_name.rename_columns(["pair", "chunk", "count"])


def _load_predicates(store: Store, where: str) -> dict[str, list[str]]:
    """Return the distinct predicates that models have extracted for each pair."""
    predicates_by_pair: dict[str, set[str]] = {}
    for statements in store.read_rows(STATEMENTS, ["statements"], where)["statements"].to_pylist():
        for statement in statements:
            predicates_by_pair.setdefault(make_pair_key(statement["subject"], statement["object"]), set()).add(
                statement["predicate"].lower()
            )
    return {pair: sorted(predicates) for pair, predicates in predicates_by_pair.items()}


def make_pair_key(subject: str, object: str) -> str:
    """Return the key of a pair of entities in the tables."""
    return _pack_pair(sort_pair(normalize_term(subject), normalize_term(object)))


def _pack_pair(pair_keys: EntityPair) -> str:
    return TAB + TAB.join(pair_keys) + TAB


def _build_entity_rows(store: Store, corpus: str, where: str) -> Iterator[dict[str, object]]:
    lists_by_name: dict[str, _ChunkLists] = {}
    chunks_by_phrase: dict[str, list[str]] = {}

    def at(name: str) -> _ChunkLists:
        return lists_by_name.setdefault(name, _ChunkLists([], [], []))

    rows = store.read_rows(MENTIONS, ["id", "title", "names", "parts", "phrases"], where).sort_by("id")
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
            chunks_by_phrase.setdefault(phrase, []).append(chunk)
    for phrase, chunks_with in chunks_by_phrase.items():
        if len(chunks_with) > 1 or phrase in lists_by_name:
            at(phrase).named.extend(chunks_with)
            at(phrase).mentioned.extend(chunks_with)
    for name, chunks in lists_by_name.items():
        # A name in a single chunk links nothing, unless a document has it as its title.
        if chunks.titled or len(chunks.mentioned) > 1:
            yield _build_entity_row(corpus, name, chunks)


def _build_entity_row(corpus: str, name: str, chunks: _ChunkLists) -> dict[str, object]:
    lists = chunks._asdict()
    return {
        "id": hash_parts(corpus, name)[:24],
        "corpus": corpus,
        "name": name,
        **{f"{kind}_count": len(lists[kind]) for kind in _LISTS},
        **{kind: lists[kind] if len(lists[kind]) <= MAX_PASSAGES_PER_NAME else [] for kind in _LISTS},
    }


class Walk(NamedTuple):
    """A random walk over the links between chunks."""

    shares: dict[str, float]
    """Share of the walk of each chunk; empty if it started nowhere."""
    has_links: bool
    """Whether there was a link to follow."""


class EntityGraph:
    """Graph of some corpora, as a search reads it."""

    def __init__(self, store: Store, corpora: Sequence[str]) -> None:
        """Read only these corpora."""
        self._store = store
        self._corpora = tuple(dict.fromkeys(corpora))
        self._is_small = store.count_rows(MENTIONS) <= MIN_INDEXED_ROWS

    def compute_title_share(self, chunks: Sequence[str]) -> float:
        """Return the share of chunks that name the title of their document, from 0 to 1.

        It is high in an encyclopaedia, a news archive or the files of a company: there, names lead from one document to
        another. It is low in a manual or a collection of papers: there, names mislead.
        """
        rows = self._read_rows(MENTIONS, ["named"], "id", chunks)
        return sum(rows["named"].to_pylist()) / len(chunks) if chunks else 0.0

    def walk(self, query: str, best: Mapping[str, float]) -> Walk:
        """Return the personalized PageRank of chunks; the walk restarts at `best` and at entities of the query."""
        phrases = self._load_entities([normalize_term(term) for term in extract_terms(query[:_MAX_QUERY_CHARACTERS])])
        start = compute_restart_weights(
            best, self._load_entities(naming.list_ngram_keys(query[:_MAX_QUERY_CHARACTERS])), phrases
        )
        if not start:
            return Walk({}, has_links=False)
        query_words = frozenset(stem_words(query))
        weights: dict[str, dict[str, float]] = {}
        words: dict[str, _Words] = {}
        frontier = list(start)
        for _ in range(_MAX_HOPS):
            weights |= self._load_links(frontier, query_words, words)
            frontier = _select_frontier(weights)
        return Walk(compute_personalised_pagerank(weights, start), has_links=any(weights.values()))

    def find_neighbours(self, names: Sequence[str], limit: int) -> tuple[str, ...]:
        """Return the keys of entities that share most sentences with some names in close passages."""
        wanted = set(names)
        found = self._load_entities(names)
        chunks = dict.fromkeys(
            chunk for first in found.values() for chunk in (*first.title_passages, *first.name_passages)
        )
        counts: Counter[str] = Counter()
        for related in self._load_passage_entities(list(chunks)[:_MAX_FRONTIER]).values():
            for line in related.pairs:
                first, second = line.strip(TAB).split(TAB)
                if (first in wanted) != (second in wanted):
                    counts[second if first in wanted else first] += 1
        return tuple(name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:limit])

    def _load_links(
        self, chunks: Sequence[str], query_words: _Words, words: dict[str, _Words]
    ) -> dict[str, dict[str, float]]:
        passages = self._load_passage_entities(chunks)
        entities = self._load_entities(
            [name for passage in passages.values() for name in (*passage.names, *passage.parts, passage.title)]
        )
        counts = self._load_pair_chunks([pair for passage in passages.values() for pair in passage.pairs])
        found = {chunk: weigh_passage_links(chunk, passage, entities, counts) for chunk, passage in passages.items()}
        self._load_query_words(
            {*found, *(target for targets in found.values() for target in targets)}, query_words, words
        )
        empty: _Words = frozenset()
        return {
            chunk: {
                target: boost_unanswered_terms(weight, query_words, words.get(chunk, empty), words.get(target, empty))
                for target, weight in sorted(targets.items())
            }
            for chunk, targets in found.items()
        }

    def _read_rows(self, table: str, columns: Sequence[str], key: str, values: Sequence[str]) -> pa.Table:
        """Return the rows of the corpora whose column `key` is one of the values."""
        if not self._is_small:
            return self._store.read_rows_in(table, columns, key, values, f"corpus IN {quote_list(self._corpora)}")
        rows = self._store.read_small_table(table, SCHEMAS[table].names)
        own = pc.is_in(rows["corpus"], pa.array(self._corpora, pa.string()))
        return rows.filter(pc.and_(own, pc.is_in(rows[key], pa.array(values, pa.string())))).select(columns)

    def _load_passage_entities(self, chunks: Sequence[str]) -> dict[str, PassageEntities]:
        rows = self._read_rows(MENTIONS, ["id", "title", "names", "parts", "cooccurrences"], "id", chunks)
        return {
            row["id"]: PassageEntities(
                row["title"],
                frozenset(row["names"]),
                frozenset(row["parts"]),
                frozenset(filter(None, row["cooccurrences"].split("\n"))),
            )
            for row in sorted(rows.to_pylist(), key=lambda row: str(row["id"]))
        }

    def _load_query_words(self, chunks: set[str], query_words: _Words, words: dict[str, _Words]) -> None:
        """Add to `words` which words of the query each chunk contains."""
        rows = self._read_rows(MENTIONS, ["id", "terms"], "id", sorted(chunks - words.keys()))
        for chunk, held in zip(rows["id"].to_pylist(), rows["terms"].to_pylist(), strict=True):
            words[chunk] = query_words.intersection(held.split())

    def _load_pair_chunks(self, pairs: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the chunks in which each pair shares a sentence, over all corpora."""
        found: dict[str, tuple[str, ...]] = {}
        rows = self._read_rows(RELATIONS, ["pair", "chunks"], "pair", list(dict.fromkeys(pairs)))
        for line, chunks in zip(rows["pair"].to_pylist(), rows["chunks"].to_pylist(), strict=True):
            found[line] = tuple(sorted({*found.get(line, ()), *chunks}))
        return found

    def _load_entities(self, names: Sequence[str]) -> dict[str, EntityPassages]:
        """Return the entities with these names, merged over all corpora."""
        columns = ["name", *(f"{kind}_count" for kind in _LISTS), *_LISTS]
        wanted = list(dict.fromkeys(name for name in names if name))
        found: dict[str, EntityPassages] = {}
        rows = self._read_rows(ENTITIES, columns, "name", wanted)
        for name, *counts_and_lists in zip(*(rows[column].to_pylist() for column in columns), strict=True):
            found[name] = _merge_entity(found.get(name, EntityPassages()), counts_and_lists)
        return found


def _select_frontier(weights: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the linked chunks whose own links are not loaded yet, those with the heaviest links."""
    closest: dict[str, float] = {}
    for targets in weights.values():
        for target, weight in targets.items():
            if target not in weights:
                closest[target] = max(closest.get(target, 0.0), weight)
    return heapq.nsmallest(_MAX_FRONTIER, closest, key=lambda chunk: (-closest[chunk], chunk))


def _merge_entity(entity: EntityPassages, row: Sequence[object]) -> EntityPassages:
    counts = [int(str(number)) for number in row[:3]]
    lists = [tuple(sorted(chunks)) for chunks in row[3:] if isinstance(chunks, list)]
    return EntityPassages(
        entity.title_count + counts[0],
        entity.name_count + counts[1],
        entity.mention_count + counts[2],
        entity.title_passages + lists[0],
        entity.name_passages + lists[1],
        entity.mention_passages + lists[2],
    )
