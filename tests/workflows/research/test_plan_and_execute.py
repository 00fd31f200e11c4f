"""Carrying out a plan: what runs side by side, what waits, and what never begins."""

import asyncio
from collections.abc import Sequence

from tenure.contracts.research.spiral import Step, StepStatus
from workflows.research.plan_and_execute import execute


def plan(**needs: tuple[str, ...]) -> list[Step]:
    return [Step(id=name, query=name, topic="Bread", depends_on=needed) for name, needed in needs.items()]


async def carry_out(step: Step) -> tuple[Step, str | None]:
    """Complete a step with its name as what it brings; what is called lost fails and brings nothing."""
    await asyncio.sleep(0)
    status: StepStatus = "failed" if step.id == "lost" else "completed"
    return step.model_copy(update={"status": status}), None if step.id == "lost" else step.id


async def test_steps_run_in_rounds() -> None:
    """A step begins when all it needs is completed, those that are ready together, and the rounds are told."""
    rounds: list[list[str]] = []

    async def begins(steps: Sequence[Step]) -> None:
        rounds.append([step.id for step in steps])

    done = await execute(plan(d=("b", "c"), a=(), b=("a",), c=()), carry_out, begins)

    assert rounds == [["a", "c"], ["b"], ["d"]]
    assert done.brought == ("a", "c", "b", "d")
    assert ({step.status for step in done.steps}, done.deadlocked) == ({"completed"}, False)


async def test_what_needs_a_failed_step_is_skipped() -> None:
    """A failure costs the steps behind it and no others, and the plan keeps its order."""
    done = await execute(plan(lost=(), then=("lost",), after=("then",), beside=()), carry_out)

    assert [step.status for step in done.steps] == ["failed", "skipped", "skipped", "completed"]
    assert done.brought == ("beside",) and not done.deadlocked


async def test_who_stops_gets_what_there_is() -> None:
    """No further round begins; steps that could have begun are no deadlock."""
    stops = iter((False, True))
    done = await execute(plan(a=(), b=("a",)), carry_out, stopped=lambda: next(stops))

    assert (done.brought, [step.status for step in done.steps]) == (("a",), ["completed", "pending"])
    assert not done.deadlocked


async def test_steps_that_wait_for_each_other_are_told() -> None:
    """A circle never begins, and is a deadlock; an empty plan is none."""
    assert (await execute(plan(a=("b",), b=("a",)), carry_out)).deadlocked
    assert not (await execute([], carry_out)).deadlocked
