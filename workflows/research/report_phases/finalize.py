"""Finalize the report: title, abstract, verification of both, and the draft with everything that the run produced."""

import asyncio
from dataclasses import dataclass

from temporalio import workflow

from workflows.research.report_phases.report_context import ReportContext
from workflows.research.report_phases.report_state import ReportState
from workflows.research.verification import verify_drafts
from workflows.runtime.progress import UNHEARD

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.claims.removal import remove_claims
    from tenure.algorithms.claims.verification import list_cited_passages
    from tenure.algorithms.control.budget import describe_limit
    from tenure.algorithms.reasoning import strategies as reasoning_strategies
    from tenure.algorithms.research.research_state import describe_positions
    from tenure.algorithms.text.questions import format_heading
    from tenure.algorithms.writing import manuscript
    from tenure.contracts.evidence.passages import Claim, Draft, SynthesisDraft
    from tenure.contracts.evidence.reasoning import Reasoning
    from tenure.contracts.research.report import ReportDraft
    from tenure.contracts.research.spiral import SpiralResult
    from tenure.contracts.result.result import ResultStatus
    from tenure.contracts.run.run import ControlState, RunLimits
    from tenure.roles.writing import abstract_writer, title_writer
    from tenure.roles.writing.abstract_writer import AbstractWriterInput
    from tenure.roles.writing.title_writer import TitleWriterInput


@dataclass(frozen=True)
class FrontMatter:
    """Title, short answer, abstract and synthesis of a report."""

    title: str
    abstract: Draft
    synthesis: SynthesisDraft
    short_answer: Claim | None = None


async def finalize(context: ReportContext) -> ReportDraft:
    """Return the finished draft; a cancelled or failed run gets no abstract."""
    state = context.state
    if state.written_sections and not state.cancelled and not state.failure:
        front = await _write_front_matter(context)
    else:
        front = FrontMatter(format_heading(context.request.question), Draft(), state.research.synthesis)
    line = _select_reasoning(context, front.abstract)
    progress = await context.clients.progress.finish(**context.describe_progress("compose", "the text is written"))
    if not context.clients.progress.is_received:
        context.add_notes([UNHEARD])
    return _assemble(context, front, line).model_copy(update={"progress": progress})


async def _write_front_matter(context: ReportContext) -> FrontMatter:
    """Write title and abstract, then verify the abstract and the synthesis."""
    context.report_progress("compose")
    request, state, sections = context.request, context.state, context.state.written_sections
    synthesis = manuscript.select_closing(state.research.synthesis)
    conclusions = manuscript.list_conclusions(synthesis)
    title, written = await asyncio.gather(
        context.clients.models.ask(
            title_writer.ROLE,
            TitleWriterInput(question=request.question, topics=tuple(section.topic for section in sections)),
            summary="title",
            for_writing=True,
        ),
        context.clients.models.ask(
            abstract_writer.ROLE,
            AbstractWriterInput(
                question=request.question,
                sections=(*sections, *conclusions),
                open_points=synthesis.gaps,
                line=state.reasoning.line,
                preferences=request.experience.preferences,
                length=request.limits.length,
            ),
            manuscript.select_passages_shown(
                state.sections,
                # A model says only what the sections say; the fallback compares all passages.
                () if request.limits.has_model else context.evidence,
                (
                    *state.reasoning.passages,
                    *list_cited_passages(claim for part in conclusions for claim in part.draft.claims),
                ),
            ),
            summary="abstract",
            for_writing=True,
        ),
    )
    (gaps,) = remove_claims([synthesis.gaps], {number - 1 for number in written.closed_points})
    synthesis = synthesis.model_copy(update={"gaps": gaps})
    parts = ("situation", "complication", "resolution", "gaps", "comparison")
    verification = await verify_drafts(
        context.clients,
        request.question,
        (Draft(blocks=written.blocks), *(getattr(synthesis, part) for part in parts)),
        manuscript.select_passages_shown(state.sections, context.evidence),
        "Abstract and synthesis",
        for_writing=True,
        by_rule=not context.effort.checks_front,
        written_by_model=request.limits.has_model,
    )
    context.add_notes(verification.notes)
    abstract, *verified = verification.drafts
    return FrontMatter(
        title.title,
        abstract,
        SynthesisDraft(**dict(zip(parts, verified, strict=True))),
        manuscript.cite_short_answer(written.short_answer, abstract),
    )


def _select_reasoning(context: ReportContext, abstract: Draft) -> Reasoning | None:
    """Return the line of reasoning, or None if abstract and sections say the same."""
    state = context.state
    drafts = [abstract, *(section.draft for section in state.written_sections)]
    line = reasoning_strategies.discard_if_repeated(state.reasoning.line, drafts)
    if state.reasoning.line and not line and context.request.limits.reasoning is not None:
        context.add_notes(["The line of reasoning is left out, since the sections say the same."])
    return line


def _assemble(context: ReportContext, front: FrontMatter, line: Reasoning | None) -> ReportDraft:
    request, state, parent = context.request, context.state, context.parent
    research, sections = state.research, state.written_sections
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
