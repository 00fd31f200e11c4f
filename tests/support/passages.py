"""Passages for tests: a few words in, a passage of a stored source out."""

from collections.abc import Sequence

from tenure.algorithms.text.passage import Passage
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.disputes import PositionEvidence, SidedPassage
from tenure.contracts.evidence.passages import Citation, PassageRef


def passage(
    text: str,
    source: str = "bread",
    start: int = 0,
    *,
    title: str = "Bread",
    headings: tuple[str, ...] = (),
    kind: str = "prose",
    relevance: float = 0.5,
) -> Passage:
    """Return a passage that begins at `start` in its source."""
    return Passage(
        chunk=ChunkId(f"{source}:{start}"),
        source=SourceId(source),
        title=title,
        uri=f"kitchen/{source}.md",
        heading_path=headings,
        text=text,
        start=start,
        end=start + len(text),
        kind=kind,
        relevance=relevance,
    )


def reference(relevance: float, source: str = "bread", chunk: str = "") -> PassageRef:
    """Return a reference to a passage of some relevance."""
    name = chunk or f"{source}:{relevance}"
    return PassageRef(chunk=ChunkId(name), source=SourceId(source), score=relevance, relevance=relevance)


def sided(passage: Passage) -> SidedPassage:
    """Return a passage that takes a side with its whole text."""
    ref = PassageRef(chunk=passage.chunk, source=passage.source, score=1.0, relevance=passage.relevance)
    citation = Citation(
        source=passage.source, chunk=passage.chunk, start=passage.start, end=passage.end, quote=passage.text
    )
    return SidedPassage(passage=ref, citation=citation)


def held(
    position: str, supporting: Sequence[Passage], contradicting: Sequence[Passage], topic: str = ""
) -> PositionEvidence:
    """Return evidence for and against a position."""
    return PositionEvidence(
        position=position,
        topic=topic,
        supporting=tuple(map(sided, supporting)),
        contradicting=tuple(map(sided, contradicting)),
        neutral=1,
    )
