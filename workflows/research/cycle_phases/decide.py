"""Decide whether there is another cycle, by guards that no plan can override."""

from temporalio import workflow

from workflows.research.cycle_phases.research_loop import ResearchLoop

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control.budget import describe_limit
    from tenure.algorithms.research import research_state


def stop_reason(loop: ResearchLoop) -> str:
    """Return the reason that there is no further cycle, or an empty text if there is one.

    A person or a budget that wants an end decides first, then the planner, then the guards on cycles and information
    gains. Feedback or an outline that is not worked in yet overrides a gain that has become small.
    """
    state, effort, control = loop.state, loop.request.effort, loop.parent.control
    if control.finishing:
        why = "a person asked to finish"
        if control.exhausted:
            limits = loop.parent.apply_budget_revision(loop.request.limits)
            why = f"{describe_limit(limits, control.exhausted)} was used up"
        return f"Gathering ended after {state.cycle} cycle(s): {why}."
    has_new_outline = loop.parent.find_pending_outline(loop.state.outline_number) is not None
    if (loop.end_reason and not has_new_outline) or not state.cycle:
        return loop.end_reason
    has_feedback = len(loop.parent.feedback_items) > state.planner_feedback_count
    if (has_new_outline or has_feedback) and state.cycle < effort.cycles:
        return ""
    return research_state.find_stop_reason(state, effort)
