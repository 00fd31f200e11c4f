"""Synthesize: work new findings into the synthesis, reflect on it, and improve it once if it is weak."""

from temporalio import workflow

from workflows.research.cycle_phases.research_loop import ResearchLoop
from workflows.runtime.model_client import Conversation

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.research import research_state
    from tenure.algorithms.research.research_state import SYNTHESIZER
    from tenure.contracts.research.spiral import Reflection
    from tenure.roles.research import synthesis_reflector, synthesizer
    from tenure.roles.research.synthesis_reflector import SynthesisReflectorInput
    from tenure.roles.research.synthesizer import SynthesizerInput


async def synthesize(loop: ResearchLoop, *, resolve: bool = False) -> None:
    """Update the synthesis of the state.

    Args:
        loop: the research loop.
        resolve: whether the loop has ended, so that the resolution is written.
    """
    conversation = loop.open_conversation(SYNTHESIZER)
    loop.state, known = research_state.number_findings(loop.state)
    passages = loop.state.numbered_passages
    if not passages or (len(passages) == known and not resolve):
        return
    await _write_synthesis(loop, conversation, known, resolve=resolve)
    if resolve or loop.parent.control.running_low or loop.parent.is_finishing or loop.request.effort.cycles == 1:
        return
    reflection = await _reflect(loop)
    if reflection.overall_quality in ("moderate", "shallow") and reflection.missing_core_insights:
        await _write_synthesis(loop, conversation, len(loop.state.numbered_passages), resolve=False)


async def _write_synthesis(loop: ResearchLoop, conversation: Conversation, known: int, *, resolve: bool) -> None:
    """Have the synthesis written; one without claims never replaces one that has some."""
    await loop.send_progress("concluding what follows" if resolve else "drawing together what was found")
    state, feedback = loop.state, loop.parent.feedback_items
    feedback_count = len(feedback)
    synthesis = await loop.clients.models.ask(
        synthesizer.ROLE,
        SynthesizerInput(
            question=loop.request.question,
            shown_passages=known,
            synthesis=state.synthesis,
            reasoning=state.reasoning,
            key_factors=state.key_factors,
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
        synthesis=synthesis if synthesis.situation.claims else loop.state.synthesis,
        synthesizer_feedback_count=feedback_count,
        turns={**loop.state.turns, SYNTHESIZER: conversation.turn},
    )


async def _reflect(loop: ResearchLoop) -> Reflection:
    """Have the synthesis criticised; the critique goes into the state."""
    output = await loop.clients.models.ask(
        synthesis_reflector.ROLE,
        SynthesisReflectorInput(
            question=loop.request.question,
            topics=tuple(topic.topic.heading for topic in loop.state.topics),
            synthesis=loop.state.synthesis,
        ),
        summary=f"cycle {loop.state.cycle}",
    )
    reflection = research_state.shorten_reflection(Reflection(**output.model_dump()))
    loop.update(reflection=reflection)
    return reflection
