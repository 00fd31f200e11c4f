"""From a draft and the sources it cites to the result document.

Sources get their numbers in reading order, the abstract first, and every quote is held against the
stored text once more, since this is the last moment at which a false one can be stopped.
"""

from collections.abc import Mapping

from tenure.algorithms.reasoning.strategies import drafts
from tenure.contracts.base import SourceId
from tenure.contracts.evidence.passages import Block, Draft, SynthesisDraft
from tenure.contracts.evidence.reasoning import Reasoning, ReasoningStep
from tenure.contracts.evidence.web import WebAccount
from tenure.contracts.research.report import ReportDraft, SectionDraft
from tenure.contracts.result.result import (
    Result,
    ResultReasoning,
    ResultSection,
    ResultStatus,
    ResultStep,
    Synthesis,
)
from tenure.report.citations import Numbering, SourceRecord
from tenure.report.render.escaping import flatten
from tenure.report.render.marks import NUMERIC, to_markdown
from tenure.report.render.program import program

MOST_CONTEXT = 200
"""Characters that a citation keeps of its source on either side of the quote."""

CONTEXT_IN_ALL = 60_000
"""Characters that all citations of a report keep together, so that a long report still travels in one payload."""


def assemble(draft: ReportDraft, sources: Mapping[SourceId, SourceRecord], web: WebAccount | None = None) -> Result:
    """Number the sources of a draft, check every quote and set the sections as Markdown.

    Args:
        draft: the report with citations by source id.
        sources: the stored sources it cites, by id.
        web: what was read of the web; None for nothing.

    Returns:
        The result document. A citation that does not hold is taken out with a note, a section without
        text is left out with a note, and a finished run in which no citation is left counts as one
        that found no evidence.
    """
    numbering = Numbering(sources, _context(draft), draft.numbered)
    abstract_claims = numbering.number(draft.abstract, "Abstract")
    sections = tuple(_section(section, numbering) for section in draft.sections if section.draft.claims)
    reasoning = _reasoning(draft.reasoning, numbering) if draft.reasoning else None
    synthesis = _synthesis(draft.synthesis, numbering)
    contradictions = numbering.contradictions(draft.contradictions)
    entries = numbering.entries()
    status = _status(draft, cited=bool(entries))
    made = program(draft.code) if draft.code else {"artifacts": draft.artifacts}
    return Result(
        id=draft.id,
        mode=draft.mode,
        question=draft.question,
        title=flatten(draft.title) or flatten(draft.question),
        abstract=to_markdown(abstract_claims, NUMERIC),
        abstract_claims=abstract_claims,
        sections=sections,
        reasoning=reasoning,
        synthesis=synthesis,
        information_gain=draft.information_gain,
        coverage_by_cycle=draft.coverage_by_cycle,
        further_considerations=tuple(text for text in draft.further_considerations if text.strip()),
        contradictions=contradictions,
        evaluation=draft.evaluation,
        sources=entries,
        coverage={section.topic: section.coverage for section in draft.sections},
        critiques=draft.critiques,
        decisions=draft.decisions,
        feedback=draft.feedback,
        usage=draft.usage,
        limits=draft.limits,
        degraded=draft.degraded,
        skipped=draft.skipped,
        web=web,
        notes=(*draft.notes, *numbering.notes, *_notes(draft, status)),
        status=status,
        **made,
    )


def _context(draft: ReportDraft) -> int:
    """Return how many characters on either side of a quote each citation may keep."""
    parts = (draft.synthesis.situation, draft.synthesis.complication, draft.synthesis.resolution)
    thoughts = drafts(draft.reasoning) if draft.reasoning else ()
    written_parts = (draft.abstract, *(section.draft for section in draft.sections), *thoughts, *parts)
    citations = sum(len(claim.citations) for written in written_parts for claim in written.claims)
    return min(MOST_CONTEXT, CONTEXT_IN_ALL // (2 * max(1, citations)))


def _section(section: SectionDraft, numbering: Numbering) -> ResultSection:
    claims = numbering.number(section.draft, section.topic)
    return ResultSection(topic=section.topic, markdown=to_markdown(claims, NUMERIC), claims=claims)


def _reasoning(reasoning: Reasoning, numbering: Numbering) -> ResultReasoning:
    """Set the line of thought."""

    def step(one: ReasoningStep) -> ResultStep:
        (claim,) = numbering.number(Draft(blocks=(Block(claims=(one.claim,)),)), "Reasoning")
        return ResultStep(kind=one.kind, claim=claim, follows=one.follows, link=one.link)

    return ResultReasoning(
        strategy=reasoning.strategy,
        steps=tuple(step(one) for one in reasoning.steps),
        conclusion=step(reasoning.conclusion) if reasoning.conclusion else None,
        answer=flatten(reasoning.answer),
        confidence=reasoning.confidence,
        considered=reasoning.considered,
    )


def _synthesis(synthesis: SynthesisDraft, numbering: Numbering) -> Synthesis | None:
    """Set the synthesis; None where nothing was written."""
    parts = {
        "situation": synthesis.situation,
        "complication": synthesis.complication,
        "resolution": synthesis.resolution,
    }
    numbered = {name: numbering.number(draft, name.capitalize()) for name, draft in parts.items()}
    if not any(numbered.values()):
        return None
    return Synthesis(
        **{name: to_markdown(claims, NUMERIC) for name, claims in numbered.items()},
        claims=tuple(claim for claims in numbered.values() for claim in claims),
        sentences=(len(numbered["situation"]), len(numbered["complication"]), len(numbered["resolution"])),
    )


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
