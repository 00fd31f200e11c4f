"""Carry out plans: concurrent steps, waiting steps and steps that never start."""

import asyncio
from collections.abc import Sequence

from tenure.contracts.research.spiral import PlanStep
from tenure.contracts.run.run import StepStatus
from workflows.research.plan_and_execute import execute_plan


def plan(**needs: tuple[str, ...]) -> list[PlanStep]:
    return [PlanStep(id=name, query=name, topic="Bread", depends_on=needed) for name, needed in needs.items()]


async def carry_out(step: PlanStep) -> tuple[PlanStep, str | None]:
    """Complete a step with its id as result; the step called "lost" fails without a result."""
    await asyncio.sleep(0)
    status: StepStatus = "failed" if step.id == "lost" else "completed"
    return step.model_copy(update={"status": status}), None if step.id == "lost" else step.id


async def test_steps_run_in_rounds() -> None:
    """A step starts when all steps it depends on are completed; each round is announced."""
    rounds: list[list[str]] = []

    async def begins(steps: Sequence[PlanStep]) -> None:
        rounds.append([step.id for step in steps if step.status == "in_progress"])

    done = await execute_plan(plan(d=("b", "c"), a=(), b=("a",), c=()), carry_out, begins)

    assert rounds == [["a", "c"], ["b"], ["d"]]
    assert done.results == ("a", "c", "b", "d")
    assert ({step.status for step in done.steps}, done.deadlocked) == ({"completed"}, False)


async def test_steps_behind_a_failed_step_are_skipped() -> None:
    """A failure skips the dependent steps alone, and the plan keeps its order."""
    done = await execute_plan(plan(lost=(), then=("lost",), after=("then",), beside=()), carry_out)

    assert [step.status for step in done.steps] == ["failed", "skipped", "skipped", "completed"]
    assert done.results == ("beside",) and not done.deadlocked


async def test_a_stop_returns_the_results_so_far() -> None:
    """No further round starts; the remaining steps are skipped with the reason."""
    stops = iter((False, True))
    done = await execute_plan(plan(a=(), b=("a",)), carry_out, is_stopped=lambda: next(stops))

    assert (done.results, [step.status for step in done.steps]) == (("a",), ["completed", "skipped"])
    assert done.steps[1].note == "the research was asked to finish" and not done.deadlocked


async def test_steps_whose_answer_is_known_do_not_block_others() -> None:
    """A step that was skipped because earlier results suffice does not skip the steps that depend on it."""

    async def answer(step: PlanStep) -> tuple[PlanStep, str | None]:
        known = step.model_copy(update={"status": "skipped", "is_answered": True, "note": "the results of a suffice"})
        return (known, None) if step.id == "b" else await carry_out(step)

    done = await execute_plan(plan(a=(), b=("a",), c=("b",)), answer)

    assert [step.status for step in done.steps] == ["completed", "skipped", "completed"]
    assert done.results == ("a", "c")


async def test_a_dependency_cycle_is_a_deadlock() -> None:
    """Steps of a cycle never start; an empty plan is no deadlock."""
    assert (await execute_plan(plan(a=("b",), b=("a",)), carry_out)).deadlocked
    assert not (await execute_plan([], carry_out)).deadlocked
