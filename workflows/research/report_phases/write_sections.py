"""Write the sections: one child workflow each, as many concurrently as the limits allow."""

import asyncio
from collections.abc import Sequence

from temporalio import workflow
from temporalio.exceptions import ApplicationError, ChildWorkflowError, is_cancelled_exception

from workflows.research.report_phases.report_context import ReportContext
from workflows.runtime.failures import describe_failure
from workflows.runtime.model_client import MODEL_BUDGETS

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control.budget import describe_limit
    from tenure.algorithms.writing import manuscript
    from tenure.contracts.evidence.web import WRITING_CYCLE
    from tenure.contracts.research.report import Critique, SectionRequest, SectionResult, Topic
    from tenure.contracts.research.spiral import TopicState
    from tenure.contracts.run.run import TopicProgress
    from workflows.research.section import SectionWorkflow


async def write_generation(context: ReportContext, critiques: Sequence[Critique]) -> None:
    """Write all sections or, after the first generation, the next version of those that critiques concern.

    Raises:
        ApplicationError: no section could be written.
    """
    context.update(revisions=context.state.revisions + 1)
    is_first = context.state.revisions == 1
    context.apply_pending_outline()
    context.state = context.state.with_next_generation(critiques)
    context.report_progress("write" if is_first else "refine")
    await context.clients.progress.wait_until_received()
    before = context.state.sections
    tasks = [(topic, manuscript.select_critiques(topic, critiques)) for topic in context.state.topics]
    await _write_all(context, [(topic, concerning) for topic, concerning in tasks if is_first or concerning])
    await write_added_sections(context)
    context.update(sections=manuscript.deduplicate_claims(context.state.topics, context.state.sections))
    sections = context.state.sections
    records = (manuscript.build_critique_record(critique, before, sections) for critique in critiques)
    context.update(critiques=(*context.state.critiques, *records))
    if sections and all(section.phase == "failed" for section in sections.values()):
        raise ApplicationError(f"no section could be written: {context.state.notes[-1]}", type="NoSection")


async def write_added_sections(context: ReportContext) -> None:
    """Write the sections that a person has added to the outline meanwhile."""
    while context.apply_pending_outline():
        context.report_progress("write")
        missing = [topic for topic in context.state.topics if topic.heading not in context.state.sections]
        await _write_all(context, [(topic, ()) for topic in missing])


async def _write_all(context: ReportContext, tasks: Sequence[tuple[Topic, Sequence[Critique]]]) -> None:
    """Write sections concurrently, within the limit of parallel sections."""
    semaphore = asyncio.Semaphore(context.request.limits.parallel_sections)

    async def write(topic: Topic, critiques: Sequence[Critique]) -> None:
        async with semaphore:
            await context.parent.wait_while_paused()
            if context.is_dropped(topic):
                return
            if _may_not_write(context):
                await _skip_section(context, topic)
            else:
                result = await _run_section(context, topic, _build_request(context, topic, critiques))
                context.clients.record.fallbacks.extend(result.fallbacks)
                context.state = context.state.with_section(result)

    await asyncio.gather(*(write(topic, critiques) for topic, critiques in tasks))


def _may_not_write(context: ReportContext) -> bool:
    """Return whether people or a budget want an end; an exhausted model budget leaves the writing to fallbacks."""
    control = context.parent.control
    return control.finishing and control.exhausted not in MODEL_BUDGETS and not context.state.writes_after_finish


async def _run_section(context: ReportContext, topic: Topic, request: SectionRequest) -> SectionResult:
    """Run the workflow of a section; its failure concerns this section alone."""
    context.state = context.state.with_feedback_sent(topic.heading, request.critiques)
    # Counted, since the place of a topic changes with the outline: a second child with the id of another would replace
    # its usage and continue its conversation.
    context.update(started_sections=context.state.started_sections + 1)
    number, revisions = context.state.started_sections, context.state.revisions
    child_id = f"{request.run}/section-{number}" + (f"-r{revisions}" if revisions > 1 else "")
    parent = context.parent
    try:
        child = await parent.start_child(topic.heading, SectionWorkflow.run, request, child_id, topic.heading)
        result: SectionResult = await child
    except ChildWorkflowError as error:
        return await _report_failure(context, topic, error)
    finally:
        parent.children.pop(topic.heading, None)
    context.clients.progress.report_end_of(result.progress)
    return result.model_copy(update={"progress": None})


async def _report_failure(context: ReportContext, topic: Topic, error: ChildWorkflowError) -> SectionResult:
    """Return the result of a section that failed or was cancelled."""
    reason = "it was cancelled" if is_cancelled_exception(error) else describe_failure(error)
    if context.is_dropped(topic):
        reason = "a person took it out of the outline"
    progress = TopicProgress(topic=topic.heading, phase="failed")
    context.clients.progress.report(topics=(progress,), last=f"{topic.heading}: {reason}")
    action = "revised" if topic.heading in context.state.sections else "written"
    return SectionResult(topic=topic, phase="failed", note=f"“{topic.heading}” was not {action}: {reason}")


async def _skip_section(context: ReportContext, topic: Topic) -> None:
    """Note that a section was not written because the run was to end before."""
    exhausted, parent = context.parent.control.exhausted, context.parent
    reason = (
        f"{describe_limit(parent.apply_budget_revision(context.request.limits), exhausted)} was used up"
        if exhausted
        else "the run was asked to finish"
    )
    exists = topic.heading in context.state.sections
    context.add_notes([f"“{topic.heading}” was not {'revised' if exists else 'written'}: {reason}."])
    if not exists:
        context.clients.progress.report(topics=(TopicProgress(topic=topic.heading, phase="skipped"),))


def _build_request(context: ReportContext, topic: Topic, critiques: Sequence[Critique]) -> SectionRequest:
    request, state = context.request, context.state
    before = state.sections.get(topic.heading)
    draft = before.draft if before and before.draft.claims else None
    researched = {known.topic.heading: known for known in state.research.topics}
    findings = researched.get(topic.heading, TopicState(topic=topic))
    known = {critique.critique for critique in critiques}
    feedback = manuscript.find_topic_feedback(topic, context.parent.feedback_items, state.topics, state.sections)
    return SectionRequest(
        run=request.run,
        question=request.question,
        topic=topic,
        other_topics=tuple(other.heading for other in state.topics if other != topic),
        corpora=request.corpora,
        limits=request.limits.copy_for_cycle(WRITING_CYCLE),
        evidence=before.evidence if before and draft else request.evidence,
        research_evidence=findings.passages,
        cited_evidence=manuscript.select_cited_evidence(state.research.synthesis, state.research.topics)
        if request.limits.has_model
        else (),
        hypothetical_answer=findings.hypothetical_answer,
        query_results=(*request.query_results, *state.research.calculated.get(topic.heading, ())),
        shared_evidence=manuscript.select_shared_evidence(state.found, before.evidence if before else ()),
        line=state.reasoning.line,
        synthesis=manuscript.render_synthesis_brief(state.research.synthesis),
        draft=draft,
        critiques=(*critiques, *(critique for critique in feedback if critique.critique not in known)),
        other_sections=manuscript.build_digest(topic, state.sections) if draft else (),
        complexity=request.limits.effort or request.complexity,
        turn=before.turn if before and draft else None,
        shown_passages=before.shown_passages if before and draft else 0,
        preferences=request.experience.preferences,
        positions=manuscript.select_positions(topic, state.research.positions, state.topics),
        control=context.parent.control,
    )
