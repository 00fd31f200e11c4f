"""Decide whether there is another cycle, by guards that no plan can override."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control.budget import describe_limit
    from tenure.algorithms.research import research_state
    from tenure.contracts.research.cycle import ResearchEffort
    from tenure.contracts.research.spiral import SpiralState
    from tenure.contracts.run.run import ControlState, RunLimits


def stop_reason(
    state: SpiralState,
    control: ControlState,
    limits: RunLimits,
    effort: ResearchEffort,
    end_reason: str,
    feedback_count: int,
) -> str:
    """Return the reason that there is no further cycle, or an empty text if there is one.

    A person or a budget that wants an end decides first, then the planner, then the guards on cycles and information
    gains. Feedback or an outline that is not worked in yet overrides a gain that has become small.

    Args:
        state: the research state.
        control: the commands of people and the exhausted budget.
        limits: the current limits of the run.
        effort: cycles and tasks that the question is worth.
        end_reason: the planner's reason to end; empty if it wants another cycle.
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
