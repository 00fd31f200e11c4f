"""Plan a cycle: the planner criticises the research so far and proposes actions; pure rules decide which are valid."""

from collections.abc import Sequence

from temporalio import workflow

from workflows.research.cycle_phases.research_loop import ResearchLoop
from workflows.runtime.control import send_signal
from workflows.runtime.story_log import format_time

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.memory.known_facts import describe_origin
    from tenure.algorithms.research import research_state
    from tenure.algorithms.research.information_gain import classify_trend
    from tenure.algorithms.research.planning import (
        ASSUMPTION_SEPARATOR,
        ValidatedPlan,
        build_step_progress,
        validate_plan,
    )
    from tenure.contracts.evidence.passages import PassageRef
    from tenure.contracts.research.cycle import PlannedAction
    from tenure.contracts.research.spiral import SpiralState
    from tenure.contracts.research.trace import TracedDecision, TracedPlan
    from tenure.contracts.run.control import InputRequest
    from tenure.contracts.run.run import Feedback
    from tenure.roles.plan_entries import PlannerOutput
    from tenure.roles.research import planner
    from tenure.roles.research.planner import PlannerInput
    from workflows.research.strategy_registry import STRATEGIES


async def plan_cycle(loop: ResearchLoop) -> ValidatedPlan:
    """Return the plan of the cycle; each time that a person answers its questions, it is made again."""
    while True:
        plan = await _propose_plan(loop)
        if not await _ask_people(loop, plan.questions):
            return plan


def announce_plan(loop: ResearchLoop, cycle: int) -> None:
    """Report that a cycle is planned; the checkpoint of the cycle before delivers it without a message of its own."""
    loop.clients.progress.report(**loop.describe_progress("planning what to look for", "retrieving") | {"cycle": cycle})


async def _propose_plan(loop: ResearchLoop) -> ValidatedPlan:
    """Have a plan proposed and return what of it is valid."""
    announce_plan(loop, loop.state.cycle)
    state, feedback = loop.state, list(loop.parent.feedback_items)
    evidence = state.dossier.passages or state.unplanned
    proposal = await _call_planner(loop, evidence)
    plan = validate_plan(
        [_drop_unknown_strategy(action) for action in proposal.plan],
        state,
        loop.max_searches,
        loop.max_topics,
        evidence,
    )
    # The critique of rules describes the state before the first search, which a model need not read.
    critique = "" if loop.is_planned_by_rule else " ".join((proposal.critique, *proposal.missing))
    loop.state = research_state.apply_plan(loop.state, plan, critique, len(feedback))
    _record_plan(loop, state, proposal, plan)
    new = feedback[state.planner_feedback_count :]
    loop.state = research_state.record_feedback_queries(loop.state, new, plan.steps)
    return plan


def _record_plan(loop: ResearchLoop, before: SpiralState, proposal: PlannerOutput, plan: ValidatedPlan) -> None:
    """Record a plan, and its judgement of the cycle before; a plan that only ends the research is no other record."""
    if before.cycle > 1:
        loop.parent.log.add(
            TracedDecision(
                cycle=before.cycle - 1,
                continues=not plan.finish,
                reasoning=proposal.critique,
                situation=proposal.situation,
                complication=proposal.complication,
                missing=proposal.missing,
            )
        )
        if plan.finish and not plan.steps:
            return
    cycle = loop.state.cycle
    loop.plan = TracedPlan(
        number=loop.plan.number + 1 if loop.plan and loop.plan.cycle == cycle else 1,
        cycle=cycle,
        at=format_time(workflow.now()),
        feedback=research_state.format_new_feedback(loop.parent.feedback_items, before.planner_feedback_count),
        critique=proposal.critique if before.cycle == 1 else "",
        actions=proposal.plan,
        refused=tuple(plan.rejections),
        added=tuple(topic.heading for topic in plan.added_topics),
        dropped=tuple(plan.dropped_topics),
        steps=build_step_progress(plan.steps),
    )
    loop.parent.log.add(loop.plan)


async def _call_planner(loop: ResearchLoop, evidence: Sequence[PassageRef]) -> PlannerOutput:
    request, state = loop.request, loop.state
    return await loop.clients.models.ask(
        planner.ROLE,
        PlannerInput(
            question=request.question,
            cycle=state.cycle,
            max_cycles=request.effort.cycles,
            max_searches=loop.max_searches,
            max_topics=loop.max_topics,
            outline=loop.measure_coverage(),
            trend=classify_trend(state.information_gains),
            gain=state.information_gains[-1] if state.information_gains else None,
            latent=state.latent_topics,
            executed=state.executed,
            positions=research_state.describe_positions(state.positions),
            not_executed=state.refused_actions,
            critique=state.critique,
            omitted=len(state.dossier.omitted),
            feedback=research_state.format_new_feedback(loop.parent.feedback_items, state.planner_feedback_count),
            advice=request.experience.advice,
            facts=tuple(f"{fact.text} ({describe_origin(fact)})" for fact in request.experience.facts),
            preferences=request.experience.preferences,
            running_low=loop.parent.control.running_low,
            strategies={name: strategy.description for name, strategy in STRATEGIES.items()},
            tool_resources=request.tool_resources,
        ),
        evidence,
        summary=f"cycle {state.cycle}",
        by_rule=loop.is_planned_by_rule,
    )


def _drop_unknown_strategy(action: PlannedAction) -> PlannedAction:
    """Return an action without a strategy that does not exist: its query then suggests one."""
    names = {"strategy": action.strategy, "alternative_strategy": action.alternative_strategy}
    return action.model_copy(update={field: name if name in STRATEGIES else None for field, name in names.items()})


async def _ask_people(loop: ResearchLoop, questions: Sequence[str]) -> bool:
    """Ask people and wait, if the run is interactive; return whether anybody answered."""
    if not questions or loop.parent.is_finishing or not loop.request.limits.interactive:
        return False
    number = len(loop.state.questions_asked)
    texts, _, assumptions = zip(*(question.partition(ASSUMPTION_SEPARATOR) for question in questions), strict=True)
    request = InputRequest(
        reporter=workflow.info().workflow_id,
        number=number,
        kind="clarification",
        text=" ".join(texts),
        assumption=" ".join(assumptions),
    )
    await loop.clients.progress.send()
    # The reply arrives by the signal `receive_input_reply` with the same number.
    if not await send_signal(workflow.get_external_workflow_handle(loop.request.run), "request_input", request):
        return False
    await workflow.wait_condition(lambda: number in loop.parent.input_replies)
    reply = loop.parent.input_replies.pop(number)
    if reply.feedback:
        await loop.parent.add_feedback(Feedback(text=reply.feedback))
        loop.state = research_state.mark_questions_answered(loop.state, questions)
    return bool(reply.feedback)
