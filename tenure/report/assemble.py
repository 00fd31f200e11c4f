"""From a draft and the sources it cites to the result document.

Sources get their numbers in reading order, the abstract first, and every quote is held against the
stored text once more, since this is the last moment at which a false one can be stopped.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby

from tenure.contracts.base import SourceId
from tenure.contracts.evidence import Draft, SynthesisDraft
from tenure.contracts.research import ReportDraft, SectionDraft
from tenure.contracts.result import Result, ResultClaim, ResultSection, ResultStatus, Synthesis
from tenure.report.citations import Bibliography, SourceRecord
from tenure.report.program import program
from tenure.report.prose import escape, flatten

MOST_CONTEXT = 200
"""Characters that a citation keeps of its source on either side of the quote."""

CONTEXT_IN_ALL = 60_000
"""Characters that all citations of a report keep together, so that a long report still travels in one payload."""

UNSOURCED = "[unsourced]"
"""The mark of a sentence that cites nothing, so that it cannot pass for a cited one."""


def assemble(draft: ReportDraft, sources: Mapping[SourceId, SourceRecord]) -> Result:
    """Number the sources of a draft, check every quote and set the sections as Markdown.

    Args:
        draft: the report with citations by source id.
        sources: the stored sources it cites, by id.

    Returns:
        The result document. A citation that does not hold is taken out with a note, a section without
        text is left out with a note, and a finished run in which no citation is left counts as one
        that found no evidence.
    """
    bibliography = Bibliography(sources, _context(draft))
    abstract_claims = bibliography.number(draft.abstract, "Abstract")
    sections = tuple(_section(section, bibliography) for section in draft.sections if section.draft.claims)
    synthesis = _synthesis(draft.synthesis, bibliography)
    entries = bibliography.entries()
    status = _status(draft, cited=bool(entries))
    made = program(draft.code) if draft.code else {}
    return Result(
        id=draft.id,
        mode=draft.mode,
        question=draft.question,
        title=flatten(draft.title) or flatten(draft.question),
        abstract=to_markdown(draft.abstract, abstract_claims),
        abstract_claims=abstract_claims,
        sections=sections,
        synthesis=synthesis,
        information_gain=draft.information_gain,
        coverage_by_cycle=draft.coverage_by_cycle,
        further_considerations=tuple(text for text in draft.further_considerations if text.strip()),
        sources=entries,
        coverage={section.topic: section.coverage for section in draft.sections},
        critiques=draft.critiques,
        decisions=draft.decisions,
        feedback=draft.feedback,
        usage=draft.usage,
        limits=draft.limits,
        degraded=draft.degraded,
        skipped=draft.skipped,
        notes=(*draft.notes, *bibliography.notes, *_notes(draft, status)),
        status=status,
        **made,
    )


def to_markdown(draft: Draft, claims: Sequence[ResultClaim]) -> str:
    """Set a draft as Markdown with numeric citation marks.

    Consecutive sentences of a paragraph that rest on the same sources share one mark at the end of
    their run; every bullet carries its own.

    Args:
        draft: the text, for its paragraphs and lists.
        claims: its numbered claims, one for each of the draft's, in order.
    """
    blocks: list[str] = []
    position = 0
    for block in draft.blocks:
        own = claims[position : position + len(block.claims)]
        position += len(own)
        if own:
            blocks.append(_bullets(own) if block.kind == "bullets" else _paragraph(own))
    return "\n\n".join(blocks)


def _context(draft: ReportDraft) -> int:
    """Return how many characters on either side of a quote each citation may keep."""
    parts = (draft.synthesis.situation, draft.synthesis.complication, draft.synthesis.resolution)
    drafts = (draft.abstract, *(section.draft for section in draft.sections), *parts)
    citations = sum(len(claim.citations) for written in drafts for claim in written.claims)
    return min(MOST_CONTEXT, CONTEXT_IN_ALL // (2 * max(1, citations)))


def _section(section: SectionDraft, bibliography: Bibliography) -> ResultSection:
    claims = bibliography.number(section.draft, section.topic)
    return ResultSection(topic=section.topic, markdown=to_markdown(section.draft, claims), claims=claims)


def _synthesis(synthesis: SynthesisDraft, bibliography: Bibliography) -> Synthesis | None:
    """Set the synthesis; None where nothing was written."""
    parts = {
        "situation": synthesis.situation,
        "complication": synthesis.complication,
        "resolution": synthesis.resolution,
    }
    numbered = {name: bibliography.number(draft, name.capitalize()) for name, draft in parts.items()}
    if not any(numbered.values()):
        return None
    return Synthesis(
        **{name: to_markdown(draft, numbered[name]) for name, draft in parts.items()},
        claims=tuple(claim for claims in numbered.values() for claim in claims),
        sentences=(len(numbered["situation"]), len(numbered["complication"]), len(numbered["resolution"])),
    )


def _paragraph(claims: Sequence[ResultClaim]) -> str:
    runs = groupby(claims, key=_mark)
    return " ".join(f"{' '.join(escape(claim.text) for claim in run)} {mark}" for mark, run in runs)


def _bullets(claims: Sequence[ResultClaim]) -> str:
    return "\n".join(f"- {escape(claim.text)} {_mark(claim)}" for claim in claims)


def _mark(claim: ResultClaim) -> str:
    numbers = sorted({citation.source for citation in claim.citations})
    return f"[{', '.join(map(str, numbers))}]" if numbers else UNSOURCED


def _status(draft: ReportDraft, *, cited: bool) -> ResultStatus:
    proved_by_sources = draft.status == "done" and not draft.code
    return "no_evidence" if proved_by_sources and not cited else draft.status


def _notes(draft: ReportDraft, status: ResultStatus) -> list[str]:
    empty = [
        f"{section.topic}: left out, nothing was written." for section in draft.sections if not section.draft.claims
    ]
    if status != draft.status:
        empty.append("No citation is left, so the run counts as one that found no evidence.")
    return empty
