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


def build_mention_row(chunk: str, source: str, corpus: str, title: str, parsed: ParsedChunk) -> dict[str, object]:
    """Return the row of `mentions` of a chunk in a document with this title."""
    title_key = naming.normalize_title(title)
    names = parsed.names
    return {
        "id": chunk,
        "source_id": source,
        "corpus": corpus,
        "title": title_key,
        "named": title_key in names.full_names or title_key in names.partial_names,
        "names": list(names.full_names),
        "parts": list(names.partial_names),
        "terms": parsed.terms,
        "phrases": TAB.join(parsed.phrases),
        "cooccurrences": pack_pairs(parsed.co_occurrences),
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
    target = {str(row["id"]): row for row in rows}
    present = {str(row["id"]): row for row in store.read_rows(table, schema.names, where).to_pylist()}
    store.delete_rows_in(table, "id", [key for key in present if key not in target])
    changed = [row for key, row in target.items() if present.get(key) != row]
    store.upsert(table, pa.Table.from_pylist(changed, schema=schema), "id")


def _build_relation_rows(store: Store, corpus: str, where: str) -> Iterator[dict[str, object]]:
    stated = _load_stated_pairs(store, where)
    lines = pa.concat_tables([_list_pairs(store, table, where) for table in (MENTIONS, STATEMENTS)])
    distinct = lines.group_by(["pair", "chunk"], use_threads=False).aggregate([])
    pairs = distinct.sort_by("chunk").group_by("pair", use_threads=False).aggregate([("chunk", "list")])
    # A pair in a single passage links nothing, unless a fact states its relation. Most pairs are of this kind: they are
    # dropped before they become Python objects.
    is_stated = pc.is_in(pairs["pair"], pa.array(sorted(stated), pa.string()))
    linking = pairs.filter(pc.or_(pc.greater(pc.list_value_length(pairs["chunk_list"]), 1), is_stated))
    for pair, chunks in zip(linking["pair"].to_pylist(), linking["chunk_list"].to_pylist(), strict=True):
        yield {
            "id": hash_parts(corpus, pair)[:24],
            "corpus": corpus,
            "pair": pair,
            "chunks": chunks if len(chunks) <= MAX_PASSAGES_PER_NAME else [],
        }


def _list_pairs(store: Store, table: str, where: str) -> pa.Table:
    """Return the pairs that share a sentence in each chunk: columns `pair` and `chunk`."""
    rows = store.read_rows(table, ["id", "cooccurrences"], f"{where} AND cooccurrences != ''").combine_chunks()
    lines = pc.split_pattern(rows["cooccurrences"], "\n")
    return pa.table({"pair": pc.list_flatten(lines), "chunk": rows["id"].take(pc.list_parent_indices(lines))})


def _load_stated_pairs(store: Store, where: str) -> set[str]:
    return {
        make_pair_key(statement["subject"], statement["object"])
        for statements in store.read_rows(STATEMENTS, ["statements"], where)["statements"].to_pylist()
        for statement in statements
    }


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
        "mentioned_count": len(chunks.mentioned),
        **{kind: lists[kind] if len(lists[kind]) <= MAX_PASSAGES_PER_NAME else [] for kind in CHUNK_LISTS},
    }
