"""Decide whether the research continues: first by guards that no model can override, then by the decider."""

from temporalio import workflow

from workflows.research.cycle_phases.research_loop import ResearchLoop

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control.budget import describe_limit
    from tenure.algorithms.research import research_state
    from tenure.algorithms.research.information_gain import classify_trend
    from tenure.contracts.research.spiral import Reflection, ResearchEffort, SpiralState
    from tenure.contracts.run.run import ControlState, RunLimits
    from tenure.roles.research import decider
    from tenure.roles.research.decider import DeciderInput

MAX_SHOWN_GAINS = 6
"""Information gains of the last cycles that the decider reads."""


def stop_reason(
    state: SpiralState,
    control: ControlState,
    limits: RunLimits,
    effort: ResearchEffort,
    end_reason: str,
    feedback_count: int,
) -> str:
    """Return the reason that there is no further cycle, or an empty text if there is one.

    A person or a budget that wants an end decides first, then the planner or the decider, then the guards on cycles
    and information gains. Feedback or an outline that is not worked in yet overrides a gain that has become small.

    Args:
        state: the research state.
        control: the commands of people and the exhausted budget.
        limits: the current limits of the run.
        effort: cycles and tasks that the question is worth.
        end_reason: the planner's or the decider's reason to end; empty if they want another cycle.
        feedback_count: number of pieces of feedback so far.
    """
    if control.finishing:
        why = (
            f"{describe_limit(limits, control.exhausted)} was used up"
            if control.exhausted
            else "a person asked to finish"
        )
        return f"Gathering ended after {state.cycle} cycle(s): {why}."
    has_new_outline = control.outline is not None and control.outline.number > state.outline_number
    if (end_reason and not has_new_outline) or not state.cycle:
        return end_reason
    if (has_new_outline or feedback_count > state.planner_feedback_count) and state.cycle < effort.cycles:
        return ""
    return research_state.find_stop_reason(state, effort)


async def decide(loop: ResearchLoop) -> str:
    """Ask the decider for its judgement; return its reason to end, or an empty text to continue."""
    state = loop.state
    decision = await loop.clients.models.ask(
        decider.ROLE,
        DeciderInput(
            question=loop.request.question,
            cycle=state.cycle,
            max_cycles=loop.request.effort.cycles,
            outline=loop.measure_coverage(),
            gains=state.information_gains[-MAX_SHOWN_GAINS:],
            trend=classify_trend(state.information_gains),
            synthesis=state.synthesis,
            latent=tuple(topic.heading for topic in state.latent_topics),
            feedback=research_state.format_new_feedback(loop.parent.feedback_items, state.planner_feedback_count),
            running_low=loop.parent.control.running_low,
        ),
        summary=f"cycle {state.cycle}",
    )
    end_reason = ""
    if decision.needs_more_research:
        loop.add_decision(f"Cycle {state.cycle}: the research continued. {decision.reasoning}")
    else:
        end_reason = f"Ended after cycle {state.cycle}: {decision.reasoning}"
    loop.state = research_state.apply_decision(
        loop.state,
        Reflection(
            overall_quality=decision.overall_quality,
            depth_assessment=decision.reasoning,
            missing_core_insights=decision.key_factors,
            logic_issues=decision.logic_issues,
        ),
    )
    return end_reason
