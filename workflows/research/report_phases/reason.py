"""Reason over the dossier with one of several strategies, and verify every step like any other claim."""

import asyncio
from collections.abc import Sequence

from temporalio import workflow

from workflows.research.report_phases.dossier import add_passages
from workflows.research.report_phases.report_context import ReportContext
from workflows.research.verification import verify_drafts

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control import note_messages
    from tenure.algorithms.reasoning import strategies
    from tenure.algorithms.text.questions import extract_compared_items
    from tenure.algorithms.writing.trace_records import describe_reasoning
    from tenure.contracts.choices import ReasoningStrategy
    from tenure.contracts.evidence.reasoning import Reasoning
    from tenure.roles.reasoning import reasoner
    from tenure.roles.reasoning.reasoner import ReasonerInput

MAX_SEARCH_ROUNDS = 2
"""Answers of a chain of facts after its first one; each follows searches for the facts that the one before lacks."""
VOTES = 3
"""Independent lines of thought that vote with self-consistency."""
MAX_OTHER_PASSAGES = 30
"""Passages from which a step without any source may be corrected."""


async def reason(context: ReportContext) -> None:
    """Reason over the dossier, if the question asks for it and enough budget is left."""
    request, parent = context.request, context.parent
    if not request.limits.reasoning and not context.effort.reasons:
        return
    strategy = strategies.choose_reasoning_strategy(
        request.question,
        request.query_type,
        request.limits.effort or request.complexity,
        request.limits.reasoning,
    )
    if strategy == "none" or not context.state.dossier.passages or parent.is_finishing or parent.control.running_low:
        return
    name = strategy.replace("_", " ")
    context.report_progress("reason", name)
    await context.try_step(_reason_with(context, strategy), None, f"Reasoning ({name}) failed")


async def _reason_with(context: ReportContext, strategy: ReasoningStrategy) -> None:
    """Reason with a strategy and verify every step.

    Without a line of thought there is a note only if a person asked for reasoning; the trace shows it in any case.
    """
    if strategy == "analogical":
        sides = extract_compared_items(context.request.question) or ()
        await add_passages(context, [f"{side} principles and mechanisms" for side in sides])
    if strategy == "self_consistency":
        # Several lines of thought from disjoint sources vote (self-consistency).
        samples = strategies.partition_by_source(context.state.dossier.passages, VOTES)
        lines = await asyncio.gather(*(_ask_reasoner(context, strategy, numbers=sample) for sample in samples))
        reasoning = strategies.select_majority(lines) or Reasoning(strategy=strategy)
    else:
        reasoning = await _ask_reasoner(context, strategy)
        for _ in range(MAX_SEARCH_ROUNDS):
            if not reasoning.queries or not await add_passages(context, reasoning.queries):
                break
            later = await _ask_reasoner(context, strategy, line=reasoning)
            reasoning = later if later.steps else reasoning.model_copy(update={"queries": ()})
    line = await _verify_steps(context, reasoning)
    if line is None and context.request.limits.reasoning is not None:
        name = strategy.replace("_", " ")
        context.add_notes([note_messages.NO_REASONING.format(name=name)])
    context.update(reasoning=line)


async def _ask_reasoner(
    context: ReportContext, strategy: ReasoningStrategy, *, line: Reasoning | None = None, numbers: Sequence[int] = ()
) -> Reasoning:
    """Ask for a line of thought over the dossier, or over some of its passages."""
    request = context.request
    reasoning = await context.clients.models.ask(
        reasoner.ROLE,
        ReasonerInput(
            question=request.question,
            topics=context.state.topics,
            strategy=strategy,
            numbers=tuple(numbers),
            line=line,
            may_search=strategy == "multi_hop" and not context.parent.is_finishing,
        ),
        context.state.dossier.passages,
        summary=f"{strategy.replace('_', ' ')}: {line.queries[0] if line else request.question}",
    )
    context.parent.log.add(describe_reasoning(reasoning))
    return reasoning


async def _verify_steps(context: ReportContext, reasoning: Reasoning) -> Reasoning | None:
    """Return the supported part of a line of thought, None if there is none; note which steps were removed."""
    drafts = strategies.to_drafts(reasoning)
    if not drafts:
        return None
    passages = context.state.dossier.passages[:MAX_OTHER_PASSAGES]
    verification = await verify_drafts(context.clients, context.request.question, drafts, passages, "Reasoning")
    context.add_decisions(verification.removals)
    context.add_notes(verification.notes)
    return strategies.apply_verification(reasoning, verification.drafts)
