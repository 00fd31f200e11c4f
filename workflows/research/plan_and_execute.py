"""Plan-and-Execute: execute steps that depend on each other, all ready steps of a round concurrently."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.research.planning import (
        find_ready_steps,
        is_deadlocked,
        skip_blocked_steps,
        skip_remaining_steps,
    )
    from tenure.contracts.research.spiral import PlanStep

T = TypeVar("T")

STOPPED_NOTE = "the research was asked to finish"
"""Reason for skipping the remaining steps of a plan that was stopped."""


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
    announce: Callable[[tuple[PlanStep, ...]], Awaitable[None]] | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> PlanExecution[T]:
    """Execute the steps of a plan, round by round.

    Args:
        steps: the plan.
        carry_out: executes one step; returns the step with its final state, and its result if there is one.
        announce: called with all steps before a round starts; the steps of the round are in progress.
        is_stopped: returns whether no further round is wanted; the remaining steps are then skipped.
    """
    current, results = tuple(steps), list[T]()
    while ready := find_ready_steps(current):
        if is_stopped():
            current = skip_remaining_steps(current, STOPPED_NOTE)
            break
        started = {step.id for step in ready}
        if announce:
            await announce(
                tuple(s.model_copy(update={"status": "in_progress"}) if s.id in started else s for s in current)
            )
        outcomes = await asyncio.gather(*(carry_out(step) for step in ready))
        done = {step.id: step for step, _ in outcomes}
        current = skip_blocked_steps(done.get(step.id, step) for step in current)
        results += [result for _, result in outcomes if result is not None]
    return PlanExecution(current, tuple(results), is_deadlocked(current))
