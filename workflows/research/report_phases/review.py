"""Review the report: reflect on it, evaluate it, and look for contradictions between its sources."""

import asyncio

from temporalio import workflow

from workflows.research.report_phases.disputes import resolve_disputes
from workflows.research.report_phases.report_context import ReportContext
from workflows.research.report_phases.write_sections import write_generation

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.writing import manuscript
    from tenure.contracts.research.report import Critique
    from tenure.roles.claims import contradiction_finder
    from tenure.roles.claims.contradiction_finder import ContradictionFinderInput
    from tenure.roles.writing import report_reflector, self_evaluator
    from tenure.roles.writing.report_reflector import ReportReflectorInput, ReportReflectorOutput
    from tenure.roles.writing.self_evaluator import SelfEvaluatorInput


PASSAGES_PER_TOPIC = 12
"""Passages of each topic that are compared before the sections are written."""


async def reflect(context: ReportContext) -> tuple[Critique, ...]:
    """Return critiques of the report, and feedback that no section was written with."""
    critiques = await _collect_critiques(context)
    context.update(has_no_critique=not critiques and context.effort.reflects)
    return critiques


async def _collect_critiques(context: ReportContext) -> tuple[Critique, ...]:
    if context.parent.is_finishing or not context.state.written_sections:
        return ()
    context.report_progress("reflect")
    followed = await _follow_critiques(context) if context.effort.reflects else ()
    state = context.state
    feedback = manuscript.find_pending_feedback(context.parent.feedback_items, state.topics, state.sections)
    new = (critique for critique in feedback if (critique.critique, critique.topic) not in state.sent_feedback)
    return (*followed, *new)


async def _follow_critiques(context: ReportContext) -> tuple[Critique, ...]:
    """Have the report criticised; return the critiques that can be followed."""
    output = await context.try_step(_call_reflector(context), None, "The report was not criticised")
    if output is None:
        return ()
    state = context.state
    proposed = [
        Critique(topic=proposal.topic.strip() or None, critique=proposal.critique, query=proposal.query.strip())
        for proposal in output.critiques
    ]
    followed, dropped = manuscript.resolve_critiques(proposed, state.topics, _max_sections(context))
    context.update(considerations=output.further_considerations or state.considerations)
    context.add_notes(f"A critique of the report was not followed: {critique.critique}" for critique in dropped)
    return followed


async def _call_reflector(context: ReportContext) -> ReportReflectorOutput:
    state = context.state
    return await context.clients.models.ask(
        report_reflector.ROLE,
        ReportReflectorInput(
            question=context.request.question,
            sections=state.written_sections,
            synthesis=state.research.synthesis,
            earlier_critiques=tuple(record.critique for record in state.critiques),
            running_low=context.parent.control.running_low,
        ),
        manuscript.select_passages_shown(state.sections, context.evidence),
        summary=f"generation {state.revisions}",
    )


async def evaluate(context: ReportContext) -> None:
    """Evaluate the report and compare its sources; a report that the model finds wanting is revised once."""
    if context.parent.is_finishing or not context.state.written_sections:
        return
    context.report_progress("reflect", "the report is evaluated")
    # With a model, the sources were compared while the sections were written.
    if context.state.sources_compared:
        critiques = await _try_evaluation(context)
    else:
        comparing = context.try_step(compare_sources(context), None, "The sources were not compared")
        critiques, _ = await asyncio.gather(_try_evaluation(context), comparing)
    if not context.state.disputes_resolved:
        await context.try_step(resolve_disputes(context), None, "No source was searched for that settles a dispute")
    if context.state.evaluation and critiques and not context.parent.is_finishing:
        await context.try_step(write_generation(context, critiques), None, "The report was not written again")
        # Without another verdict, readers see that this one is of the version before.
        context.update(evaluation=context.state.evaluation.model_copy(update={"before_revision": True}))
        await _try_evaluation(context)


async def _try_evaluation(context: ReportContext) -> tuple[Critique, ...]:
    """Return the critiques of an evaluation; none if it fails."""
    return await context.try_step(_evaluate(context), (), "The evaluation of the report failed")


async def _evaluate(context: ReportContext) -> tuple[Critique, ...]:
    """Have the model judge a report without critiques; return what would improve it if the limits allow a revision."""
    state, limits = context.state, context.request.limits
    if not state.has_no_critique:
        return ()
    output = await context.clients.models.ask(
        self_evaluator.ROLE,
        SelfEvaluatorInput(question=context.request.question, sections=state.written_sections),
        summary=f"generation {state.revisions}",
    )
    context.update(evaluation=output.evaluation or state.evaluation)
    if state.revisions >= limits.max_report_revisions or context.parent.control.running_low:
        return ()
    followed, _ = manuscript.resolve_critiques(output.critiques, state.topics, _max_sections(context))
    return followed


def _max_sections(context: ReportContext) -> int:
    """Return the maximum number of sections; 0 adds none, since a user has set the outline."""
    return 0 if context.state.outline_number else context.max_sections


async def compare_sources(context: ReportContext) -> None:
    """Find statements of different sources that contradict each other, also on both sides of a position."""
    written = manuscript.select_passages_shown(context.state.sections, context.evidence)
    researched = [passage for topic in context.state.research.topics for passage in topic.passages[:PASSAGES_PER_TOPIC]]
    sided = [
        one.passage
        for evidence in context.state.research.positions
        for one in (*evidence.supporting, *evidence.contradicting)
    ]
    shown = written if context.state.sections else manuscript.interleave_passages([researched, context.evidence])
    found = await context.clients.models.ask(
        contradiction_finder.ROLE,
        ContradictionFinderInput(question=context.request.question),
        tuple({passage.chunk: passage for passage in (*shown, *sided)}.values()),
        summary="statements of different sources",
        by_rule=not context.effort.compares_sources,
    )
    context.update(contradictions=found.found, sources_compared=True)


async def compare_sources_meanwhile(context: ReportContext) -> None:
    """Compare the sources while the sections are written; a failure is left to the evaluation, which tries again.

    Searches on disputes wait for the sections if searches are limited.
    """
    limits = context.request.limits
    if context.parent.is_finishing or not limits.has_model:
        return
    await context.try_step(compare_sources(context), None, "The comparison of the sources failed at first")
    if context.state.sources_compared and limits.max_searches is None:
        await context.try_step(resolve_disputes(context), None, "The search for disputes failed at first")
