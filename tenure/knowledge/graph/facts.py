"""Add the facts that runs have found to the graph of the corpora that they come from.

A fact becomes a statement of each passage whose text contains its quote, its subject and its object.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from tenure.algorithms.retrieval.relations import GroundedRelation, StatedRelation, filter_grounded_relations, sort_pair
from tenure.algorithms.text.phrases import normalize_term
from tenure.contracts.base import SourceId
from tenure.contracts.evidence.web import WEB_PREFIX
from tenure.contracts.knowledge.memory import FactDetails, SourceQuote
from tenure.knowledge.graph.graph import pack_pairs
from tenure.knowledge.store.schema import STATEMENTS, STATEMENTS_SCHEMA, build_chunk_table_name
from tenure.knowledge.store.store import Store

_CHUNK_COLUMNS = ("id", "source_id", "corpus", "start", "end", "text")

_Row = Mapping[str, Any]


class QuotedFact(NamedTuple):
    """Fact with the quotes that support it."""

    fact: FactDetails
    quotes: Sequence[SourceQuote]


def add_facts(store: Store, dimensions: int, facts: Iterable[QuotedFact]) -> int:
    """Add facts to the graph of their corpora; return the number of changed passages. The operation is idempotent."""
    stated = _collect_statements(facts)
    if not stated:
        return 0
    chunks = [
        chunk
        for chunk in store.read_rows_in(
            build_chunk_table_name(dimensions), _CHUNK_COLUMNS, "source_id", list(stated)
        ).to_pylist()
        if not chunk["corpus"].startswith(WEB_PREFIX)
    ]
    grounded = {chunk["id"]: (chunk, _ground(chunk, stated[chunk["source_id"]])) for chunk in chunks}
    grounded = {id: entry for id, entry in grounded.items() if entry[1]}
    rows = store.read_rows_in(STATEMENTS, STATEMENTS_SCHEMA.names, "id", list(grounded)).to_pylist() if grounded else []
    rows_by_id = {row["id"]: row for row in rows}
    merged = (_merge_row(rows_by_id.get(id), chunk, relations) for id, (chunk, relations) in grounded.items())
    changed = [row for row in merged if row != rows_by_id.get(row["id"])]
    store.upsert(STATEMENTS, pa.Table.from_pylist(changed, schema=STATEMENTS_SCHEMA), "id")
    return len(changed)


def _collect_statements(facts: Iterable[QuotedFact]) -> dict[SourceId, list[tuple[int, StatedRelation]]]:
    """Return the offset of each quote, and the relation that it states, by source."""
    statements: dict[SourceId, list[tuple[int, StatedRelation]]] = {}
    for fact, quotes in facts:
        for quote in quotes:
            relation = StatedRelation(fact.subject, fact.predicate, fact.object, quote.text)
            statements.setdefault(quote.source, []).append((quote.start, relation))
    return statements


def _ground(chunk: _Row, stated: Iterable[tuple[int, StatedRelation]]) -> tuple[GroundedRelation, ...]:
    """Return the relations whose quotes begin in a chunk and are contained in it."""
    inside = (relation for start, relation in stated if chunk["start"] <= start < chunk["end"])
    return filter_grounded_relations(chunk["text"], inside)


def _merge_row(row: _Row | None, chunk: _Row, relations: Iterable[GroundedRelation]) -> _Row:
    if row is None:
        names = {"id": chunk["id"], "source_id": chunk["source_id"], "corpus": chunk["corpus"]}
        row = {**names, "cooccurrences": "", "statements": []}
    keys = {_make_key(stated["subject"], stated["predicate"], stated["object"]) for stated in row["statements"]}
    added = [relation for relation in relations if _make_key(*relation[:3]) not in keys]
    pairs = {sort_pair(normalize_term(new.subject), normalize_term(new.object)): 1 for new in added}
    lines = row["cooccurrences"].split("\n") if row["cooccurrences"] else []
    lines += [line for line in pack_pairs(pairs).split("\n") if line and line not in lines]
    return {
        **row,
        "cooccurrences": "\n".join(lines),
        "statements": [*row["statements"], *(_build_statement(chunk, relation) for relation in added)],
    }


def _make_key(subject: str, predicate: str, object: str) -> tuple[str, str, str]:
    return normalize_term(subject), " ".join(predicate.lower().split()), normalize_term(object)


def _build_statement(chunk: _Row, relation: GroundedRelation) -> dict[str, object]:
    return {
        "subject": relation.subject,
        "predicate": relation.predicate,
        "object": relation.object,
        "count": relation.sentence_count,
        "start": chunk["start"] + relation.start,
        "end": chunk["start"] + relation.end,
    }
