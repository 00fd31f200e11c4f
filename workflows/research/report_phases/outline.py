"""Outline the report: explore sub-questions, draft an outline, let a person approve it."""

import asyncio
from collections.abc import Sequence

from temporalio import workflow

from workflows.research.plan_and_execute import execute_plan
from workflows.research.report_phases.report_context import ReportContext
from workflows.runtime.control import send_signal

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.research.effort import needs_decomposition
    from tenure.algorithms.text.counts import format_count
    from tenure.algorithms.text.grammar.coreference import find_reference
    from tenure.algorithms.text.grammar.subjects import add_subject, list_clauses
    from tenure.algorithms.writing import manuscript
    from tenure.contracts.evidence.passages import PassageRef, SearchRequest
    from tenure.contracts.research.report import SubQuestion, Topic
    from tenure.contracts.research.spiral import PlanStep
    from tenure.contracts.run.control import InputRequest
    from tenure.roles.research import decomposer, outliner, question_rewriter
    from tenure.roles.research.decomposer import DecomposerInput
    from tenure.roles.research.outliner import OutlinerInput
    from tenure.roles.research.question_rewriter import QuestionRewriterInput

MAX_REWRITER_PASSAGES = 12
"""Passages that the question rewriter reads."""
PASSAGES_PER_SUB_QUESTION = 16
"""Passages of the search for a sub-question."""
MIN_OUTLINE_QUERIES = 2
"""Searches that an outline may name if a person limits those of a cycle to fewer than it may have topics."""
PASSAGES_PER_DOCUMENT = 3
"""Passages of a document that an outliner reads before the first ones of other documents."""
APPROVAL_NUMBER = 1
"""Number of the request to approve the outline: this workflow sends no other request."""


async def outline(context: ReportContext) -> None:
    """Draft the outline, unless a person has set one, and wait for approval if the run wants it."""
    if context.parent.control.outline is None:
        context.update(topics=await _draft_outline(context))
    context.apply_pending_outline()
    if context.request.limits.approve_plan and not context.parent.is_finishing:
        await _wait_for_approval(context)


async def _draft_outline(context: ReportContext) -> tuple[Topic, ...]:
    request = context.request
    effort = context.effort
    explored: list[SubQuestion] = []
    sub_questions: tuple[str, ...] = (request.question,)
    if effort.outlines:
        if needs_decomposition(request.question, request.complexity, request.limits):
            explored = await _explore_sub_questions(context)
            sub_questions = tuple(part.question for part in explored)
        else:
            # Passages on each clause of the question show an outliner its parts.
            clauses = [add_subject(clause, request.question) for clause in list_clauses(request.question)]
            explored = await asyncio.gather(*(_explore(context, clause, ()) for clause in clauses))
            sub_questions = ()
    rankings = [request.evidence, *(part.evidence for part in explored)]
    evidence = manuscript.order_across_sources(rankings, PASSAGES_PER_DOCUMENT)
    max_topics = max(1, effort.sections - effort.reserved_sections)
    output: outliner.Outline = await context.clients.models.ask(
        outliner.ROLE,
        OutlinerInput(
            question=request.question,
            sub_questions=sub_questions,
            max_topics=max_topics,
            # The question of each topic is searched as well.
            max_queries=max(MIN_OUTLINE_QUERIES, effort.outline_searches - max_topics),
            feedback=tuple(feedback.text for feedback in context.parent.feedback_items),
            preferences=request.experience.preferences,
        ),
        evidence[: effort.outline_passages],
        summary=f"{len(explored)} sub-question(s), {len(evidence)} passages",
        by_rule=not effort.outlines,
    )
    return tuple(manuscript.deduplicate_topics(output.topics)[: request.limits.max_sections])


async def _explore_sub_questions(context: ReportContext) -> list[SubQuestion]:
    """Search for the sub-questions, layer by layer; later layers are rewritten with what earlier ones found."""
    question = context.request.question
    output = await context.clients.models.ask(decomposer.ROLE, DecomposerInput(question=question), summary=question)
    explored: dict[str, SubQuestion] = {}

    async def explore(step: PlanStep) -> tuple[PlanStep, None]:
        explored[step.id] = await _explore(context, step.query, [explored[needed] for needed in step.depends_on])
        return step.model_copy(update={"status": "completed"}), None

    steps = [
        PlanStep(id=str(n), query=output.sub_questions[n - 1], topic="", depends_on=tuple(map(str, needed)))
        for n, needed in output.dependencies_by_number.items()
    ]
    await execute_plan(steps, explore)
    return [explored[step.id] for step in steps]


async def _explore(context: ReportContext, question: str, needed: Sequence[SubQuestion]) -> SubQuestion:
    """Search for one sub-question; the question as a whole was searched for before."""
    if needed and find_reference(question):
        output = await context.clients.models.ask(
            question_rewriter.ROLE,
            QuestionRewriterInput(
                question=context.request.question,
                sub_question=question,
                earlier_questions=tuple(part.question for part in needed),
            ),
            manuscript.interleave_passages([part.evidence for part in needed])[:MAX_REWRITER_PASSAGES],
            summary=question,
        )
        question = output.question
    if question == context.request.question:
        return SubQuestion(question=question)
    return SubQuestion(question=question, evidence=await _search(context, question))


async def _search(context: ReportContext, query: str) -> tuple[PassageRef, ...]:
    request = context.request
    search = SearchRequest(
        query=query,
        corpora=request.corpora,
        k=PASSAGES_PER_SUB_QUESTION,
        # The mean with the vector of the question keeps “which mistakes are common” on the subject.
        hypothetical_answer=request.question,
        max_per_source=request.limits.max_per_source,
    )
    return await context.clients.knowledge.search(search)


async def _wait_for_approval(context: ReportContext) -> None:
    """Wait until a person approves the outline or the request expires; meanwhile it may be changed."""
    topics = len(context.state.topics)
    context.report_progress("outline", f"{format_count(topics, 'topic')} wait for approval")
    request = InputRequest(
        reporter=workflow.info().workflow_id,
        number=APPROVAL_NUMBER,
        kind="plan",
        text="Is this the right outline?",
        assumption="the outline is followed as it is",
    )
    await context.clients.progress.send()
    # The reply arrives by the signal `receive_input_reply` with the same number.
    if not await send_signal(workflow.get_external_workflow_handle(context.request.run), "request_input", request):
        return
    replies = context.parent.input_replies
    while APPROVAL_NUMBER not in replies:
        await workflow.wait_condition(lambda: APPROVAL_NUMBER in replies or context.pending_outline is not None)
        if context.apply_pending_outline():
            context.report_progress("outline", "the outline was changed")
            await context.clients.progress.send()
