"""Review the report, evaluate it, and look for contradictions between its sources."""

import asyncio

from temporalio import workflow

from workflows.research.report_phases.disputes import resolve_disputes
from workflows.research.report_phases.report_context import ReportContext
from workflows.research.report_phases.write import review, write_generation
from workflows.runtime.model_client import MODEL_BUDGETS

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.writing import manuscript
    from tenure.contracts.research.report import Critique
    from tenure.roles.claims import contradiction_finder
    from tenure.roles.claims.contradiction_finder import ContradictionFinderInput
    from tenure.roles.writing import self_evaluator
    from tenure.roles.writing.self_evaluator import SelfEvaluatorInput


async def reflect(context: ReportContext) -> tuple[Critique, ...]:
    """Request a review of the report; return its requests, and feedback that no version considers."""
    if not context.state.text.claims or (context.parent.is_finishing and not _has_reserve(context)):
        return ()
    context.report_progress("reflect", topics="reviewing")
    if not context.state.is_reviewed and (context.effort.reflects or context.state.first_new):
        await context.try_step(review(context), None, "The report was not reviewed")
    state = context.state
    feedback = manuscript.find_pending_feedback(context.parent.feedback_items, state.topics, state.considered_feedback)
    critiques = (*state.open_critiques, *feedback)
    context.update(open_critiques=(), has_no_critique=not critiques and state.is_reviewed)
    return critiques


def _has_reserve(context: ReportContext) -> bool:
    """Return whether a budget of the model has ended the run, of which a part is kept for the report and its review."""
    control = context.parent.control
    return control.exhausted in MODEL_BUDGETS and not control.deadline_exceeded


async def evaluate(context: ReportContext) -> None:
    """Evaluate the report and compare its sources; a report that the model finds wanting is revised once."""
    if context.parent.is_finishing or not context.state.text.claims:
        return
    context.report_progress("reflect", "the report is evaluated")
    # The sources were compared while the report was written.
    if context.state.sources_compared:
        critiques = await _try_evaluation(context)
    else:
        comparing = context.try_step(compare_sources(context), None, "The sources were not compared")
        critiques, _ = await asyncio.gather(_try_evaluation(context), comparing)
    if not context.state.disputes_resolved:
        await context.try_step(resolve_disputes(context), None, "No source was searched for that settles a dispute")
    before = context.state.text
    if context.state.evaluation and critiques and not context.parent.is_finishing:
        await context.try_step(write_generation(context, critiques), None, "The report was not written again")
        if context.state.text.claims == before.claims:
            return
        # Without another verdict, readers see that this one is of the version before.
        context.update(evaluation=context.state.evaluation.model_copy(update={"before_revision": True}))
        await _try_evaluation(context)


async def _try_evaluation(context: ReportContext) -> tuple[Critique, ...]:
    """Return the critiques of an evaluation; none if it fails."""
    return await context.try_step(_evaluate(context), (), "The evaluation of the report failed")


async def _evaluate(context: ReportContext) -> tuple[Critique, ...]:
    """Have the model judge a report; return what would improve it if versions after the first are allowed.

    Reviews may have used up all versions, so a low verdict allows one more, which searches for what is missing.
    """
    state, limits = context.state, context.request.limits
    if not context.effort.evaluates:
        return ()
    output = await context.clients.models.ask(
        self_evaluator.ROLE,
        SelfEvaluatorInput(question=context.request.question, sections=state.written_sections),
        summary=f"generation {state.revisions}",
    )
    context.update(evaluation=output.evaluation or state.evaluation)
    if limits.max_report_revisions < 2 or context.parent.control.running_low:
        return ()
    max_sections = 0 if state.outline_number else context.max_sections
    followed, _ = manuscript.resolve_critiques(output.critiques, state.topics, max_sections)
    return followed


async def compare_sources(context: ReportContext) -> None:
    """Find statements of different sources that contradict each other, also on both sides of a position."""
    sided = [
        one.passage
        for evidence in context.state.research.positions
        for one in (*evidence.supporting, *evidence.contradicting)
    ]
    found = await context.clients.models.ask(
        contradiction_finder.ROLE,
        ContradictionFinderInput(question=context.request.question),
        manuscript.add_new_passages(context.state.dossier.passages, sided),
        summary="statements of different sources",
        by_rule=not context.effort.compares_sources,
    )
    context.update(contradictions=found.found, sources_compared=True)


async def compare_sources_meanwhile(context: ReportContext) -> None:
    """Compare the sources while the report is written; a failure is left to the evaluation, which tries again.

    Searches on disputes wait for the report if searches are limited.
    """
    limits = context.request.limits
    if context.parent.is_finishing:
        return
    await context.try_step(compare_sources(context), None, "The comparison of the sources failed at first")
    if context.state.sources_compared and limits.max_searches is None:
        await context.try_step(resolve_disputes(context), None, "The search for disputes failed at first")
