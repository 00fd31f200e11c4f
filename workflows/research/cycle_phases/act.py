"""Carry out a plan: one subagent for each step, concurrently where steps are independent."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from temporalio import workflow
from temporalio.exceptions import ChildWorkflowError, is_cancelled_exception

from workflows.research.cycle_phases.research_loop import ResearchLoop
from workflows.research.plan_and_execute import execute_plan
from workflows.runtime.failures import describe_failure

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.memory.experience import CompletedTask, choose_strategy
    from tenure.algorithms.research import research_state
    from tenure.algorithms.research.planning import ValidatedPlan, find_replan_reason
    from tenure.contracts.research.spiral import CandidatePassage, PlanStep, SubagentRequest, SubagentResult
    from tenure.roles.research import hypothetical_document
    from tenure.roles.research.hypothetical_document import HypotheticalDocumentInput
    from workflows.research.strategy_registry import SELECTABLE_STRATEGIES
    from workflows.research.subagent import SubagentWorkflow

MIN_TASK_HOPS = 2
"""Searches that a task may make at least, if a person or a plan wants several hops."""


@dataclass(frozen=True)
class ActResult:
    """Result of executing the steps of a plan."""

    steps: tuple[PlanStep, ...]
    """The steps with their final states."""
    candidates: tuple[CandidatePassage, ...]
    """Passages found."""


async def execute_steps(loop: ResearchLoop, plan: ValidatedPlan) -> ActResult:
    """Execute the steps of a plan, round by round."""
    await _imagine_answers(loop, plan.steps)

    async def announce(steps: Sequence[PlanStep]) -> None:
        await loop.send_progress(f"looking for {', '.join(f'“{step.query[:80]}”' for step in steps)}")

    execution = await execute_plan(
        plan.steps, lambda step: _run_task(loop, step), announce, lambda: loop.parent.is_finishing
    )
    if execution.deadlocked:
        loop.add_note("Steps of the plan waited for each other and were given up.")
    candidates = tuple(candidate for result in execution.results for candidate in result.candidates)
    return ActResult(execution.steps, candidates)


def needs_another_plan(loop: ResearchLoop, plan: ValidatedPlan, result: ActResult) -> bool:
    """Return whether a plan failed so far that the cycle needs another one; note why."""
    reason = find_replan_reason(plan, list(result.steps))
    if not reason or loop.parent.is_finishing:
        return False
    failed = [f"“{step.query[:80]}”: {step.note}" for step in result.steps if step.note]
    loop.update(refused_actions=(*loop.state.refused_actions, *failed)[:8])
    loop.add_note(f"Cycle {loop.state.cycle} was planned again: {reason}.")
    return True


async def _imagine_answers(loop: ResearchLoop, steps: Sequence[PlanStep]) -> None:
    """Have a hypothetical answer written for every topic that is searched for the first time."""
    headings = {step.topic for step in steps}
    topics = [
        topic.topic for topic in loop.state.topics if topic.topic.heading in headings and not topic.hypothetical_answer
    ]
    outputs = await asyncio.gather(
        *(
            loop.clients.models.ask(
                hypothetical_document.ROLE,
                HypotheticalDocumentInput(question=loop.request.question, topic=topic.heading),
                loop.request.evidence[:8],
                summary=topic.heading,
            )
            for topic in topics
        )
    )
    texts = {topic.heading: output.text for topic, output in zip(topics, outputs, strict=True)}
    loop.state = research_state.add_hypothetical_passages(loop.state, texts)


async def _run_task(loop: ResearchLoop, step: PlanStep) -> tuple[PlanStep, SubagentResult | None]:
    """Run the subagent of a step; its failure concerns this step alone."""
    parent = loop.parent
    await parent.wait_while_paused()
    number = len(loop.state.executed) + 1
    loop.record_query(step.query, step.topic)
    request = _build_request(loop, step)
    child_id = f"{workflow.info().workflow_id}/{loop.state.cycle}-{number}"
    try:
        child = await parent.start_child(child_id, SubagentWorkflow.run, request, child_id, step.query)
        result: SubagentResult = await child
    except ChildWorkflowError as error:
        if is_cancelled_exception(error):
            raise
        loop.add_note(f"The search for “{step.query[:120]}” failed: {describe_failure(error)}")
        return step.model_copy(update={"status": "failed", "note": describe_failure(error)[:200]}), None
    finally:
        parent.children.pop(child_id, None)
    _record_result(loop, request, result)
    if not result.candidates:
        note = f"nothing was found ({request.strategy})"
        return step.model_copy(update={"status": "failed", "note": note}), result
    return step.model_copy(update={"status": "completed"}), result


def _build_request(loop: ResearchLoop, step: PlanStep) -> SubagentRequest:
    request = loop.request
    hypothetical = {topic.topic.heading: topic.hypothetical_answer for topic in loop.state.topics}
    choice = choose_strategy(
        step,
        request.effort.hops,
        request.limits.strategy,
        request.experience,
        SELECTABLE_STRATEGIES,
        request.run,
        len(loop.state.executed),
    )
    return SubagentRequest(
        run=request.run,
        question=request.question,
        step=step,
        strategy=choice.strategy,
        strategy_reason=choice.reason,
        hypothetical_answer=hypothetical.get(step.topic, ""),
        max_hops=max(MIN_TASK_HOPS, request.effort.hops),
        corpora=request.corpora,
        databases=request.databases,
        limits=request.limits.copy_for_cycle(loop.state.cycle),
        control=loop.parent.control,
    )


def _record_result(loop: ResearchLoop, request: SubagentRequest, result: SubagentResult) -> None:
    """Record the queries of a task, what they found, and its strategy."""
    loop.clients.record.fallbacks.extend(result.fallbacks)
    for query in result.queries:
        loop.record_query(query, request.step.topic)
    loop.state = research_state.record_result_counts(loop.state, result)
    if not request.step.read_passage:
        loop.searched_tasks.append(CompletedTask(request.step.query, request.strategy, result.queries))
