"""Finalize the report: verify its claims, and return the draft with everything that the run produced."""

from temporalio import workflow

from workflows.research.report_phases.report_context import ReportContext
from workflows.research.verification import verify_drafts
from workflows.runtime.progress import UNHEARD

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.claims.absence import describe_withdrawal, withdraw_gaps
    from tenure.algorithms.control import note_messages
    from tenure.algorithms.control.budget import describe_limit
    from tenure.algorithms.memory.experience import rank_productive_queries
    from tenure.algorithms.reasoning import strategies as reasoning_strategies
    from tenure.algorithms.research.research_state import describe_positions
    from tenure.algorithms.text.questions import format_heading
    from tenure.algorithms.writing import manuscript
    from tenure.contracts.evidence.passages import SynthesisDraft
    from tenure.contracts.evidence.reasoning import Reasoning
    from tenure.contracts.research.report import ReportDraft
    from tenure.contracts.result.result import ResultStatus
    from tenure.contracts.run.budget import BUDGET_USED_UP
    from tenure.contracts.run.run import RunLimits


async def finalize(context: ReportContext) -> ReportDraft:
    """Return the finished draft; the claims of a cancelled or failed run are not checked again."""
    state = context.state
    if state.text.claims and not context.parent.cancelled and not context.parent.failure:
        context.report_progress("compose")
        await _verify(context)
        text, unread = withdraw_gaps(context.state.text, context.state.dossier.searches, context.state.first_new)
        context.add_decisions(map(describe_withdrawal, unread))
        # A review that judged the parts has read the text; the rule only compares words.
        is_judged = state.evaluation is not None and state.evaluation.parts
        context.update(text=text if is_judged else manuscript.add_unanswered_parts(text, context.unplanned_parts))
    line = _select_reasoning(context)
    progress = await context.clients.progress.finish(**context.describe_progress("compose", "the text is written"))
    if not context.clients.progress.is_received:
        context.add_notes([UNHEARD])
    return _assemble(context, line).model_copy(update={"progress": progress})


async def _verify(context: ReportContext) -> None:
    """Check the claims that no review has judged, and remove those that their passages do not support."""
    text = context.state.text
    verification = await verify_drafts(
        context.clients,
        context.request.question,
        [part.draft for part in text.parts],
        context.state.dossier.passages,
        "Report",
        for_writing=True,
        is_reviewed=context.state.is_reviewed,
        written_by_model=context.request.limits.has_model,
    )
    context.add_decisions(verification.removals)
    context.add_notes(verification.notes)
    context.update(text=text.replace_drafts(verification.drafts))


def _select_reasoning(context: ReportContext) -> Reasoning | None:
    """Return the line of reasoning, or None if the report says the same."""
    state = context.state
    line = reasoning_strategies.discard_if_repeated(state.reasoning, [part.draft for part in state.text.parts])
    if state.reasoning and not line and context.request.limits.reasoning is not None:
        context.add_notes([note_messages.SAME_REASONING])
    return line


def _assemble(context: ReportContext, line: Reasoning | None) -> ReportDraft:
    request, state, parent = context.request, context.state, context.parent
    research, text = state.research, state.text
    answer = text.get_draft("answer")
    limits = parent.apply_budget_revision(request.limits)
    return ReportDraft(
        id=request.run,
        mode="RESEARCH",
        question=request.question,
        title=text.title or format_heading(request.question),
        short_answer=manuscript.cite_short_answer(
            text.short_answer, manuscript.select_answers(answer, state.written_sections), request.question
        ),
        abstract=answer,
        sections=state.written_sections,
        reasoning=line,
        synthesis=SynthesisDraft(
            resolution=text.get_draft("closing"),
            gaps=text.get_draft("gaps"),
            comparison=text.get_draft("comparison"),
        ),
        information_gain=research.information_gains,
        strategy_outcomes=research.strategy_outcomes,
        queries=rank_productive_queries(research.executed),
        further_considerations=state.considerations,
        contradictions=state.contradictions,
        positions=research.positions,
        evaluation=state.evaluation,
        critiques=state.critiques,
        decisions=(
            *research.decisions,
            *(f"Passages for and against {sides}." for sides in describe_positions(research.positions)),
            describe_end(context, limits),
        ),
        feedback=manuscript.build_feedback_outcomes(
            parent.feedback_items, state.considered_feedback, state.followed_feedback, research.feedback_queries
        ),
        fallbacks=tuple(context.clients.record.fallbacks),
        notes=tuple(dict.fromkeys(state.notes)),
        status=choose_status(context),
    )


def choose_status(context: ReportContext) -> ResultStatus:
    """Return the status of the result."""
    parent, control = context.parent, context.parent.control
    if parent.cancelled:
        return "cancelled"
    if parent.failure:
        return "failed"
    if control.finishing and (control.exhausted is None or list_missing(context)):
        return "finished_early"
    return "done" if context.state.text.claims else "no_evidence"


def list_missing(context: ReportContext) -> tuple[str, ...]:
    """Return the parts of the work that an ended run lacks."""
    state, exhausted = context.state, context.parent.control.exhausted
    lacking = {record.role for record in context.clients.record.fallbacks if record.reason == BUDGET_USED_UP}
    is_reviewed = state.is_reviewed and "report_reviewer" not in lacking
    missing = {
        note_messages.MISSING_SEARCHES: state.is_research_cut or exhausted == "searches",
        note_messages.MISSING_ANSWER: not state.text.claims,
        note_messages.MISSING_MODEL_ANSWER: "report_writer" in lacking,
        note_messages.MISSING_REVIEW: context.effort.reflects and not is_reviewed,
    }
    return tuple(name for name, is_missing in missing.items() if is_missing)


def describe_end(context: ReportContext, limits: RunLimits) -> str:
    """Return the reason that the work on the report ended and what it lacks, as a sentence for its readers."""
    state, control = context.state, context.parent.control
    if context.parent.cancelled:
        return note_messages.ENDED_BY_CANCEL
    if context.parent.failure:
        return note_messages.ENDED_BY_FAILURE.format(failure=context.parent.failure)
    missing = list_missing(context)
    lacks = f" {note_messages.MISSING.format(missing=', '.join(missing))}" if missing else ""
    if control.exhausted and missing:
        return f"Ended because {describe_limit(limits, control.exhausted)} was used up.{lacks}"
    if control.finishing and not control.exhausted:
        return f"{note_messages.ENDED_BY_PERSON}{lacks}"
    return manuscript.describe_stop_reason(state.revisions, state.has_no_critique)
