"""Gather findings: run the research loop as a child workflow."""

from temporalio import workflow

from workflows.research.report_phases.report_context import ReportContext

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.memory.experience import reduce_effort
    from tenure.contracts.research.spiral import SpiralRequest, SpiralResult
    from tenure.contracts.research.trace import TracedOutline
    from workflows.research.spiral import SpiralWorkflow


async def gather(context: ReportContext) -> None:
    """Run the research loop, which may change the outline."""
    context.report_progress("research")
    request, parent = context.request, context.parent
    spiral_request = _build_request(context)
    headings = tuple(topic.heading for topic in spiral_request.outline)
    parent.log.add(TracedOutline(headings=headings, effort=spiral_request.effort))
    spiral_request = spiral_request.model_copy(update={"progress": await context.clients.progress.read_unsent()})
    child_id, known = f"{request.run}/spiral", len(spiral_request.feedback)
    async with parent.run_child(SpiralWorkflow.run, spiral_request, child_id, request.question, known) as child:
        research: SpiralResult = await child
    context.clients.progress.report_end_of(research.progress)
    context.state = context.state.with_research(research)
    context.clients.record.fallbacks.extend(research.state.fallbacks)


def _build_request(context: ReportContext) -> SpiralRequest:
    request, parent = context.request, context.parent
    current = request.model_copy(update={"feedback": tuple(parent.feedback_items), "control": parent.control})
    return SpiralRequest(
        **dict(current),
        effort=reduce_effort(context.effort, request.limits, request.experience),
        outline=context.state.topics,
        outline_number=context.state.outline_number,
    )
