"""Synthesize: work new findings into the synthesis."""

from temporalio import workflow

from workflows.research.cycle_phases.research_loop import ResearchLoop

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.research import research_state
    from tenure.algorithms.research.research_state import MAX_FINDINGS_PER_TURN, SYNTHESIZER
    from tenure.roles.research import synthesizer
    from tenure.roles.research.synthesizer import SynthesizerInput


async def synthesize(loop: ResearchLoop) -> None:
    """Update the synthesis, which the decider and the planner read, with new findings."""
    conversation = loop.open_conversation(SYNTHESIZER)
    # One turn has to show as much as the turns of all cycles that were left out.
    max_new = MAX_FINDINGS_PER_TURN if loop.request.effort.plans_first_cycle else 3 * MAX_FINDINGS_PER_TURN
    loop.state, known = research_state.number_findings(loop.state, max_new)
    if len(loop.state.numbered_passages) == known:
        return
    loop.report_progress("drawing together what was found")
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
            preferences=loop.request.experience.preferences,
        ),
        state.numbered_passages,
        summary=f"cycle {state.cycle}",
        conversation=conversation,
    )
    loop.update(
        synthesis=research_state.merge_synthesis(loop.state.synthesis, synthesis),
        synthesizer_feedback_count=feedback_count,
        turns={**loop.state.turns, SYNTHESIZER: conversation.turn},
    )
