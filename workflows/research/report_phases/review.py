"""Review the report, and settle contradictions between its sources."""

from temporalio import workflow

from workflows.research.report_phases.disputes import resolve_disputes
from workflows.research.report_phases.report_context import ReportContext
from workflows.research.report_phases.write import review
from workflows.runtime.model_client import MODEL_BUDGETS

with workflow.unsafe.imports_passed_through():
    from activities.knowledge import KnowledgeActivities
    from tenure.algorithms.writing import manuscript
    from tenure.contracts.research.report import Critique


async def reflect(context: ReportContext) -> tuple[Critique, ...]:
    """Request a review of the report; return its requests, and feedback that no version considers."""
    # Of a model's budget that has ended the run, a part is kept for the report and its review.
    control = context.parent.control
    has_reserve = control.exhausted in MODEL_BUDGETS and not control.deadline_exceeded
    if not context.state.text.claims or (control.finishing and not has_reserve):
        return ()
    context.report_progress("reflect", topics="reviewing")
    if not context.state.is_reviewed and (context.effort.reflects or context.state.first_new):
        await context.try_step(review(context), None, "The report was not reviewed")
    state = context.state
    feedback = manuscript.find_pending_feedback(context.parent.feedback_items, state.topics, state.considered_feedback)
    critiques = (*state.open_critiques, *feedback)
    context.update(open_critiques=(), has_no_critique=not critiques and state.is_reviewed)
    return critiques


async def compare_sources(context: ReportContext) -> None:
    """Find plain contradictions that no review has named, and search for sources that settle disputes."""
    if context.parent.is_finishing or not context.state.text.claims:
        return
    await context.try_step(_find_contradictions(context), None, "The sources were not compared")
    await context.try_step(resolve_disputes(context), None, "No source was searched for that settles a dispute")


async def _find_contradictions(context: ReportContext) -> None:
    """Find statements of the dossier and on both sides of a position that contradict each other."""
    sided = manuscript.list_sided_passages(context.state.research.positions)
    passages = manuscript.add_new_passages(context.state.dossier.passages, sided)
    contradictions = await context.clients.execute_activity(
        KnowledgeActivities.find_contradictions, passages, summary=f"{len(passages)} passages"
    )
    context.update(contradictions=manuscript.merge_contradictions(contradictions, context.state.contradictions))
