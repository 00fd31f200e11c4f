"""Arrange claims as paragraphs, lists, tables, definitions and code, each claim with its own sources.

Markdown, HTML and PDF use the same layout.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

from tenure.algorithms.writing.tables import list_columns
from tenure.contracts.evidence.passages import ClaimBlockKind
from tenure.contracts.result.result import ResultClaim, Synthesis

SynthesisPart = Literal["situation", "complication", "resolution", "gaps", "comparison"]
SYNTHESIS_PARTS: tuple[SynthesisPart, ...] = get_args(SynthesisPart)
"""Parts of a synthesis in the order of its claims."""

WHAT_FOLLOWS, NOT_KNOWN, COMPARISON = "What follows", "What is not known", "Comparison"
"""Headings of the conclusions, of the gaps and of the comparison of a synthesis."""

SYNTHESIS_HEADINGS: Mapping[SynthesisPart, str] = {
    "situation": "Situation",
    "complication": "Complication",
    "resolution": "Resolution",
    "gaps": NOT_KNOWN,
    "comparison": COMPARISON,
}
"""Names of the parts of a synthesis in notes and lists."""

CLOSING_NOTES = {
    WHAT_FOLLOWS: "Conclusions of this report, not statements of a source; the marks name the passages they rest on.",
    NOT_KNOWN: "Questions that the sources that were read leave open.",
}
"""Remarks below the headings of the parts that close a report."""


class CitedClaim(NamedTuple):
    """A claim with the sources of its citation mark."""

    claim: ResultClaim
    """The claim."""
    sources: tuple[int, ...]
    """Numbers of its sources in ascending order; empty if it cites nothing."""
    marked: tuple[ResultClaim, ...]
    """Claims that its mark stands for: itself, and those before it in a paragraph that rest on the same sources; empty
    if the mark of a later claim stands for it."""


class LayoutRow(NamedTuple):
    """Row of a table, or term with its definition."""

    label: str
    """Name of the row, or the term."""
    cells: tuple[tuple[CitedClaim, ...], ...]
    """Claims of each column; of a term, one cell with its definition."""


class LayoutBlock(NamedTuple):
    """Block of a text."""

    kind: ClaimBlockKind
    """Form of the block."""
    heading: str
    """Sub-heading to show above the block; empty for none."""
    claims: tuple[CitedClaim, ...]
    """Its claims in reading order."""
    columns: tuple[str, ...] = ()
    """Names of the columns of a table."""
    rows: tuple[LayoutRow, ...] = ()
    """Rows of a table, or terms with their definitions."""


def split_into_blocks(claims: Sequence[ResultClaim]) -> Iterator[LayoutBlock]:
    """Yield the blocks of claims."""
    heading = ""
    for (_, kind), placed in groupby(_number_blocks(claims), key=lambda one: one[:2]):
        members = [claim for *_, claim in placed]
        shown = members[0].heading if members[0].heading != heading else ""
        heading = members[0].heading
        cited = tuple(map(cite, members))
        if kind == "table":
            columns = tuple(list_columns([(claim.label, claim.column) for claim in members]))
            yield LayoutBlock(kind, shown, cited, columns, tuple(_arrange_rows(cited, columns)))
        elif kind == "definitions":
            yield LayoutBlock(kind, shown, cited, rows=tuple(_arrange_rows(cited, ("",))))
        else:
            yield LayoutBlock(kind, shown, tuple(_share_marks(cited)) if kind == "paragraph" else cited)


def cite(claim: ResultClaim) -> CitedClaim:
    """Return a claim with the numbers of its sources."""
    return CitedClaim(claim, tuple(sorted({citation.source for citation in claim.citations})), (claim,))


def _share_marks(claims: Sequence[CitedClaim]) -> Iterator[CitedClaim]:
    """Yield the claims of a paragraph with one mark for neighbours that rest on the same sources; doubts stay single.

    Readers found a mark after every sentence hard to read.
    """

    def describe(one: CitedClaim) -> tuple[object, ...]:
        claim = one.claim
        single = id(claim) if claim.status not in ("supported", "unverified") or not one.sources else 0
        return one.sources, claim.kind, claim.tainted, single

    for _, neighbours in groupby(claims, key=describe):
        *others, last = neighbours
        yield from (one._replace(marked=()) for one in others)
        yield last._replace(marked=tuple(one.claim for one in (*others, last)))


class SynthesisLayout(NamedTuple):
    """Parts of a synthesis by their places in a report, each with its heading."""

    comparison: tuple[ResultClaim, ...] = ()
    """Table before the sections."""
    parts: Mapping[str, tuple[ResultClaim, ...]] = MappingProxyType({})
    """Parts of a synthesis without recommendations and gaps, shown as a synthesis after the sections."""
    closing: Mapping[str, tuple[ResultClaim, ...]] = MappingProxyType({})
    """Conclusions and gaps after the sections."""
    background: Mapping[str, tuple[ResultClaim, ...]] = MappingProxyType({})
    """Parts that the conclusions are drawn from, which readers find with the steps of the reasoning."""


def order_synthesis(synthesis: Synthesis | None) -> SynthesisLayout:
    """Return the places of the parts of a synthesis; without recommendations and gaps it is one part of the report."""
    parts = split_synthesis(synthesis) if synthesis else {}
    first = {part.capitalize(): parts[part] for part in ("situation", "complication") if part in parts}
    resolution, gaps = parts.get("resolution", ()), parts.get("gaps", ())
    if not gaps and not any(claim.kind == "inference" for claim in resolution):
        shown = first | ({"Resolution": resolution} if resolution else {})
        return SynthesisLayout(parts.get("comparison", ()), parts=shown)
    closing = {name: claims for name, claims in ((WHAT_FOLLOWS, resolution), (NOT_KNOWN, gaps)) if claims}
    return SynthesisLayout(parts.get("comparison", ()), closing=closing, background=first)


def split_synthesis(synthesis: Synthesis) -> dict[SynthesisPart, tuple[ResultClaim, ...]]:
    """Return the non-empty parts of a synthesis with their claims; claims of no part belong to the resolution."""
    counts = [*synthesis.sentences, *[0] * len(SYNTHESIS_PARTS)][: len(SYNTHESIS_PARTS)]
    counts[SYNTHESIS_PARTS.index("resolution")] += max(0, len(synthesis.claims) - sum(counts))
    ends = list(accumulate(counts))
    parts = (synthesis.claims[end - count : end] for count, end in zip(counts, ends, strict=True))
    return {name: claims for name, claims in zip(SYNTHESIS_PARTS, parts, strict=True) if claims}


_KINDS: dict[str | None, ClaimBlockKind] = {
    "bullet": "bullets",
    "number": "numbered",
    "cell": "table",
    "definition": "definitions",
    "code": "code",
    "excerpt": "excerpt",
}
"""Kinds of the blocks that consist of claims with these beginnings; a paragraph has any other."""


def _number_blocks(claims: Sequence[ResultClaim]) -> Iterator[tuple[int, ClaimBlockKind, ResultClaim]]:
    """Yield each claim with the number and the kind of its block; lists and tables continue from claim to claim."""
    number, heading = 0, ""
    kind: ClaimBlockKind = "paragraph"
    for claim in claims:
        continues_definition = claim.begins is None and kind == "definitions" and bool(claim.label)
        continues_excerpt = claim.begins is None and kind == "excerpt" and bool(claim.part)
        continued = continues_definition or continues_excerpt
        own: ClaimBlockKind = kind if continued else _KINDS.get(claim.begins, "paragraph")
        if own != kind or claim.begins in ("paragraph", "code", "excerpt") or claim.heading != heading:
            number += 1
        kind, heading = own, claim.heading
        yield number, kind, claim


def _arrange_rows(claims: Sequence[CitedClaim], columns: Sequence[str]) -> Iterator[LayoutRow]:
    """Yield rows with the claims of each column; rows with the same name are one."""
    for label in dict.fromkeys(one.claim.label for one in claims):
        cells = (
            tuple(one for one in claims if (one.claim.label, one.claim.column) == (label, column)) for column in columns
        )
        yield LayoutRow(label, tuple(cells))
