"""Points that a synthesis leaves open: gaps and empty cells of its comparison, what to search for, and their answers.

The synthesis is older than the sections, and a gap is only a statement about the passages that it was written from.
Before a report calls a point open, the sources are searched for it, and the writer of the abstract compares the points
with the sections and with the passages found.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from tenure.algorithms.claims.removal import remove_claims
from tenure.contracts.evidence.passages import AbstractDraft, Block, Claim, Draft, PointAnswer, SynthesisDraft
from tenure.contracts.research.report import SectionDraft

MAX_EMPTY_CELLS = 8
"""Maximum number of empty cells that are open points."""

_GAP_FRAME = re.compile(
    r"\A[^.;]{0,80}?\b(?:not|no|nothing|open|unclear|unknown)\b[^.;]{0,40}?"
    r"\b(?=(?:whether|how|which|what|who|whose|when|where|why)\b)",
    re.IGNORECASE,
)
"""Words of a gap that say only that something is open, such as “The sources do not say”."""


def list_open_points(synthesis: SynthesisDraft) -> Draft:
    """Return the gaps of a synthesis, then the empty cells of its comparison."""
    empty = tuple(cell for cell in synthesis.comparison.claims if cell.kind == "gap")[:MAX_EMPTY_CELLS]
    return Draft(blocks=(*synthesis.gaps.blocks, *((Block(kind="table", claims=empty),) if empty else ())))


def build_gap_queries(synthesis: SynthesisDraft) -> tuple[str, ...]:
    """Return a query for each gap of a synthesis: that of its writer, else the subject of the gap."""
    given = synthesis.gap_queries
    return tuple(
        given[number] if number < len(given) and given[number].strip() else build_gap_query(claim.text)
        for number, claim in enumerate(synthesis.gaps.claims)
    )


def build_gap_query(gap: str) -> str:
    """Return the subject of a gap, without the words that call it open and without the nearest known fact."""
    subject = _GAP_FRAME.sub("", gap, count=1).split("; ")[0]
    return subject.strip().rstrip(".")


class ClosedPoints(NamedTuple):
    """A synthesis without the points that are answered, and the answers that no section has yet."""

    synthesis: SynthesisDraft
    """The synthesis; cells that were empty have their answers."""
    answers: tuple[PointAnswer, ...]
    """Answers to gaps, to be added to sections."""


def close_points(synthesis: SynthesisDraft, abstract: AbstractDraft) -> ClosedPoints:
    """Remove the gaps that the writer of the abstract closes or answers, and fill in the cells that it answers."""
    count = len(synthesis.gaps.claims)
    cells = {answer.point - count: answer.claim for answer in abstract.answers if answer.point > count}
    answers = tuple(answer for answer in abstract.answers if answer.point <= count)
    closed = {*(point - 1 for point in abstract.closed_points), *(answer.point - 1 for answer in answers)}
    (gaps,) = remove_claims([synthesis.gaps], {index for index in closed if index < count})
    changes = {"gaps": gaps, "comparison": _fill_cells(synthesis.comparison, cells)}
    return ClosedPoints(synthesis.model_copy(update=changes), answers)


def _fill_cells(table: Draft, answers: dict[int, Claim]) -> Draft:
    """Return a table with texts in its empty cells.

    Args:
        table: the table.
        answers: texts by the position of the cell among the empty ones, from 1.
    """
    blocks: list[Block] = []
    position = 0
    for block in table.blocks:
        cells: list[Claim] = []
        for cell in block.claims:
            position += cell.kind == "gap"
            answer = answers.get(position) if cell.kind == "gap" else None
            cells.append(answer.model_copy(update={"label": cell.label, "column": cell.column}) if answer else cell)
        blocks.append(block.model_copy(update={"claims": tuple(cells)}))
    return table.model_copy(update={"blocks": tuple(blocks)})


def restore_gaps(before: Draft, after: Draft, answers: Sequence[PointAnswer], checked: Sequence[Draft]) -> Draft:
    """Return the gaps that stayed open, and those whose answers did not pass their check.

    Args:
        before: all gaps of the synthesis.
        after: the gaps that stayed open.
        answers: answers to other gaps.
        checked: these answers after their check; empty for one that was removed.
    """
    failed = [
        before.claims[answer.point - 1] for answer, draft in zip(answers, checked, strict=True) if not draft.claims
    ]
    return Draft(blocks=(*after.blocks, Block(kind="bullets", claims=tuple(failed)))) if failed else after


def add_answers(
    sections: Sequence[SectionDraft], answers: Sequence[PointAnswer], checked: Sequence[Draft]
) -> tuple[SectionDraft, ...]:
    """Append each answer that passed its check to its section, as a paragraph of its own.

    Args:
        sections: the sections.
        answers: answers with the numbers of their sections; an unknown number stands for the last section.
        checked: the answers after their check.
    """
    added: dict[int, list[Claim]] = {}
    for answer, draft in zip(answers, checked, strict=True):
        number = answer.section if 1 <= answer.section <= len(sections) else len(sections)
        added.setdefault(number, []).extend(draft.claims)
    return tuple(
        _append_paragraph(section, added[number]) if added.get(number) else section
        for number, section in enumerate(sections, 1)
    )


def _append_paragraph(section: SectionDraft, claims: Sequence[Claim]) -> SectionDraft:
    blocks = (*section.draft.blocks, Block(claims=tuple(claims)))
    return section.model_copy(update={"draft": section.draft.model_copy(update={"blocks": blocks})})
