"""Plan-and-Execute: execute steps that depend on each other, all ready steps of a round concurrently.

`tenure.algorithms.research.planning` decides which steps are ready; steps that can never start are skipped.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.research.planning import find_ready_steps, is_deadlocked, skip_blocked_steps
    from tenure.contracts.research.spiral import PlanStep

T = TypeVar("T")


@dataclass(frozen=True)
class PlanExecution(Generic[T]):
    """Result of executing a plan."""

    steps: tuple[PlanStep, ...]
    """The steps with their final states."""
    results: tuple[T, ...]
    """Results of the steps, round by round."""
    deadlocked: bool
    """Whether steps remained that waited for each other."""


async def execute_plan(
    steps: Iterable[PlanStep],
    carry_out: Callable[[PlanStep], Awaitable[tuple[PlanStep, T | None]]],
    announce: Callable[[Sequence[PlanStep]], Awaitable[None]] | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> PlanExecution[T]:
    """Execute the steps of a plan, round by round.

    Args:
        steps: the plan.
        carry_out: executes one step; returns the step with its final state, and its result if there is one.
        announce: called with the steps of a round before they start.
        is_stopped: returns whether no further round is wanted.
    """
    current, results = tuple(steps), list[T]()
    while ready := () if is_stopped() else find_ready_steps(current):
        if announce:
            await announce(ready)
        outcomes = await asyncio.gather(*(carry_out(step) for step in ready))
        done = {step.id: step for step, _ in outcomes}
        current = skip_blocked_steps(done.get(step.id, step) for step in current)
        results += [result for _, result in outcomes if result is not None]
    return PlanExecution(current, tuple(results), is_deadlocked(current))
