"""Assemble the result document from a draft and its cited sources.

Sources are numbered in reading order, the abstract first. Every quote is compared with the stored text again, since
this is the last step that can stop a false quote.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tenure.algorithms.reasoning.strategies import to_drafts
from tenure.algorithms.text.languages.detection import detect_language
from tenure.algorithms.text.printable import flatten
from tenure.algorithms.text.sentences import guess_language
from tenure.contracts.base import SourceId
from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.contracts.evidence.reasoning import Reasoning, ReasoningStep
from tenure.contracts.evidence.web import WebReport
from tenure.contracts.research.report import ReportDraft, SectionDraft
from tenure.contracts.result.result import (
    ReportFacts,
    Result,
    ResultClaim,
    ResultReasoning,
    ResultSection,
    ResultStatus,
    ResultStep,
    SourceEntry,
    Synthesis,
)
from tenure.report.citation_numbering import CitationNumbering, ReportSource
from tenure.report.layout.claims import ClaimLayout
from tenure.report.layout.program import build_program_result
from tenure.report.layout.synthesis import COMPARISON, NOT_KNOWN, WHAT_FOLLOWS
from tenure.report.render.markdown import write_markdown
from tenure.report.translation import LANGUAGES, parse_language

MAX_CONTEXT_CHARS = 200
"""Maximum characters of the source that a citation keeps on each side of its quote."""

MAX_TOTAL_CONTEXT_CHARS = 60_000
"""Maximum characters of context of all citations of a report, so that a long report fits into one payload."""


def assemble_result(
    draft: ReportDraft,
    sources: Mapping[SourceId, ReportSource],
    web: WebReport | None = None,
    files: Mapping[str, str] = MappingProxyType({}),
    pictures: Mapping[SourceId, str] = MappingProxyType({}),
) -> Result:
    """Number the sources of a draft, check every quote and render the sections as Markdown.

    Args:
        draft: the report with citations by source id.
        sources: the stored sources it cites, by id.
        web: the pages read on the web, or None.
        files: texts of the files on disk, by path, as far as they are readable.
        pictures: JPEG images in Base64 of the sources that a model has read from pictures.

    Returns:
        The result document. A citation that does not match its source is removed with a note, as is a section without
        text. A finished run without any citation left has the status `no_evidence`.
    """
    numbering = CitationNumbering(sources, _compute_context_length(draft), draft.numbered_sources, files, pictures)
    short_answer = numbering.number_claims(_wrap_claim(draft.short_answer), "Short answer")
    abstract_claims = numbering.number_claims(draft.abstract, "Abstract")
    comparison = numbering.number_claims(draft.synthesis.comparison, COMPARISON)
    sections = tuple(_section(section, numbering) for section in draft.sections if section.draft.claims)
    synthesis = Synthesis(
        resolution=numbering.number_claims(draft.synthesis.resolution, WHAT_FOLLOWS),
        gaps=numbering.number_claims(draft.synthesis.gaps, NOT_KNOWN),
        comparison=comparison,
    )
    positions = numbering.number_positions(draft.positions)
    contradictions = numbering.number_contradictions(draft.contradictions)
    reasoning = _number_reasoning(draft.reasoning, numbering) if draft.reasoning else None
    entries = numbering.list_sources(draft.usage.suspicious_sources)
    status = _status(draft, cited=bool(entries))
    program = build_program_result(draft.code) if draft.code else {}
    if draft.repository:
        program = {"repository": draft.repository, "patch": draft.repository.patch}
    own = {
        "further_considerations": tuple(text for text in draft.further_considerations if text.strip()),
        "notes": (*draft.notes, *numbering.notes, *_notes(draft, status)),
        "status": status,
        "language": _choose_language(draft),
    }
    return Result(
        **{name: getattr(draft, name) for name in ReportFacts.model_fields} | own | program,
        title=flatten(draft.title) or flatten(draft.question),
        short_answer=next((claim for claim in short_answer if claim.citations), None),
        abstract=_write_claims(abstract_claims),
        abstract_claims=abstract_claims,
        sections=sections,
        reasoning=reasoning,
        synthesis=synthesis if synthesis.claims else None,
        contradictions=contradictions,
        positions=positions,
        sources=entries,
        suspicious_sources=_list_suspicious(entries, draft.usage.suspicious_sources, sources),
        coverage={section.topic: section.coverage for section in draft.sections},
        web=web,
    )


def _choose_language(draft: ReportDraft) -> str:
    """Return the language of the fixed words: the one asked for, else that of the question; English without words."""
    if draft.language:
        return parse_language(draft.language) or "en"
    language = detect_language(draft.question) or guess_language(draft.question)
    return language if language in LANGUAGES else "en"


def list_cited_sources(draft: ReportDraft) -> list[SourceId]:
    """Return the ids of all sources that a report cites or names as suspicious, sorted."""
    cited = {citation.source for part in _list_parts(draft) for claim in part.claims for citation in claim.citations}
    cited |= {side.source for dispute in draft.contradictions for side in (dispute.a, dispute.b)}
    sided = (passage for side in draft.positions for passage in (*side.supporting, *side.contradicting))
    cited |= {passage.citation.source for passage in sided}
    outcomes = (*(pair.outcome for pair in draft.contradictions), *(position.outcome for position in draft.positions))
    cited |= {source.citation.source for outcome in outcomes if outcome for source in outcome.sources}
    return sorted(cited | {*draft.usage.suspicious_sources})


def _list_parts(draft: ReportDraft) -> tuple[Draft, ...]:
    """Return all texts of a report that have citations."""
    thoughts = to_drafts(draft.reasoning) if draft.reasoning else ()
    return (
        _wrap_claim(draft.short_answer),
        draft.abstract,
        *(section.draft for section in draft.sections),
        *thoughts,
        draft.synthesis.resolution,
        draft.synthesis.gaps,
        draft.synthesis.comparison,
    )


def _wrap_claim(claim: Claim | None) -> Draft:
    return Draft(blocks=(Block(claims=(claim,)),)) if claim else Draft()


def _compute_context_length(draft: ReportDraft) -> int:
    """Return the number of context characters per side of each quote."""
    citations = sum(len(claim.citations) for part in _list_parts(draft) for claim in part.claims)
    return min(MAX_CONTEXT_CHARS, MAX_TOTAL_CONTEXT_CHARS // (2 * max(1, citations)))


def _section(section: SectionDraft, numbering: CitationNumbering) -> ResultSection:
    claims = numbering.number_claims(section.draft, section.topic)
    return ResultSection(topic=section.topic, markdown=_write_claims(claims), claims=claims)


def _write_claims(claims: Sequence[ResultClaim]) -> str:
    """Return claims as Markdown with numeric citation marks."""
    return write_markdown(ClaimLayout().set_claims(claims), level=3)


def _number_reasoning(reasoning: Reasoning, numbering: CitationNumbering) -> ResultReasoning:
    def number(step: ReasoningStep) -> ResultStep:
        (claim,) = numbering.number_claims(_wrap_claim(step.claim), "Reasoning")
        return ResultStep(kind=step.kind, claim=claim, follows=step.follows, link=step.link)

    return ResultReasoning(
        strategy=reasoning.strategy,
        steps=tuple(map(number, reasoning.steps)),
        conclusion=number(reasoning.conclusion) if reasoning.conclusion else None,
        answer=flatten(reasoning.answer),
        rejected=reasoning.rejected,
    )


def _list_suspicious(
    entries: Sequence[SourceEntry], read: Sequence[SourceId], sources: Mapping[SourceId, ReportSource]
) -> tuple[str, ...]:
    """Return the URIs of sources with instructions, the cited ones first."""
    uris = [
        *(entry.uri for entry in entries if entry.suspicious),
        *(sources[source].uri for source in read if source in sources),
    ]
    return tuple(dict.fromkeys(uris))


def _status(draft: ReportDraft, *, cited: bool) -> ResultStatus:
    proved_by_sources = draft.status == "done" and not (draft.code or draft.repository)
    return "no_evidence" if proved_by_sources and not cited else draft.status


def _notes(draft: ReportDraft, status: ResultStatus) -> list[str]:
    empty = [
        f"{section.topic}: left out because it has no text." for section in draft.sections if not section.draft.claims
    ]
    if status != draft.status:
        empty.append("No valid citation is left, so the run has found no evidence.")
    return empty
