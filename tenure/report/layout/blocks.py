"""Arrange claims as paragraphs, lists, tables, definitions and code, each claim with its own sources."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from tenure.algorithms.writing.tables import list_columns
from tenure.contracts.evidence.passages import ClaimBlockKind
from tenure.contracts.result.result import ResultClaim


class CitedClaim(NamedTuple):
    """A claim with the sources of its citation mark."""

    claim: ResultClaim
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
    for (_, kind), placed in groupby(_number_blocks(claims), key=lambda numbered: numbered[:2]):
        members = [claim for *_, claim in placed]
        own_heading = members[0].heading if members[0].heading != heading else ""
        heading = members[0].heading
        cited = tuple(map(cite, members))
        if kind == "table":
            columns = tuple(list_columns([(claim.label, claim.column) for claim in members]))
            yield LayoutBlock(kind, own_heading, cited, columns, tuple(_arrange_rows(cited, columns)))
        elif kind == "definitions":
            yield LayoutBlock(kind, own_heading, cited, rows=tuple(_arrange_rows(cited, ("",))))
        else:
            yield LayoutBlock(kind, own_heading, tuple(_share_marks(cited)) if kind == "paragraph" else cited)


def cite(claim: ResultClaim) -> CitedClaim:
    """Return a claim with the numbers of its sources."""
    return CitedClaim(claim, tuple(sorted({citation.source for citation in claim.citations})), (claim,))


def _share_marks(claims: Sequence[CitedClaim]) -> Iterator[CitedClaim]:
    """Yield the claims of a paragraph with one mark for neighbours that rest on the same sources; doubts stay single.

    Readers found a mark after every sentence hard to read.
    """

    def describe(cited: CitedClaim) -> tuple[object, ...]:
        claim = cited.claim
        single = id(claim) if claim.status not in ("supported", "unverified") or not cited.sources else 0
        return cited.sources, claim.kind, claim.tainted, single

    for _, neighbours in groupby(claims, key=describe):
        *others, last = neighbours
        yield from (neighbour._replace(marked=()) for neighbour in others)
        yield last._replace(marked=tuple(neighbour.claim for neighbour in (*others, last)))


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
    for label in dict.fromkeys(cited.claim.label for cited in claims):
        cells = (
            tuple(cited for cited in claims if (cited.claim.label, cited.claim.column) == (label, column))
            for column in columns
        )
        yield LayoutRow(label, tuple(cells))
