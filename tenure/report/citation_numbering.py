"""Turn citations by source id into numbered citations that match their sources.

A citation matches if its quote equals the stored text at its offsets. A citation that does not match is removed, its
claim gets the status `invalid_source`, and a note reports it.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from tenure.algorithms.injection.detection import contains_instructions
from tenure.algorithms.retrieval.document_versions import find_version
from tenure.algorithms.text.printable import flatten
from tenure.algorithms.text.questions import shorten
from tenure.algorithms.writing.paragraphs import split_long_paragraphs
from tenure.contracts.base import SourceId
from tenure.contracts.evidence.disputes import Contradiction, DisputeOutcome, PositionEvidence, SidedPassage
from tenure.contracts.evidence.passages import Block, Citation, Claim, ClaimBlockKind, ClaimText, Draft
from tenure.contracts.evidence.places import is_presentation, join_places
from tenure.contracts.evidence.recognition import RecognizedWord
from tenure.contracts.research.pictures import get_document_path, is_picture_reading
from tenure.contracts.result.result import (
    BlockStart,
    ResultCitation,
    ResultClaim,
    ResultContradiction,
    ResultDisputeOutcome,
    ResultDisputeSource,
    ResultPosition,
    SourceEntry,
)
from tenure.report.sources.places import FileText, find_heading, find_headings, find_table_place

SCANNED_CHARACTERS = 2_000
"""Characters on each side of a quote that are searched for instructions to language models."""


MIN_WORD_CONFIDENCE = 0.65
"""Confidence below which a recognized word is marked: the best F0.5 of marks for wrong words on half of 20 pages (scans
of books and letters, receipts, rendered pages with noise). On the other half, 2,441 words of which 1.1 % were wrong,
0.7 % are marked, of which 6 % are wrong; 4 % of the wrong words are marked. 0.8 marks 1.8 %, of which 2 % are wrong,
and no more wrong words; 0.99 marks 5 %, with 11 % of the wrong words. The model is sure of most of its errors.
"""
MAX_QUOTES_PER_SIDE = 4
"""Quotes for and against a position that a report shows."""


class ReportSource(Protocol):
    """Stored source as the report needs it."""

    @property
    def uri(self) -> str:
        """Path or URL."""

    @property
    def title(self) -> str:
        """Title."""

    @property
    def author(self) -> str:
        """Author; empty if unknown."""

    @property
    def published(self) -> str:
        """Date of publication; empty if unknown."""

    @property
    def accessed(self) -> str:
        """Time of reading, ISO 8601 in UTC."""

    @property
    def kind(self) -> str:
        """`prose` or `code`."""

    @property
    def derived(self) -> bool:
        """Whether a run produced it, so that it is not a document."""

    @property
    def is_retired(self) -> bool:
        """Whether it calls itself deprecated or retired."""

    @property
    def text(self) -> str:
        """Stored text; offsets count its characters."""

    def find_page(self, offset: int) -> int | None:
        """Return the number of the page at an offset, or None if the source has no pages."""

    def find_place(self, offset: int) -> str:
        """Return the label of the part at an offset; empty without one."""

    def find_words(self, start: int, end: int) -> Sequence[RecognizedWord]:
        """Return the recognized words between two offsets."""


class CitationNumbering:
    """Numbering of sources in the order of their first citation."""

    def __init__(
        self,
        sources: Mapping[SourceId, ReportSource],
        context: int = 200,
        numbered: Sequence[SourceId] = (),
        files: Mapping[str, str] = MappingProxyType({}),
        pictures: Mapping[SourceId, str] = MappingProxyType({}),
    ) -> None:
        """Number `sources` after those `numbered` before; keep `context` characters on each side of a quote."""
        self._files = {uri: FileText(text) for uri, text in files.items()}
        self._sources, self._pictures = sources, pictures
        self._context = context
        self._numbers = {source: n for n, source in enumerate(dict.fromkeys(numbered), 1)}
        self._cited: set[SourceId] = set()
        self._suspicious: set[SourceId] = set()
        self.notes: list[str] = []
        """Removed citations with the reasons, in reading order."""

    def number_claims(self, draft: Draft, part: str) -> tuple[ResultClaim, ...]:
        """Check and number the citations of a draft's claims; drafts must be passed in reading order."""
        return tuple(
            self._claim(claim, part).model_copy(
                update={
                    "begins": _opening_of(block, n),
                    "heading": block.heading,
                    "path": self._find_path(claim) if block.kind == "excerpt" and not n else (),
                }
            )
            for block in split_long_paragraphs(draft).blocks
            for n, claim in enumerate(block.claims)
        )

    def _find_path(self, claim: Claim) -> tuple[str, ...]:
        """Return the title of the source of an excerpt and the headings above it, outermost first."""
        source = next((stored for c in claim.citations if (stored := self._sources.get(c.source))), None)
        if source is None:
            return ()
        headings = () if source.kind == "code" else find_headings(source.text, claim.citations[0].start)
        return tuple(dict.fromkeys((flatten(source.title or source.uri), *headings)))

    def number_contradictions(self, contradictions: Sequence[Contradiction]) -> tuple[ResultContradiction, ...]:
        """Check and number both sides of each contradiction; a contradiction with an invalid side is removed."""
        return tuple(filter(None, map(self._contradiction, contradictions)))

    def number_positions(self, positions: Sequence[PositionEvidence]) -> tuple[ResultPosition, ...]:
        """Check and number the quotes for and against each position; a position without both sides is left out."""
        numbered = (self._position(evidence) for evidence in positions if evidence.is_disputed)
        return tuple(position for position in numbered if position.supporting and position.contradicting)

    def list_sources(self, suspicious: Collection[SourceId] = ()) -> tuple[SourceEntry, ...]:
        """Return the cited sources by number; `suspicious` ones contain instructions to language models."""
        self._suspicious.update(suspicious)
        return tuple(self._entry(source, n) for source, n in self._numbers.items() if source in self._cited)

    def _claim(self, claim: Claim, part: str) -> ResultClaim:
        faults = {citation: self._fault(citation) for citation in claim.citations}
        self.notes += [
            f"{part}: a citation was removed: {fault}: “{_shorten(claim.text)}”"
            for fault in faults.values()
            if fault is not None
        ]
        citations = tuple(self._numbered(citation) for citation, fault in faults.items() if fault is None)
        status = "invalid_source" if any(faults.values()) else claim.status
        if status == "supported" and citations and all(citation.doubtful for citation in citations):
            status = "neutral"  # a misread letter or digit can make any statement
        return ResultClaim(
            **{name: getattr(claim, name) for name in ClaimText.model_fields} | {"status": status},
            citations=citations,
        )

    def _contradiction(self, contradiction: Contradiction) -> ResultContradiction | None:
        for fault in (self._fault(contradiction.a), self._fault(contradiction.b)):
            if fault is not None:
                self.notes.append(f"Contradictions: a pair of quotes was removed: {fault}")
                return None
        a, b = self._numbered(contradiction.a), self._numbered(contradiction.b)
        quotes = [contradiction.a, contradiction.b]
        return ResultContradiction(
            a=a,
            b=b,
            severity=contradiction.severity,
            about=contradiction.about,
            outcome=self._outcome(contradiction.outcome, quotes) if contradiction.outcome else None,
        )

    def _position(self, evidence: PositionEvidence) -> ResultPosition:
        supporting, contradicting = (
            _select_quotes([sided for sided in side if self._fault(sided.citation) is None])
            for side in (evidence.supporting, evidence.contradicting)
        )
        is_disputed = supporting and contradicting
        numbered = [tuple(map(self._numbered, side)) if is_disputed else () for side in (supporting, contradicting)]
        return ResultPosition(
            position=flatten(evidence.position),
            supporting=numbered[0],
            contradicting=numbered[1],
            supporting_passages=len(evidence.supporting),
            contradicting_passages=len(evidence.contradicting),
            neutral_passages=evidence.neutral,
            outcome=self._outcome(evidence.outcome, [*supporting, *contradicting])
            if evidence.outcome and is_disputed
            else None,
        )

    def _outcome(self, outcome: DisputeOutcome, quotes: Sequence[Citation]) -> ResultDisputeOutcome:
        """Number the sources of a dispute: the quotes that the report shows, and those that the search found."""
        sources = [
            source
            for source in outcome.sources
            if (source.found or source.citation in quotes) and self._fault(source.citation) is None
        ]
        return ResultDisputeOutcome(
            status=outcome.status,
            side=outcome.side,
            reason=flatten(outcome.reason),
            query=flatten(outcome.query),
            sources=tuple(
                ResultDisputeSource(
                    citation=self._numbered(source.citation),
                    side=source.side,
                    published=flatten(source.published),
                    primary=flatten(source.primary),
                    found=source.found,
                )
                for source in sources
            ),
        )

    def _fault(self, citation: Citation) -> str | None:
        source = self._sources.get(citation.source)
        if source is None:
            return f"its source {citation.source!r} is not stored"
        if not citation.quote.strip():
            return "its quote is empty"
        if source.text[citation.start : citation.end] != citation.quote:
            return f"its quote differs from the text of {_shorten(source.title or source.uri)!r} at its offsets"
        return None

    def _numbered(self, citation: Citation) -> ResultCitation:
        n = self._numbers.setdefault(citation.source, len(self._numbers) + 1)
        self._cited.add(citation.source)
        source = self._sources[citation.source]
        text = source.text
        around = text[max(0, citation.start - SCANNED_CHARACTERS) : citation.end + SCANNED_CHARACTERS]
        if contains_instructions(around) or contains_instructions(source.title):
            self._suspicious.add(citation.source)
        file = self._files.get(source.uri)
        position = file.find(citation.quote) if file else None
        words = source.find_words(citation.start, citation.end)
        cells = None if source.kind == "code" else find_table_place(text, citation.start, citation.end)
        return ResultCitation(
            source=n,
            start=citation.start,
            end=citation.end,
            page=source.find_page(citation.start),
            on_slide=is_presentation(get_document_path(source.uri)),
            place=flatten(join_places(source.find_place(citation.start), source.find_place(citation.end - 1))),
            line=position.line if position else None,
            file_start=position.offset if position else None,
            heading="" if source.kind == "code" else find_heading(text, citation.start),
            row=cells.row if cells else None,
            columns=cells.columns if cells else (),
            quote=citation.quote,
            from_picture=is_picture_reading(source.uri),
            recognized=bool(words),
            doubtful=tuple(text[w.start : w.end] for w in words if w.confidence < MIN_WORD_CONFIDENCE),
            before=_last_words(text[: citation.start], self._context),
            after=_first_words(text[citation.end :], self._context),
        )

    def _entry(self, source: SourceId, n: int) -> SourceEntry:
        record = self._sources[source]
        return SourceEntry(
            suspicious=source in self._suspicious,
            n=n,
            id=source,
            uri=record.uri,
            title=record.title or record.uri,
            author=record.author,
            published=record.published,
            version=find_version(record.uri),
            retired=record.is_retired,
            accessed=record.accessed,
            from_picture=is_picture_reading(record.uri),
            picture=self._pictures.get(source, ""),
            page=record.find_page(0) if is_picture_reading(record.uri) else None,
            derived=record.derived,
        )


def _select_quotes(side: Sequence[SidedPassage]) -> list[Citation]:
    """Return the quotes of a side that a report shows, those of different sources first."""
    first = {passage.citation.source: passage.citation for passage in reversed(side)}
    leading = [passage.citation for passage in side if first[passage.citation.source] == passage.citation]
    others = [passage.citation for passage in side if passage.citation not in leading]
    return [*leading, *others][:MAX_QUOTES_PER_SIDE]


_OPENINGS: Mapping[ClaimBlockKind, BlockStart] = {
    "bullets": "bullet",
    "numbered": "number",
    "table": "cell",
    "definitions": "definition",
    "code": "code",
}


def _opening_of(block: Block, n: int) -> BlockStart | None:
    """Return the form that starts with the claim at an index."""
    if block.kind == "definitions" and n and block.claims[n].label == block.claims[n - 1].label:
        return None
    if block.kind in ("paragraph", "excerpt"):
        return None if n else block.kind
    return _OPENINGS[block.kind]


def _last_words(text: str, limit: int) -> str:
    """Return the end of a text, starting at a whole word."""
    cut = text[max(0, len(text) - limit) :]
    is_whole = len(cut) == len(text) or text[-limit - 1].isspace()
    return cut if is_whole else re.sub(r"^\S+(?=\s)", "", cut)


def _first_words(text: str, limit: int) -> str:
    """Return the beginning of a text, ending at a whole word."""
    cut = text[:limit]
    is_whole = len(cut) == len(text) or text[limit].isspace()
    return cut if is_whole else re.sub(r"(?<=\s)\S+$", "", cut)


def _shorten(text: str) -> str:
    return shorten(flatten(text), 80)
