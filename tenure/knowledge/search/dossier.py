"""Extend the dossier of a report: choose passages within a token budget, and read around the strongest ones.

The answer to a question is often next to the passage that a search finds: in the next paragraph under the same
heading, or on the rest of a short page. So the neighbours of strong passages come before weaker results of searches.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tenure.algorithms.control.budget import estimate_tokens
from tenure.algorithms.text.near_duplicates import (
    MIN_DUPLICATE_SIMILARITY,
    Fingerprint,
    compute_fingerprint,
    estimate_similarity,
)
from tenure.algorithms.text.passage import COLUMNS_PREFIX, Passage
from tenure.algorithms.writing.manuscript import interleave_passages
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.dossier import Dossier, DossierRequest
from tenure.knowledge.search.gap_passages import find_gap_passages
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.errors import UnknownChunk
from tenure.knowledge.store.schema import build_chunk_table_name
from tenure.knowledge.store.store import Store

SEARCHED_SHARE: Final = 0.65
"""Share of the room that results of searches fill before neighbours of the strongest are read."""
STRONG_PASSAGES: Final = 3
"""Passages of each part, best first, around which is read."""
MAX_TABLE_CHUNKS: Final = 6
"""Maximum number of chunks of a table that are read before and after a strong passage in it."""
CUT_TABLE_CHUNKS: Final = 1
"""The same for any other passage, whose rows would otherwise begin without names or end before the one that is asked
for: a report called the times of one driver unknown, which the row below its last one gives.
"""
SHORT_PAGE_TOKENS: Final = 1_500
"""Maximum size of a page that is taken whole if two of its passages are in the dossier."""


class _ChunkPosition(NamedTuple):
    """A chunk in its document."""

    chunk: ChunkId
    source: SourceId
    start: int
    end: int
    headings: tuple[str, ...]
    continues_table: bool
    """Whether it begins with a later row of a table."""


@dataclass
class _Selection:
    """Passages chosen so far, and the room that is left."""

    known: dict[ChunkId, Passage]
    room: int
    chosen: dict[ChunkId, PassageRef] = field(default_factory=dict)
    texts: dict[ChunkId, Passage] = field(default_factory=dict)
    fingerprints: dict[ChunkId, Fingerprint] = field(default_factory=dict)
    copies: dict[ChunkId, ChunkId] = field(default_factory=dict)
    """Rejected passages, with the one that says the same."""
    tokens: int = 0

    def add(self, ref: PassageRef, passage: Passage, limit: float) -> bool:
        """Choose a passage unless it is known or a duplicate; return whether it fits into the limit."""
        if ref.chunk in self.known or ref.chunk in self.chosen or ref.chunk in self.copies:
            return True
        tokens = estimate_tokens(passage.text)
        if self.tokens + tokens > limit:
            return False
        fingerprint = compute_fingerprint(passage.text)
        similar = (
            chunk
            for chunk, other in self.fingerprints.items()
            if estimate_similarity(fingerprint, other) >= MIN_DUPLICATE_SIMILARITY
        )
        if (original := next(similar, None)) is not None:
            self.copies[ref.chunk] = original
            return True
        self.chosen[ref.chunk], self.texts[ref.chunk] = ref, passage
        self.fingerprints[ref.chunk] = fingerprint
        self.tokens += tokens
        return True


def extend_dossier(store: Store, dimensions: int, request: DossierRequest) -> Dossier:
    """Return a dossier with the passages of a request, as far as they fit; known ones keep their numbers."""
    dossier = request.dossier
    parts = tuple(
        part.model_copy(update={"passages": find_gap_passages(store, dimensions, request.corpora, dossier, part)})
        for part in request.found
    )
    request = request.model_copy(update={"found": parts})
    decisive = interleave_passages([part.passages[: part.decisive] for part in request.found])
    others = interleave_passages([part.passages[part.decisive :] for part in request.found])
    candidates = interleave_passages([(*decisive, *others)])
    loaded = _load(store, dimensions, (*dossier.passages, *candidates))
    passages = {ref.chunk: loaded[ref.chunk] for ref in dossier.passages if ref.chunk in loaded}
    selection = _Selection(passages, max(0, request.max_tokens - dossier.tokens))
    selection.fingerprints = {chunk: compute_fingerprint(passage.text) for chunk, passage in passages.items()}
    stored = [ref for ref in candidates if ref.chunk in loaded]
    _add_all(selection, stored, loaded, selection.room * SEARCHED_SHARE)
    neighbours = _read_around(store, dimensions, request, selection)
    _add_all(selection, (ref for refs in neighbours.values() for ref in refs), selection.texts, selection.room)
    _add_all(selection, stored, loaded, selection.room)
    return _build(request, selection, stored, neighbours)


def _add_all(selection: _Selection, refs: Iterable[PassageRef], texts: dict[ChunkId, Passage], limit: float) -> None:
    for ref in refs:
        if not selection.add(ref, texts[ref.chunk], limit):
            return


def _load(store: Store, dimensions: int, refs: Sequence[PassageRef]) -> dict[ChunkId, Passage]:
    while refs:
        try:
            return {passage.chunk: passage for passage in catalogue.load_passages(store, dimensions, refs)}
        except UnknownChunk as gone:
            refs = [ref for ref in refs if ref.chunk not in gone.chunks]
    return {}


def _read_around(
    store: Store, dimensions: int, request: DossierRequest, selection: _Selection
) -> dict[ChunkId, list[PassageRef]]:
    """Return the rest of cut tables and the neighbours of each part's strongest passages, by the passage inside."""
    if not selection.chosen:
        return {}
    strong = {ref.chunk for part in request.found for ref in part.passages[:STRONG_PASSAGES]}
    positions = _list_places(store, dimensions, [ref.source for ref in selection.chosen.values()])
    present = {*selection.known, *selection.chosen}
    tables: dict[ChunkId, list[_ChunkPosition]] = {}
    others: dict[ChunkId, list[_ChunkPosition]] = {}
    for ref in selection.chosen.values():
        document = positions.get(ref.source, [])
        at = next((n for n, item in enumerate(document) if item.chunk == ref.chunk), None)
        if at is None:  # deleted meanwhile
            continue
        table = _list_table(document, at, MAX_TABLE_CHUNKS if ref.chunk in strong else CUT_TABLE_CHUNKS)
        near = _list_page(document, present) or _list_adjacent(document, at) if ref.chunk in strong else []
        (tables if table else others)[ref.chunk] = [item for item in table or near if item.chunk not in present]
    around = tables | others
    refs = {
        chunk: [PassageRef(chunk=item.chunk, source=item.source, score=0.0, relevance=0.0) for item in near]
        for chunk, near in around.items()
    }
    loaded = _load(store, dimensions, [ref for near in refs.values() for ref in near])
    selection.texts |= loaded
    return {chunk: [ref for ref in near if ref.chunk in loaded] for chunk, near in refs.items()}


def _list_places(store: Store, dimensions: int, sources: Sequence[SourceId]) -> dict[SourceId, list[_ChunkPosition]]:
    columns = ["id", "source_id", "start", "end", "heading_path"]
    rows = store.read_rows_in(build_chunk_table_name(dimensions), columns, "source_id", list(dict.fromkeys(sources)))
    positions: dict[SourceId, list[_ChunkPosition]] = {}
    for row in rows.to_pylist():
        path: list[str] = row["heading_path"]
        headings = tuple(heading for heading in path if not heading.startswith(COLUMNS_PREFIX))
        position = _ChunkPosition(
            ChunkId(row["id"]),
            SourceId(row["source_id"]),
            row["start"],
            row["end"],
            headings,
            len(headings) < len(path),
        )
        positions.setdefault(position.source, []).append(position)
    return {source: sorted(chunks, key=lambda position: position.start) for source, chunks in positions.items()}


def _list_page(document: Sequence[_ChunkPosition], in_dossier: set[ChunkId]) -> list[_ChunkPosition]:
    """Return a whole document if it is short and two of its passages are in the dossier; else nothing."""
    # Offsets count characters, of which four are about a token, as in the estimate of texts in English.
    is_short = bool(document) and document[-1].end // 4 <= SHORT_PAGE_TOKENS
    return list(document) if is_short and sum(position.chunk in in_dossier for position in document) > 1 else []


def _list_adjacent(document: Sequence[_ChunkPosition], at: int) -> list[_ChunkPosition]:
    """Return the next chunk and then the one before, as far as they are under the same heading."""
    near = [*document[at + 1 : at + 2], *document[max(at - 1, 0) : at]]
    return [position for position in near if position.headings == document[at].headings]


def _list_table(document: Sequence[_ChunkPosition], at: int, most: int) -> list[_ChunkPosition]:
    """Return the other chunks of a table, at most some after the chunk and before it; nothing outside of a table."""
    first, last = at, at + 1
    while first > 0 and document[first].continues_table and at - first < most:
        first -= 1
    while last < len(document) and document[last].continues_table and last - at <= most:
        last += 1
    return [*document[at + 1 : last], *reversed(document[first:at])]


def _build(
    request: DossierRequest,
    selection: _Selection,
    candidates: Sequence[PassageRef],
    neighbours: dict[ChunkId, list[PassageRef]],
) -> Dossier:
    dossier = request.dossier
    passages = (*dossier.passages, *_order_by_document(selection))
    numbers = {ref.chunk: number for number, ref in enumerate(passages, 1)}
    numbers |= {copy: numbers[original] for copy, original in selection.copies.items()}
    parts, searches = dict(dossier.parts), dict(dossier.searches)
    for part in request.found:
        around = [ref for passage in part.passages for ref in neighbours.get(passage.chunk, ())]
        part_numbers = dict.fromkeys(numbers[ref.chunk] for ref in (*part.passages, *around) if ref.chunk in numbers)
        parts[part.heading] = tuple(dict.fromkeys((*parts.get(part.heading, ()), *part_numbers)))
        if part.gap:
            searches[part.gap.query] = tuple(part_numbers)
    searched = dict.fromkeys((*dossier.omitted, *(ref.chunk for ref in candidates)))
    return Dossier(
        passages=passages,
        parts=parts,
        searches=searches,
        tokens=dossier.tokens + selection.tokens,
        omitted=tuple(chunk for chunk in searched if chunk not in numbers),
    )


def _order_by_document(selection: _Selection) -> Iterator[PassageRef]:
    """Yield the chosen passages by document, the document of the best passage first, each in its own order."""
    documents: dict[SourceId, list[PassageRef]] = {}
    for ref in selection.chosen.values():
        documents.setdefault(ref.source, []).append(ref)
    for refs in documents.values():
        yield from sorted(refs, key=lambda ref: selection.texts[ref.chunk].start)
