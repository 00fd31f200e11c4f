"""Carry out a plan: one subagent for each step, concurrently where steps are independent."""

import asyncio
from collections.abc import Sequence

from temporalio import workflow
from temporalio.exceptions import ActivityError, ChildWorkflowError, is_cancelled_exception

from workflows.research.cycle_phases.research_loop import ResearchLoop
from workflows.research.plan_and_execute import PlanExecution, execute_plan
from workflows.runtime.failures import describe_failure

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control.usage import count_answers
    from tenure.algorithms.memory.experience import CompletedTask, StrategyChoice, choose_strategy
    from tenure.algorithms.research import research_state
    from tenure.algorithms.research.planning import (
        ValidatedPlan,
        build_step_progress,
        find_replan_reason,
        is_same_query,
    )
    from tenure.algorithms.retrieval.positions import find_position
    from tenure.algorithms.text.questions import shorten
    from tenure.algorithms.writing.trace_records import describe_task
    from tenure.contracts.research.spiral import (
        EarlierResult,
        PlanStep,
        SubagentRequest,
        SubagentResult,
    )
    from tenure.contracts.run.limits import TOOL_STRATEGY
    from tenure.roles.research import hypothetical_document
    from tenure.roles.research.hypothetical_document import HypotheticalDocumentInput, ImaginedTopic
    from workflows.research.search_session import SearchSession
    from workflows.research.strategy_registry import STRATEGIES, retrieve
    from workflows.research.subagent import SubagentWorkflow

MIN_TASK_HOPS = 2
"""Searches that a task may make at least, if a person or a plan wants several hops."""
MAX_EARLIER_PASSAGES = 8
"""Passages of each earlier step that a dependent step reads."""
MAX_MADE_QUERIES = 60
"""Latest queries that a dependent step does not repeat."""
MAX_NOTE_CHARACTERS = 300
"""Characters of the note of a step."""


async def execute_steps(loop: ResearchLoop, plan: ValidatedPlan) -> PlanExecution[SubagentResult]:
    """Execute the steps of a plan, round by round."""
    results: dict[str, EarlierResult] = {}
    imagining = loop.try_step(_imagine_answers(loop, plan.steps), None, "No hypothetical answers were written")
    if not loop.request.limits.has_model:
        await imagining

    async def announce(steps: Sequence[PlanStep]) -> None:
        loop.steps = build_step_progress(steps)
        started = [step for step in steps if step.status == "in_progress"]
        loop.report_progress(f"looking for {', '.join(f'“{step.query[:80]}”' for step in started)}")

    executing = execute_plan(
        plan.steps, lambda step: _run_step(loop, step, results), announce, lambda: loop.parent.is_finishing
    )
    if loop.request.limits.has_model:
        # The first searches need not wait for a model: the analysis and all later searches have its answers.
        execution, _ = await asyncio.gather(executing, imagining)
    else:
        execution = await executing
    loop.steps = build_step_progress(execution.steps)
    if loop.plan and loop.plan.cycle == loop.state.cycle:
        loop.parent.log.add(loop.plan.model_copy(update={"steps": loop.steps}))
    if execution.deadlocked:
        loop.add_note("Steps of the plan waited for each other and were given up.")
    return execution


def needs_another_plan(loop: ResearchLoop, plan: ValidatedPlan, result: PlanExecution[SubagentResult]) -> bool:
    """Return whether a plan failed so far that the cycle needs another one; note why."""
    reason = find_replan_reason(plan, list(result.steps))
    if not reason or loop.parent.is_finishing:
        return False
    failed = [f"“{step.query[:80]}”: {step.note}" for step in result.steps if step.note]
    loop.update(refused_actions=(*loop.state.refused_actions, *failed)[:8])
    loop.add_note(f"Cycle {loop.state.cycle} was planned again: {reason}.")
    return True


async def _imagine_answers(loop: ResearchLoop, steps: Sequence[PlanStep]) -> None:
    """Have a hypothetical answer written, all in one call, for every topic that is searched for the first time.

    With a model, the answers for topics that are searched later come with the first call.
    """
    headings = {step.topic for step in steps}
    open_topics = [topic.topic for topic in loop.state.topics if not topic.topic.hypothetical_answer]
    searched = [topic for topic in open_topics if topic.heading in headings]
    topics = open_topics if searched and loop.request.limits.has_model else searched
    if not topics or not loop.request.effort.imagines:
        return
    output = await loop.clients.models.ask(
        hypothetical_document.ROLE,
        HypotheticalDocumentInput(
            question=loop.request.question,
            topics=tuple(ImaginedTopic(heading=topic.heading, question=topic.question) for topic in topics),
        ),
        loop.request.evidence[:8],
        summary=", ".join(topic.heading for topic in topics),
    )
    texts = {topic.heading: text for topic, text in zip(topics, output.texts, strict=False)}
    loop.state = research_state.add_hypothetical_passages(loop.state, texts)


async def _run_step(
    loop: ResearchLoop, step: PlanStep, results: dict[str, EarlierResult]
) -> tuple[PlanStep, SubagentResult]:
    """Carry out a step, and its alternative once if it fails; keep the result for the steps that depend on it."""
    earlier = tuple(results[needed] for needed in step.depends_on)
    done, result = await _run_task(loop, step, earlier)
    if done.status == "failed" and step.alternative and not loop.parent.is_finishing:
        done, result = await _run_alternative(loop, done)
    inherited = [passage for earlier_result in earlier for passage in earlier_result.passages]
    passages = inherited if done.is_answered else [candidate.passage for candidate in result.candidates]
    results[step.id] = EarlierResult(
        step=step.id, query=done.query, topic=done.topic, passages=tuple(passages[:MAX_EARLIER_PASSAGES])
    )
    return done, result


async def _run_alternative(loop: ResearchLoop, failed: PlanStep) -> tuple[PlanStep, SubagentResult]:
    """Run the alternative of a failed step, unless its search was made before."""
    assert failed.alternative
    query, strategy = failed.alternative.query, failed.alternative.strategy
    queries = [executed.query for executed in loop.state.executed]
    if not strategy and any(is_same_query(query, before) for before in queries):
        note = f"{failed.note}; its alternative “{query}” was searched before"
        return failed.model_copy(update={"note": shorten(note, MAX_NOTE_CHARACTERS)}), SubagentResult(step=failed.id)
    step = failed.model_copy(
        update={
            "kind": "search",
            "query": query,
            "planned_query": failed.planned_query or failed.query,
            "inserted": (),
            "read_passage": None,
            "strategy": strategy,
            "alternative": None,
            "status": "pending",
            "note": "",
        }
    )
    done, result = await _run_task(loop, step, ())
    outcome = "its alternative was searched" if done.status == "completed" else f"its alternative failed: {done.note}"
    note = shorten(f"{failed.note}; {outcome}", MAX_NOTE_CHARACTERS)
    return done.model_copy(update={"alternative": failed.alternative, "note": note}), result


async def _run_task(
    loop: ResearchLoop, step: PlanStep, earlier: tuple[EarlierResult, ...]
) -> tuple[PlanStep, SubagentResult]:
    """Run the subagent of a step and record the outcome; its failure concerns this step alone."""
    await loop.parent.wait_while_paused()
    number = len(loop.state.executed) + 1
    queries = tuple(executed.query for executed in loop.state.executed)[-MAX_MADE_QUERIES:]
    loop.record_query(step.query, step.topic)
    request = _build_request(loop, step).model_copy(update={"earlier": earlier, "made_queries": queries})
    child_id = f"{workflow.info().workflow_id}/{loop.state.cycle}-{number}"
    done, result = await _try_task(loop, request, child_id)
    plan = loop.plan.number if loop.plan else 1
    loop.parent.log.add(describe_task(request, done, result, loop.state.cycle, plan))
    return done, result


async def _try_task(loop: ResearchLoop, request: SubagentRequest, child_id: str) -> tuple[PlanStep, SubagentResult]:
    """Return the step of a task with its final state, and its result, which a failed task has as well."""
    step = request.step
    # One search of the corpora needs no workflow of its own.
    is_simple = request.strategy == "direct" and step.kind == "search" and not (request.earlier or request.limits.web)
    try:
        result = await (_search_once(loop, request) if is_simple else _run_subagent(loop, request, child_id))
    except (ActivityError, ChildWorkflowError) as error:
        if is_cancelled_exception(error):
            raise
        result = SubagentResult(step=step.id, failure=describe_failure(error))
    done = result.prepared or step
    _record_result(loop, request, done, result)
    if result.failure:
        loop.add_note(f"The search for “{step.query[:120]}” failed: {result.failure}")
        return done.model_copy(update={"status": "failed", "note": result.failure[:200]}), result
    if done.status in ("failed", "skipped"):
        return done, result
    if not result.candidates:
        note = f"nothing was found ({request.strategy})" if done.kind == "search" else "nothing was found"
        return done.model_copy(update={"status": "failed", "note": note}), result
    return done.model_copy(update={"status": "completed"}), result


async def _search_once(loop: ResearchLoop, request: SubagentRequest) -> SubagentResult:
    """Carry out a task of one search."""
    session = SearchSession(loop.clients, request, lambda: loop.parent.is_finishing)
    await retrieve(session)
    loop.clients.progress.report(last=session.describe_findings())
    return session.build_result(request.step)


async def _run_subagent(loop: ResearchLoop, request: SubagentRequest, child_id: str) -> SubagentResult:
    """Carry out a task in a workflow of its own."""
    async with loop.parent.run_child(SubagentWorkflow.run, request, child_id, request.step.query) as child:
        with loop.clients.progress.track_long_step():
            result: SubagentResult = await child
    loop.clients.progress.report_end_of(result.progress)
    return result


def _build_request(loop: ResearchLoop, step: PlanStep) -> SubagentRequest:
    request = loop.request
    step, max_answers = _allow_tools(loop, step)
    # A model that names the searches, or plans the next cycle with their results, knows more than a query's refiner.
    is_named = not loop.is_planned_by_rule or any(topic.topic.queries for topic in loop.state.topics)
    is_planned = request.limits.has_model and (is_named or loop.state.cycle < request.effort.cycles)
    choice = choose_contrastive(loop, step) or choose_strategy(
        step,
        request.effort.hops,
        request.limits.strategy,
        request.experience,
        STRATEGIES,
        len(loop.state.executed),
        is_planned=is_planned,
    )
    return SubagentRequest(
        run=request.run,
        question=request.question,
        step=step,
        strategy=choice.strategy,
        strategy_reason=choice.reason,
        hypothetical_answer=_find_hypothetical_answer(loop, step),
        max_hops=max(MIN_TASK_HOPS, request.effort.hops),
        max_answers=max_answers,
        corpora=request.corpora,
        databases=request.databases,
        limits=request.limits.copy_for_cycle(loop.state.cycle),
        control=loop.parent.control,
    )


def _find_hypothetical_answer(loop: ResearchLoop, step: PlanStep) -> str:
    """Return the hypothetical answer of a step's topic.

    The query of a model asks for one thing of a topic, from which an answer to its whole question would lead away.
    """
    topic = next((topic for topic in loop.state.topics if topic.topic.heading == step.topic), None)
    is_specific = topic and loop.request.limits.has_model and step.query != topic.topic.question
    return topic.topic.hypothetical_answer if topic and not is_specific else ""


def _allow_tools(loop: ResearchLoop, step: PlanStep) -> tuple[PlanStep, int | None]:
    """Return the step and the model answers that it may use for tools, which count as used until it ends.

    Without enough of them it is a search.
    """
    if step.strategy != TOOL_STRATEGY:
        return step, None
    max_answers = research_state.compute_tool_share(loop.state, loop.request.effort)
    if max_answers == 0:
        loop.add_note(f"“{step.query[:120]}” was searched without tools: their share of the effort is used up.")
        return step.model_copy(update={"strategy": None}), None
    loop.update(tool_answers=loop.state.tool_answers + (max_answers or 0))
    return step, max_answers


def choose_contrastive(loop: ResearchLoop, step: PlanStep) -> StrategyChoice | None:
    """Return the strategy `contrastive` for the first task of a question with a position; None for other tasks.

    A strategy that a person or the plan has chosen is kept.
    """
    request = loop.request
    is_direct = request.limits.has_model and request.effort.hops == 1
    is_chosen = request.limits.strategy or step.strategy or step.kind != "search" or is_direct
    if is_chosen or loop.state.contrastive_task or not find_position(loop.request.question):
        return None
    loop.update(contrastive_task=True)
    return StrategyChoice("contrastive", "the question contains a position, so both of its sides are searched once")


def _record_result(loop: ResearchLoop, request: SubagentRequest, step: PlanStep, result: SubagentResult) -> None:
    """Record the queries of a task, what they found, and its strategy."""
    loop.clients.record.fallbacks.extend(result.fallbacks)
    loop.state = research_state.rename_query(loop.state, request.step.query, step.query)
    for query in result.queries:
        loop.record_query(query, step.topic)
    loop.state = research_state.record_result_counts(loop.state, result)
    loop.state = research_state.record_decisive(
        loop.state, step.topic, result, is_requested=loop.request.limits.has_model and not loop.is_planned_by_rule
    )
    if request.max_answers:
        unused = max(0, request.max_answers - count_answers(result.usage))
        loop.update(tool_answers=loop.state.tool_answers - unused)
    if step.kind == "search" and not step.read_passage and step.status != "skipped" and not result.failure:
        loop.searched_tasks.append(CompletedTask(step.query, request.strategy, result.queries))
