"""Lookup: where a term stands to the letter, in the whole of some sources.

A search finds what is near; who wants to know what a word means in a document, or whether a number occurs in it at
all, asks for the word itself.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tenure.algorithms.text.sentences import fingerprint, sentences
from tenure.algorithms.text.term_lookup import defines, finder
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.tools import FoundTerm, LookupReply, LookupRequest
from tenure.knowledge.store.schema import chunks_table
from tenure.knowledge.store.store import Store

_COLUMNS = ["id", "source_id", "text", "start"]
_LONGEST = 400
"""Characters of a line that is no sentence."""


class _Place(NamedTuple):
    defines: bool
    source: int
    start: int
    chunk: ChunkId
    sentence: str


def lookup(store: Store, dimensions: int, request: LookupRequest) -> LookupReply:
    """Find a term; a definition comes first, then the order of the sources and the places in them."""
    rank = {source: number for number, source in enumerate(request.sources)}
    rows = store.rows_in(chunks_table(dimensions), _COLUMNS, "source_id", list(rank)).to_pylist()
    found: dict[tuple[int, str], _Place] = {}
    for row in rows:
        for place in _places(row, rank[row["source_id"]], request.term):
            # Chunks may overlap, and documents repeat themselves.
            found.setdefault((place.source, fingerprint(place.sentence)), place)
    ordered = sorted(found.values(), key=lambda one: (not one.defines, one.source, one.start))
    return LookupReply(
        found=tuple(_found(one, request.sources[one.source], n) for n, one in enumerate(ordered[: request.most], 1)),
        count=len(ordered),
    )


def _places(row: dict[str, Any], source: int, term: str) -> Iterator[_Place]:
    """Yield where a chunk holds a term: its sentences, and lines that are none."""
    text, pattern = str(row["text"]), finder(term)
    if not pattern.search(text):
        return
    spans = [(one.start, one.text) for one in sentences(text) if pattern.search(one.text)]
    for start, said in spans or _lines(text, term):
        yield _Place(defines(said, term), source, int(row["start"]) + start, ChunkId(row["id"]), said)


def _lines(text: str, term: str) -> Iterator[tuple[int, str]]:
    """Yield lines of tables, headings and programs that hold a term."""
    start = 0
    for line in text.splitlines(keepends=True):
        if finder(term).search(line):
            yield start, line.strip()[:_LONGEST]
        start += len(line)


def _found(place: _Place, source: SourceId, rank: int) -> FoundTerm:
    passage = PassageRef(chunk=place.chunk, source=source, score=1 / (60 + rank), relevance=0.0, sparse_rank=rank)
    return FoundTerm(passage=passage, sentence=place.sentence)
