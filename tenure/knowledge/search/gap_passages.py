"""Find passages for what a report calls unknown: by meaning, and by its exact names and rare words.

A search by meaning reads the whole corpus, but ranks whole passages: a row of a table or an item of a list that states
the answer is missed. The full-text index gives further candidates, from all documents and from those of the dossier,
and their best lines decide.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tenure.algorithms.retrieval.exact_matches import list_identifiers, match_texts
from tenure.algorithms.retrieval.rrf import interleave_rankings
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.dossier import Dossier, PartPassages
from tenure.knowledge.search.search import build_text_query
from tenure.knowledge.store.schema import build_chunk_table_name
from tenure.knowledge.store.store import Store, TextQuery, quote_list

CANDIDATES: Final = 60
"""Passages that the index gives for the words of a gap, from all documents and from those of the dossier."""
CANDIDATES_PER_NAME: Final = 20
"""Passages that the index gives for each identifier."""

_COLUMNS: Final = ("id", "source_id", "text", "search_text")
_Row = Mapping[str, Any]


def find_gap_passages(
    store: Store, dimensions: int, corpora: Sequence[str], dossier: Dossier, part: PartPassages
) -> tuple[PassageRef, ...]:
    """Return the passages for a gap, the best of both rankings by turns, and for each of its names one not read.

    Passages of the dossier are among them, and take no place from others. A part without a gap has what its search
    has found.
    """
    if part.gap is None:
        return part.passages
    table, sought = build_chunk_table_name(dimensions), f"{part.gap.statement} {part.gap.query}"
    near = [ref.chunk for ref in part.passages]
    rows: dict[str, _Row] = {**_list_candidates(store, table, corpora, dossier, sought)}
    unread = [chunk for chunk in near if chunk not in rows]
    rows |= {row["id"]: row for row in store.read_rows_in(table, _COLUMNS, "id", unread).to_pylist()}
    matches = match_texts(
        sought, {chunk: (row["search_text"].removesuffix(row["text"]), row["text"]) for chunk, row in rows.items()}
    )
    worded = sorted(matches, key=lambda chunk: (-matches[chunk].score, chunk))
    # The best of either ranking comes first: fused ranks put what both find in the middle before what one finds first,
    # as “mirrors can now be promoted” by its words among passages on mirrors in general.
    ranked = [chunk for chunk in interleave_rankings((worded, near)) if chunk in rows]
    read = {str(ref.chunk) for ref in dossier.passages}
    chosen: list[str] = []
    room = part.gap.max_passages
    for chunk in dict.fromkeys(ranked):
        room -= chunk not in read
        chosen.append(chunk)
        if not room or len(chosen) == 2 * part.gap.max_passages:  # most of a small corpus is known
            break
    for name in list_identifiers(sought):
        naming = (chunk for chunk in worded if name in matches[chunk].identifiers and chunk not in read)
        chosen += [chunk for chunk in [next(naming, "")] if chunk]
    return tuple(
        PassageRef(chunk=ChunkId(chunk), source=SourceId(rows[chunk]["source_id"]), score=1 / rank, relevance=0.0)
        for rank, chunk in enumerate(dict.fromkeys(chosen), 1)
    )


def _list_candidates(
    store: Store, table: str, corpora: Sequence[str], dossier: Dossier, sought: str
) -> dict[str, _Row]:
    read = list(dict.fromkeys(ref.source for ref in dossier.passages))
    everywhere, in_read = f"corpus IN {quote_list(corpora)}", f"source_id IN {quote_list(read)}"
    text = build_text_query(store, corpora, sought.replace('"', " "))
    queries = [(text, everywhere, CANDIDATES)] if corpora else []
    queries += [(text, in_read, CANDIDATES)] if read else []
    for name in list_identifiers(sought) if corpora else ():
        # The index divides names at their punctuation, so a name of several parts is a phrase.
        phrase = " ".join("".join(c if c.isalnum() else " " for c in name).split())
        queries += [(TextQuery(f'"{phrase}"'), everywhere, CANDIDATES_PER_NAME)] if phrase else []
    return {
        row["id"]: row
        for query, condition, limit in queries
        for row in store.search_text(table, _COLUMNS, query, condition, limit).to_pylist()
    }
