"""Synthesize: work new findings into the synthesis, and write the resolution when the research has ended."""

from temporalio import workflow

from workflows.research.cycle_phases.research_loop import ResearchLoop
from workflows.runtime.model_client import Conversation

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.research import research_state
    from tenure.algorithms.research.research_state import MAX_FINDINGS_PER_TURN, SYNTHESIZER
    from tenure.roles.research import synthesizer
    from tenure.roles.research.synthesizer import SynthesizerInput


async def synthesize(loop: ResearchLoop, *, resolve: bool = False) -> None:
    """Update the synthesis of the state.

    Args:
        loop: the research loop.
        resolve: whether the loop has ended, so that the resolution is written.
    """
    conversation = loop.open_conversation(SYNTHESIZER)
    # One turn has to show as much as the turns of all cycles that were left out.
    max_new = MAX_FINDINGS_PER_TURN if loop.request.effort.plans_first_cycle else 3 * MAX_FINDINGS_PER_TURN
    loop.state, known = research_state.number_findings(loop.state, max_new)
    passages = loop.state.numbered_passages
    if not passages or (len(passages) == known and not resolve):
        return
    await _write_synthesis(loop, conversation, known, resolve=resolve)


async def _write_synthesis(loop: ResearchLoop, conversation: Conversation, known: int, *, resolve: bool) -> None:
    """Have the synthesis written; the parts without claims stay as they were."""
    loop.report_progress("concluding what follows" if resolve else "drawing together what was found")
    state, feedback = loop.state, loop.parent.feedback_items
    feedback_count = len(feedback)
    synthesis = await loop.clients.models.ask(
        synthesizer.ROLE,
        SynthesizerInput(
            question=loop.request.question,
            shown_passages=known,
            synthesis=state.synthesis,
            reflection=state.reflection,
            feedback=research_state.format_new_feedback(feedback, state.synthesizer_feedback_count),
            resolve=resolve,
            preferences=loop.request.experience.preferences,
            length=loop.request.limits.length,
        ),
        state.numbered_passages,
        summary="resolution" if resolve else f"cycle {state.cycle}",
        conversation=conversation,
    )
    loop.update(
        synthesis=research_state.merge_synthesis(loop.state.synthesis, synthesis),
        synthesizer_feedback_count=feedback_count,
        turns={**loop.state.turns, SYNTHESIZER: conversation.turn},
    )
