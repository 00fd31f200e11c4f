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
    effort = reduce_effort(context.effort, request.limits, request.experience)
    outline = context.state.topics
    parent.log.add(TracedOutline(headings=tuple(topic.heading for topic in outline), effort=effort))
    progress = await context.clients.progress.read_unsent()
    current = request.model_copy(update={"feedback": tuple(parent.feedback_items), "control": parent.control})
    number = context.state.outline_number
    spiral_request = SpiralRequest(
        **dict(current), effort=effort, outline=outline, outline_number=number, progress=progress
    )
    child_id, feedback = f"{request.run}/spiral", len(spiral_request.feedback)
    async with parent.run_child(SpiralWorkflow.run, spiral_request, child_id, request.question, feedback) as child:
        research: SpiralResult = await child
    context.clients.progress.report_end_of(research.progress)
    parent.failure = research.failure
    context.state = context.state.with_research(research)
    context.clients.record.fallbacks.extend(research.state.fallbacks)
