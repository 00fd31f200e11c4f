"""Plan-and-Execute: carrying out steps that depend on each other (document 003).

What may stand in a plan, when a step is ready and when a plan is worth no more are rules of `algorithms/plan.py`.
Here the steps that are ready are carried out at the same time, round after round, and those that can never begin are
skipped. Who makes the plan, and whether another follows, is the business of whoever asks for it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.research.planning import deadlocked, ready, settled
    from tenure.contracts.research.spiral import Step

T = TypeVar("T")


@dataclass(frozen=True)
class Execution(Generic[T]):
    """What came of a plan."""

    steps: tuple[Step, ...]
    """Its steps, each as it ended."""
    brought: tuple[T, ...]
    """What they brought, round by round."""
    deadlocked: bool
    """Whether steps were left that waited for each other."""


async def execute(
    steps: Iterable[Step],
    carry_out: Callable[[Step], Awaitable[tuple[Step, T | None]]],
    begins: Callable[[Sequence[Step]], Awaitable[None]] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Execution[T]:
    """Carry out steps, those that need nothing from each other at the same time.

    Args:
        steps: the plan.
        carry_out: carries one step out; returns the step as it ended, and what it brought.
        begins: told of the steps of a round before they begin.
        stopped: whether no further round is wanted.
    """
    now, brought = tuple(steps), list[T]()
    while begin := () if stopped() else ready(now):
        if begins:
            await begins(begin)
        results = await asyncio.gather(*(carry_out(step) for step in begin))
        ended = {step.id: step for step, _ in results}
        now = settled(ended.get(step.id, step) for step in now)
        brought += [one for _, one in results if one is not None]
    return Execution(now, tuple(brought), deadlocked(now))
