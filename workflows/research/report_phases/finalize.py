"""Finalize the report: title, abstract, verification of both, and the draft with everything that the run produced."""

import asyncio
from dataclasses import dataclass

from temporalio import workflow

from workflows.research.report_phases.report_context import ReportContext
from workflows.research.report_phases.report_state import ReportState
from workflows.research.verification import verify_drafts
from workflows.runtime.progress import UNHEARD

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.claims.verification import list_cited_passages
    from tenure.algorithms.control.budget import describe_limit
    from tenure.algorithms.reasoning import strategies as reasoning_strategies
    from tenure.algorithms.research.research_state import describe_positions
    from tenure.algorithms.text.questions import format_heading
    from tenure.algorithms.writing import manuscript, open_points
    from tenure.contracts.evidence.passages import (
        AbstractDraft,
        Block,
        Claim,
        Draft,
        PassageRef,
        SearchRequest,
        SynthesisDraft,
    )
    from tenure.contracts.evidence.reasoning import Reasoning
    from tenure.contracts.research.report import ReportDraft, SectionDraft
    from tenure.contracts.research.spiral import SpiralResult
    from tenure.contracts.result.result import ResultStatus
    from tenure.contracts.run.run import ControlState, RunLimits
    from tenure.roles.writing import abstract_writer, title_writer
    from tenure.roles.writing.abstract_writer import AbstractWriterInput
    from tenure.roles.writing.title_writer import TitleWriterInput


PASSAGES_PER_GAP = 5
"""Passages of the search for one gap."""
MAX_GAP_PASSAGES = 16
"""Passages of the searches for all gaps."""


@dataclass(frozen=True)
class FrontMatter:
    """Title, short answer, abstract and synthesis of a report, and its sections with answers to open points."""

    title: str
    abstract: Draft
    synthesis: SynthesisDraft
    sections: tuple[SectionDraft, ...]
    short_answer: Claim | None = None


async def finalize(context: ReportContext) -> ReportDraft:
    """Return the finished draft; a cancelled or failed run gets no abstract."""
    state = context.state
    if state.written_sections and not state.cancelled and not state.failure:
        front = await _write_front_matter(context)
    else:
        heading = format_heading(context.request.question)
        front = FrontMatter(heading, Draft(), state.research.synthesis, state.written_sections)
    line = _select_reasoning(context, front)
    progress = await context.clients.progress.finish(**context.describe_progress("compose", "the text is written"))
    if not context.clients.progress.is_received:
        context.add_notes([UNHEARD])
    return _assemble(context, front, line).model_copy(update={"progress": progress})


async def _write_front_matter(context: ReportContext) -> FrontMatter:
    """Write title and abstract, then verify the abstract, the synthesis and answers to what it left open."""
    context.report_progress("compose")
    request, state = context.request, context.state
    synthesis = manuscript.select_closing(state.research.synthesis)
    heading = format_heading(request.question)
    title, written = await asyncio.gather(
        context.try_step(_write_title(context), heading, "The title is the question, since none could be written"),
        context.try_step(_write_abstract(context, synthesis), AbstractDraft(), "The abstract could not be written"),
    )
    closed, answers = open_points.close_points(synthesis, written)
    parts = ("situation", "complication", "resolution", "gaps", "comparison")
    verification = await verify_drafts(
        context.clients,
        request.question,
        (
            Draft(blocks=written.blocks),
            *(getattr(closed, part) for part in parts),
            *(Draft(blocks=(Block(claims=(answer.claim,)),)) for answer in answers),
        ),
        manuscript.select_passages_shown(state.sections, context.evidence),
        "Abstract and synthesis",
        for_writing=True,
        by_rule=not context.effort.checks_front,
        written_by_model=request.limits.has_model,
    )
    context.add_notes(verification.notes)
    abstract, *rest = verification.drafts
    verified, checked = dict(zip(parts, rest[: len(parts)], strict=True)), rest[len(parts) :]
    verified["gaps"] = open_points.restore_gaps(synthesis.gaps, verified["gaps"], answers, checked)
    return FrontMatter(
        title,
        abstract,
        closed.model_copy(update=verified),
        open_points.add_answers(state.written_sections, answers, checked),
        manuscript.cite_short_answer(written.short_answer, abstract),
    )


async def _write_title(context: ReportContext) -> str:
    """Write the title; that of a direct answer is its question, for which no reader should wait for a model."""
    topics = tuple(section.topic for section in context.state.written_sections)
    output = await context.clients.models.ask(
        title_writer.ROLE,
        TitleWriterInput(question=context.request.question, topics=topics),
        summary="title",
        for_writing=True,
        by_rule=not context.effort.outlines and not context.request.limits.language,
    )
    return output.title


async def _write_abstract(context: ReportContext, synthesis: SynthesisDraft) -> AbstractDraft:
    """Write the abstract, whose writer also answers what the synthesis left open; a direct answer is its own."""
    request, state, sections = context.request, context.state, context.state.written_sections
    if request.limits.has_model and not context.effort.outlines and len(sections) == 1:
        return manuscript.select_opening(sections[0])
    conclusions = manuscript.list_conclusions(synthesis)
    searching, failure = _search_for_gaps(context, synthesis), "The documents were not searched for what is open"
    found = await context.try_step(searching, (), failure)
    shown = manuscript.select_passages_shown(
        state.sections,
        # A model says only what the sections say; the fallback compares all passages.
        () if request.limits.has_model else context.evidence,
        (
            *state.reasoning.passages,
            *list_cited_passages(claim for part in conclusions for claim in part.draft.claims),
        ),
    )
    chunks = {passage.chunk for passage in found}
    return await context.clients.models.ask(
        abstract_writer.ROLE,
        AbstractWriterInput(
            question=request.question,
            sections=(*sections, *conclusions),
            open_points=open_points.list_open_points(synthesis),
            found_passages=len(found),
            line=state.reasoning.line,
            preferences=request.experience.preferences,
            length=request.limits.length,
        ),
        (*(passage for passage in shown if passage.chunk not in chunks), *found),
        summary="abstract",
        for_writing=True,
    )


async def _search_for_gaps(context: ReportContext, synthesis: SynthesisDraft) -> tuple[PassageRef, ...]:
    """Search the documents once for each gap, so that none is printed that they answer; rules name no gaps."""
    request = context.request
    if not request.limits.has_model or context.parent.is_finishing:
        return ()
    queries = open_points.build_gap_queries(synthesis)
    found = await asyncio.gather(
        *(
            context.clients.knowledge.search(
                SearchRequest(query=query, corpora=request.corpora, k=PASSAGES_PER_GAP),
                request.limits.min_relevance,
                summary=query,
                browse=False,
            )
            for query in queries
        )
    )
    return manuscript.interleave_passages(found)[:MAX_GAP_PASSAGES]


def _select_reasoning(context: ReportContext, front: FrontMatter) -> Reasoning | None:
    """Return the line of reasoning, or None if abstract and sections say the same."""
    state = context.state
    drafts = [front.abstract, *(section.draft for section in front.sections)]
    line = reasoning_strategies.discard_if_repeated(state.reasoning.line, drafts)
    if state.reasoning.line and not line and context.request.limits.reasoning is not None:
        context.add_notes(["The line of reasoning is left out, since the sections say the same."])
    return line


def _assemble(context: ReportContext, front: FrontMatter, line: Reasoning | None) -> ReportDraft:
    request, state, parent = context.request, context.state, context.parent
    research, sections = state.research, front.sections
    limits = parent.apply_budget_revision(request.limits)
    return ReportDraft(
        id=request.run,
        mode="RESEARCH",
        question=request.question,
        title=front.title,
        short_answer=front.short_answer,
        abstract=front.abstract,
        sections=manuscript.remove_abstract_repeats(front.abstract, sections),
        reasoning=line,
        synthesis=manuscript.remove_synthesis_repeats(front.synthesis, front.abstract, sections),
        information_gain=research.information_gains,
        strategy_outcomes=research.strategy_outcomes,
        queries=research.queries,
        coverage_by_cycle={
            topic.topic.heading: topic.coverage_history for topic in research.topics if topic.coverage_history
        },
        further_considerations=state.considerations,
        contradictions=state.contradictions,
        positions=research.positions,
        evaluation=state.evaluation,
        critiques=state.critiques,
        decisions=(*research.decisions, *_describe_positions(research), describe_end(state, parent.control, limits)),
        feedback=manuscript.build_feedback_outcomes(
            parent.feedback_items, state.sections, state.followed_feedback, research.feedback_queries
        ),
        fallbacks=tuple(context.clients.record.fallbacks),
        notes=tuple(dict.fromkeys(state.notes)),
        status=choose_status(state, parent.control),
    )


def _describe_positions(research: SpiralResult) -> tuple[str, ...]:
    """Return the numbers of passages for and against each position, in sentences for readers."""
    return tuple(f"Passages for and against {sides}." for sides in describe_positions(research.positions))


def choose_status(state: ReportState, control: ControlState) -> ResultStatus:
    """Return the status of the result."""
    if state.cancelled:
        return "cancelled"
    if state.failure:
        return "failed"
    if control.finishing:
        return "finished_early"
    return "done" if state.written_sections else "no_evidence"


def describe_end(state: ReportState, control: ControlState, limits: RunLimits) -> str:
    """Return the reason that the work on the report ended, as a sentence for its readers."""
    if state.cancelled:
        return "Ended because a person cancelled the run."
    if state.failure:
        return f"Ended because a step failed permanently: {state.failure}"
    if control.exhausted:
        return f"Ended because {describe_limit(limits, control.exhausted)} was used up."
    if control.finishing:
        return "Ended because a person asked to finish."
    return manuscript.describe_stop_reason(state.revisions, state.has_no_critique)
