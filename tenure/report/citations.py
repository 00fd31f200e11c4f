"""From citations by source id to numbered citations that hold.

A citation holds when its quote is, to the letter, what the stored source says at its offsets. One
that does not is taken out, its claim is marked `invalid_source`, and a note says so: nothing is
dropped silently and nothing false is kept.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from tenure.contracts.base import SourceId
from tenure.contracts.evidence.passages import Block, Citation, Claim, Disagreement, Draft
from tenure.contracts.result.result import Contradiction, ResultCitation, ResultClaim, SourceEntry
from tenure.report.render.escaping import flatten


class SourceRecord(Protocol):
    """What the report needs of a stored source."""

    @property
    def uri(self) -> str:
        """Where it is."""
        ...

    @property
    def title(self) -> str:
        """Its title."""
        ...

    @property
    def author(self) -> str:
        """Who wrote it; empty where unknown."""
        ...

    @property
    def published(self) -> str:
        """When it was published; empty where unknown."""
        ...

    @property
    def accessed(self) -> str:
        """When it was read, ISO 8601 in UTC."""
        ...

    @property
    def derived(self) -> bool:
        """Whether a run had it made, so that it is no document."""
        ...

    @property
    def text(self) -> str:
        """Its stored text; offsets count its characters."""
        ...

    def page(self, offset: int) -> int | None:
        """Return the number of the page that a place in the text stands on; None where there are no pages."""
        ...


class Numbering:
    """Numbers sources in the order in which the report first cites them."""

    def __init__(
        self, sources: Mapping[SourceId, SourceRecord], context: int = 200, known: Sequence[SourceId] = ()
    ) -> None:
        """Begin to number.

        Args:
            sources: the stored sources by id.
            context: how many characters around a quote are kept.
            known: sources that have their numbers from an earlier document, in order.
        """
        self._sources = sources
        self._context = context
        self._numbers = {source: n for n, source in enumerate(dict.fromkeys(known), 1)}
        self._cited: set[SourceId] = set()
        self.notes: list[str] = []
        """What was taken out and why, in reading order."""

    def number(self, draft: Draft, place: str) -> tuple[ResultClaim, ...]:
        """Check and number the citations of a draft's claims.

        Args:
            draft: the text to number; drafts are to be given in reading order.
            place: name of the report's part, for the notes.

        Returns:
            One claim for each of the draft's, in order.
        """
        return tuple(
            self._claim(claim, place).model_copy(update={"begins": _begins(block, n)})
            for block in draft.blocks
            for n, claim in enumerate(block.claims)
        )

    def contradictions(self, found: Sequence[Disagreement]) -> tuple[Contradiction, ...]:
        """Check and number the two sides of each; one of which a side does not hold is taken out."""
        return tuple(one for disagreement in found if (one := self._contradiction(disagreement)) is not None)

    def entries(self) -> tuple[SourceEntry, ...]:
        """List the cited sources by number."""
        return tuple(self._entry(source, n) for source, n in self._numbers.items() if source in self._cited)

    def _claim(self, claim: Claim, place: str) -> ResultClaim:
        faults = {citation: self._fault(citation) for citation in claim.citations}
        self.notes += [
            f"{place}: a citation was taken out, {fault}: “{_shorten(claim.text)}”"
            for fault in faults.values()
            if fault is not None
        ]
        return ResultClaim(
            text=claim.text,
            status="invalid_source" if any(faults.values()) else claim.status,
            confidence=claim.confidence,
            citations=tuple(self._numbered(citation) for citation, fault in faults.items() if fault is None),
        )

    def _contradiction(self, found: Disagreement) -> Contradiction | None:
        for fault in (self._fault(found.a), self._fault(found.b)):
            if fault is not None:
                self.notes.append(f"Where sources disagree: a pair was taken out, {fault}")
                return None
        a, b = self._numbered(found.a), self._numbered(found.b)
        return Contradiction(a=a, b=b, severity=found.severity, about=found.about)

    def _fault(self, citation: Citation) -> str | None:
        source = self._sources.get(citation.source)
        if source is None:
            return f"its source {citation.source!r} is not stored"
        if not citation.quote.strip():
            return "its quote is empty"
        if source.text[citation.start : citation.end] != citation.quote:
            return f"its quote is not what {_shorten(source.title or source.uri)!r} says at its offsets"
        return None

    def _numbered(self, citation: Citation) -> ResultCitation:
        n = self._numbers.setdefault(citation.source, len(self._numbers) + 1)
        self._cited.add(citation.source)
        source = self._sources[citation.source]
        text = source.text
        return ResultCitation(
            source=n,
            start=citation.start,
            end=citation.end,
            page=source.page(citation.start),
            quote=citation.quote,
            before=_last_words(text[: citation.start], self._context),
            after=_first_words(text[citation.end :], self._context),
        )

    def _entry(self, source: SourceId, n: int) -> SourceEntry:
        record = self._sources[source]
        return SourceEntry(
            n=n,
            id=source,
            uri=record.uri,
            title=record.title or record.uri,
            author=record.author,
            published=record.published,
            accessed=record.accessed,
            derived=record.derived,
        )


def _begins(block: Block, n: int) -> Literal["paragraph", "bullet"] | None:
    """Return what starts with the claim at a place of a block."""
    if block.kind == "bullets":
        return "bullet"
    return None if n else "paragraph"


def _last_words(text: str, most: int) -> str:
    """Return the end of a text, without a word that the cut would go through."""
    cut = text[max(0, len(text) - most) :]
    whole = len(cut) == len(text) or text[-most - 1].isspace()
    return cut if whole else re.sub(r"^\S+(?=\s)", "", cut)


def _first_words(text: str, most: int) -> str:
    """Return the beginning of a text, without a word that the cut would go through."""
    cut = text[:most]
    whole = len(cut) == len(text) or text[most].isspace()
    return cut if whole else re.sub(r"(?<=\s)\S+$", "", cut)


def _shorten(text: str, limit: int = 80) -> str:
    flat = flatten(text)
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"
