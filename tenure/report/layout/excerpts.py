"""Arrange the claims of an excerpt as paragraphs, lists, tables and code, and name its place."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from tenure.algorithms.chunking.chunking import format_heading_path
from tenure.algorithms.text.printable import flatten
from tenure.contracts.result.result import ResultCitation, ResultClaim
from tenure.report.sources.places import describe_part, describe_recognition, describe_row
from tenure.report.translation import translate

MAX_GAP_CHARACTERS, MAX_MARKER_CHARACTERS = 4, 12
"""Maximum characters, such as line breaks, between two parts of an excerpt without words between them, and before an
item of a list with its mark."""
ELLIPSIS = "…"
"""Mark of words of the source that an excerpt leaves out."""

ExcerptGroupKind = Literal["paragraph", "list", "table", "code"]


class ExcerptGroup(NamedTuple):
    """Paragraph, list, table or code of an excerpt."""

    kind: ExcerptGroupKind
    """Its form."""
    rows: tuple[tuple[ResultClaim, ...], ...]
    """The items of a list or the rows of a table; a paragraph and code have one."""
    columns: tuple[str, ...] = ()
    """Names of the columns of a table; empty if they are unknown."""
    follows_gap: bool = False
    """Whether words of the source are missing before it."""


def group_excerpt(claims: Sequence[ResultClaim]) -> tuple[ExcerptGroup, ...]:
    """Return the paragraphs, lists, tables and code of an excerpt."""
    groups: list[ExcerptGroup] = []
    before: ResultClaim | None = None
    for claim in claims:
        kind = _get_kind(claim, groups)
        is_cut = before is not None and _is_cut(before, claim)
        before = claim
        last = groups[-1] if groups else None
        if last and kind == last.kind and claim.part == "sentence" and not is_cut:
            groups[-1] = last._replace(rows=(*last.rows[:-1], (*last.rows[-1], claim)))
        elif last and kind == last.kind and kind in ("list", "table") and (not is_cut or kind == "table"):
            groups[-1] = last._replace(rows=(*last.rows, (claim,)))
        else:
            groups.append(ExcerptGroup(kind, ((claim,),), follows_gap=is_cut))
    return tuple(_name_columns(group) if group.kind == "table" else group for group in groups)


def _get_kind(claim: ResultClaim, groups: Sequence[ExcerptGroup]) -> ExcerptGroupKind:
    """Return the form that a claim belongs to; a further sentence continues the paragraph or the item before it."""
    if claim.part == "sentence":
        return groups[-1].kind if groups and groups[-1].kind == "list" else "paragraph"
    kinds: dict[str, ExcerptGroupKind] = {"item": "list", "row": "table", "code": "code"}
    return kinds.get(claim.part, "paragraph")


def _is_cut(before: ResultClaim, claim: ResultClaim) -> bool:
    """Return whether words are missing between two parts of an excerpt."""
    if not before.citations or not claim.citations:
        return False
    max_gap = MAX_MARKER_CHARACTERS if claim.part == "item" else MAX_GAP_CHARACTERS
    return claim.citations[0].start - before.citations[0].end > max_gap


def _name_columns(group: ExcerptGroup) -> ExcerptGroup:
    """Return a table with the names of its columns: those of its source, else its first row."""
    first = group.rows[0][0]
    if first.column:
        names = tuple(first.column.split(", "))
        return group._replace(columns=names if len(names) == len(split_cells(first)) else ())
    if len(group.rows) == 1:
        return group
    return group._replace(columns=split_cells(first), rows=group.rows[1:])


def split_cells(row: ResultClaim) -> tuple[str, ...]:
    """Return the cells of a row."""
    return tuple(cell.strip() for cell in row.text.strip().strip("|").split("|"))


def format_excerpt_place(claims: Sequence[ResultClaim]) -> str:
    """Return the title, the headings and the place of an excerpt on one line."""
    path = format_heading_path(map(flatten, claims[0].path))
    quoted = [citation for claim in claims for citation in claim.citations]
    return ", ".join(filter(None, (path, _describe_place(quoted))))


def _describe_place(quoted: Sequence[ResultCitation]) -> str:
    """Return the part and the line of the first quote, or the characters of all; empty without a quote."""
    if not quoted:
        return ""
    line = next((translate("line {line}", line=citation.line) for citation in quoted[:1] if citation.line), "")
    place = ", ".join(filter(None, (describe_part(quoted[0]), line))) or translate(
        "characters {start}–{end}", start=quoted[0].start, end=quoted[-1].end
    )
    return place + (describe_row(quoted[0]) if len(quoted) == 1 else "") + describe_recognition(quoted)
