"""List passages from which no model has extracted relations, and store what an extraction returns.

Every passage that a model has read gets a row, also without relations, so that no passage is read twice, even if its
file is ingested again unchanged.
"""

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from tenure.algorithms.retrieval.relations import GroundedRelation, StatedRelation, filter_grounded_relations, sort_pair
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.phrases import normalize_term
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.knowledge.graph import RelationsKept, UnreadReply, UnreadRequest
from tenure.knowledge.graph.graph import pack_pairs
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.schema import STATEMENTS, STATEMENTS_SCHEMA, build_chunk_table_name
from tenure.knowledge.store.store import Store, quote_literal
from tenure.roles.retrieval.relation_extractor import ExtractedPassage, RelationExtractorOutput


def list_unread(store: Store, dimensions: int, request: UnreadRequest) -> UnreadReply:
    """Return passages of a corpus from which no model has extracted relations.

    Raises:
        UnknownCorpus: the corpus was never ingested.
    """
    where = f"corpus = {quote_literal(catalogue.load_corpus(store, request.corpus).corpus)}"
    rows = store.read_rows(build_chunk_table_name(dimensions), ["id", "source_id"], f"{where} AND kind = 'prose'")
    read = store.read_rows(STATEMENTS, ["id"], f"{where} AND model <> ''")["id"]
    is_after = pc.greater(rows["id"], request.after)
    remaining = rows.filter(pc.and_(is_after, pc.invert(pc.is_in(rows["id"], read.combine_chunks())))).sort_by("id")
    return UnreadReply(
        passages=tuple(
            PassageRef(chunk=ChunkId(row["id"]), source=SourceId(row["source_id"]), score=0.0, relevance=0.0)
            for row in remaining.slice(0, request.limit).to_pylist()
        ),
        remaining=remaining.num_rows,
        total=rows.num_rows,
    )


def store_statements(
    store: Store, model: str, passages: Sequence[Passage], output: RelationExtractorOutput
) -> RelationsKept:
    """Store the extracted relations that the passages contain; without a model nothing is stored."""
    if not model:
        return RelationsKept()
    sources = catalogue.map_sources_to_corpora(store, [passage.source for passage in passages])
    extracted = {extraction.passage: extraction for extraction in output.passages}
    rows, stored_count, stated_count = [], 0, 0
    for number, passage in enumerate(passages, 1):
        if passage.source not in sources:  # its source was deleted in the meantime
            continue
        found = extracted.get(number)
        statements = filter_grounded_relations(passage.text, _to_stated(found)) if found else ()
        stated_count += len(found.relations) if found else 0
        stored_count += sum(extraction.sentence_count for extraction in statements)
        rows.append(_build_row(passage, sources[passage.source], model, found, statements))
    store.upsert(STATEMENTS, pa.Table.from_pylist(rows, schema=STATEMENTS_SCHEMA), "id")
    return RelationsKept(passages=len(rows), relations=stored_count, refused=stated_count - stored_count)


def _to_stated(found: ExtractedPassage) -> list[StatedRelation]:
    return [
        StatedRelation(relation.subject, relation.predicate, relation.object, relation.sentence)
        for relation in found.relations
    ]


def _build_row(
    passage: Passage, corpus: str, model: str, found: ExtractedPassage | None, statements: Sequence[GroundedRelation]
) -> dict[str, object]:
    entities = found.entities if found else ()
    return {
        "id": passage.chunk,
        "source_id": passage.source,
        "corpus": corpus,
        "model": model,
        "cooccurrences": pack_pairs(_count_pairs(statements)),
        "kinds": [{"key": normalize_term(one.name), "kind": one.kind} for one in entities if normalize_term(one.name)],
        "statements": [
            {
                "subject": one.subject,
                "predicate": one.predicate,
                "object": one.object,
                "count": one.sentence_count,
                "start": passage.start + one.start,
                "end": passage.start + one.end,
            }
            for one in statements
        ],
    }


def _count_pairs(statements: Sequence[GroundedRelation]) -> Mapping[tuple[str, str], int]:
    """Return a lower bound of the sentences with a statement about each pair."""
    found: dict[tuple[str, str], int] = {}
    for statement in statements:
        pair_key = sort_pair(normalize_term(statement.subject), normalize_term(statement.object))
        found[pair_key] = max(found.get(pair_key, 0), statement.sentence_count)
    return found
