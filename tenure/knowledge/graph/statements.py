"""What models have read of entities: which passages are still to be read, and keeping what a reading brought.

A row for each passage that a model has read, also where it found nothing: a passage is read once, and one that
comes back unchanged with its file is not read again.
"""

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from tenure.algorithms.retrieval.relations import Held, Stated, held, pair
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.phrases import term_key
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.knowledge.graph import RelationsKept, UnreadReply, UnreadRequest
from tenure.knowledge.graph.graph import packed
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.schema import STATEMENTS, STATEMENTS_SCHEMA, chunks_table
from tenure.knowledge.store.store import Store, literal
from tenure.roles.retrieval.relation_extractor import ReadPassage, RelationExtractorOutput


def unread(store: Store, dimensions: int, request: UnreadRequest) -> UnreadReply:
    """Return passages of a corpus that no model has read.

    Raises:
        UnknownCorpus: the corpus was never ingested.
    """
    where = f"corpus = {literal(catalogue.corpus(store, request.corpus).corpus)}"
    rows = store.rows(chunks_table(dimensions), ["id", "source_id"], f"{where} AND kind = 'prose'")
    read = store.rows(STATEMENTS, ["id"], where)["id"]
    late = pc.greater(rows["id"], request.after)
    left = rows.filter(pc.and_(late, pc.invert(pc.is_in(rows["id"], read.combine_chunks())))).sort_by("id")
    return UnreadReply(
        passages=tuple(
            PassageRef(chunk=ChunkId(row["id"]), source=SourceId(row["source_id"]), score=0.0, relevance=0.0)
            for row in left.slice(0, request.most).to_pylist()
        ),
        left=left.num_rows,
        of=rows.num_rows,
    )


def keep(store: Store, model: str, passages: Sequence[Passage], output: RelationExtractorOutput) -> RelationsKept:
    """Keep what a model has read of passages, as far as they hold it; what no model has read is kept already."""
    if not model:
        return RelationsKept()
    sources = catalogue.sources_of(store, [passage.source for passage in passages])
    said = {one.passage: one for one in output.passages}
    rows, kept, told = [], 0, 0
    for number, passage in enumerate(passages, 1):
        if passage.source not in sources:  # its file went while it was read
            continue
        found = said.get(number)
        statements = held(passage.text, _stated(found)) if found else ()
        told += len(found.relations) if found else 0
        kept += sum(one.times for one in statements)
        rows.append(_row(passage, sources[passage.source], model, found, statements))
    store.merge(STATEMENTS, pa.Table.from_pylist(rows, schema=STATEMENTS_SCHEMA), "id")
    return RelationsKept(passages=len(rows), relations=kept, refused=told - kept)


def _stated(found: ReadPassage) -> list[Stated]:
    return [Stated(one.subject, one.predicate, one.object, one.sentence) for one in found.relations]


def _row(
    passage: Passage, corpus: str, model: str, found: ReadPassage | None, statements: Sequence[Held]
) -> dict[str, object]:
    entities = found.entities if found else ()
    return {
        "id": passage.chunk,
        "source_id": passage.source,
        "corpus": corpus,
        "model": model,
        "beside": packed(_pairs(statements)),
        "kinds": [{"key": term_key(one.name), "kind": one.kind} for one in entities if term_key(one.name)],
        "statements": [
            {
                "subject": one.subject,
                "predicate": one.predicate,
                "object": one.object,
                "count": one.times,
                "start": passage.start + one.start,
                "end": passage.start + one.end,
            }
            for one in statements
        ],
    }


def _pairs(statements: Sequence[Held]) -> Mapping[tuple[str, str], int]:
    """Return how many sentences say something of each pair, at the least."""
    found: dict[tuple[str, str], int] = {}
    for one in statements:
        both = pair(term_key(one.subject), term_key(one.object))
        found[both] = max(found.get(both, 0), one.times)
    return found
