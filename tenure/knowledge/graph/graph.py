"""Build the graph of a corpus at ingestion.

`mentions` has a row for each chunk: the names and noun phrases in it, and which of them share a sentence. `statements`
has a row for each chunk that states facts of earlier runs. Two inverted tables list the chunks of what
several chunks share or a chunk is about: `entities` for each name and phrase, `relations` for each pair. `graphs` has a
row for each corpus that changes with its graph, so that a process knows when the graph in its memory is out of date.
"""

import uuid
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tenure.algorithms.retrieval.passage_links import MAX_PASSAGES_PER_NAME
from tenure.algorithms.retrieval.relations import EntityPair, EntityPairCounts, sort_pair
from tenure.algorithms.text import entities as naming
from tenure.algorithms.text.phrases import normalize_term
from tenure.knowledge.store.schema import (
    ENTITIES,
    GRAPHS,
    GRAPHS_SCHEMA,
    MENTIONS,
    RELATIONS,
    SCHEMAS,
    STATEMENTS,
    hash_parts,
)
from tenure.knowledge.store.store import Store, quote_literal
from tenure.sources.parsers.reader_process import ParsedChunk

TAB = "\t"
"""Separator between keys, which no key contains."""
CHUNK_LISTS = ("titled", "named", "mentioned")
"""Columns of `entities` with chunks."""


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
    for table in (ENTITIES, MENTIONS):
        store.refresh_indexes(table)
    _synchronize_rows(store, RELATIONS, where, _build_relation_rows(store, corpus, where))
    for table in (STATEMENTS, RELATIONS):
        store.refresh_indexes(table)
    # The version is written last, so that a process with the new version has read the new rows.
    version = {"corpus": corpus, "version": uuid.uuid4().hex, "chunks": store.count_rows(MENTIONS, where)}
    store.upsert(GRAPHS, pa.Table.from_pylist([version], schema=GRAPHS_SCHEMA), "corpus")


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
    # A pair in a single passage links nothing, unless a fact states its relation.
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
    """Return the distinct predicates that facts have for each pair."""
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
        **{f"{kind}_count": len(lists[kind]) for kind in CHUNK_LISTS},
        **{kind: lists[kind] if len(lists[kind]) <= MAX_PASSAGES_PER_NAME else [] for kind in CHUNK_LISTS},
    }
