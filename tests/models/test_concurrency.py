"""Tests of the adaptive limit of concurrent requests."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tenure.models.concurrency import AdaptiveLimit, ConcurrencyLimiter


class Limited(RuleBasedStateMachine):
    """A server that answers and rejects in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.allowed = AdaptiveLimit(16)
        self.sent: list[int] = []

    @precondition(lambda self: len(self.sent) < self.allowed.limit)
    @rule()
    def send(self) -> None:
        self.sent.append(self.allowed.generation)

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        self.sent.pop(data.draw(st.integers(0, len(self.sent) - 1)))
        before = self.allowed.limit
        self.allowed.increase()
        assert before <= self.allowed.limit <= before + 1

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def refuse(self, data: st.DataObject) -> None:
        wave = self.sent.pop(data.draw(st.integers(0, len(self.sent) - 1)))
        before, current = self.allowed.limit, self.allowed.generation
        self.allowed.decrease(wave)
        halved = self.allowed.limit
        assert halved == before if wave != current else before // 2 <= halved <= max(1, (before + 1) // 2)
        assert self.allowed.generation == (current if wave != current else current + 1)

    @invariant()
    def stays_within_bounds(self) -> None:
        assert 1 <= self.allowed.limit <= 16


TestLimited = Limited.TestCase


def test_concurrent_429s_halve_the_limit_once() -> None:
    """Sixteen concurrent requests that are all rejected leave eight slots."""
    allowed = AdaptiveLimit(16)
    for wave in [allowed.generation] * 16:
        allowed.decrease(wave)

    assert allowed.limit == 8


@given(st.integers(1, 200))
def test_the_limit_recovers(most: int) -> None:
    """After any number of rejections, answers restore the limit."""
    allowed = AdaptiveLimit(most)
    for _ in range(20):
        allowed.decrease(allowed.generation)
    assert allowed.limit == 1
    for _ in range(most * most):
        allowed.increase()

    assert allowed.limit == most


async def entered(slots: ConcurrencyLimiter, held: AsyncExitStack, order: list[int], number: int) -> None:
    """Acquire a slot and keep it."""
    await held.enter_async_context(slots.acquire_slot())
    order.append(number)


async def test_slots_are_granted_in_order() -> None:
    """A request beyond the limit waits and is granted a slot in the order of arrival."""
    slots, order = ConcurrencyLimiter(2), list[int]()
    held = [AsyncExitStack() for _ in range(4)]
    tasks = [asyncio.create_task(entered(slots, held[at], order, at)) for at in range(4)]
    await asyncio.gather(*tasks[:2])
    assert order == [0, 1]

    await held[1].aclose()
    await tasks[2]
    assert order == [0, 1, 2]
    await held[0].aclose()
    await tasks[3]

    assert order == [0, 1, 2, 3]
    for stack in held:
        await stack.aclose()


@pytest.mark.parametrize("cancelled_when", ["waiting", "admitted"])
async def test_a_cancelled_caller_leaves_the_queue(cancelled_when: str) -> None:
    """A caller that is cancelled while it waits, or when its slot is granted, blocks no other."""
    slots, order = ConcurrencyLimiter(1), list[int]()
    first, second, third = AsyncExitStack(), AsyncExitStack(), AsyncExitStack()
    await entered(slots, first, order, 1)
    waiting = asyncio.create_task(entered(slots, second, order, 2))
    last = asyncio.create_task(entered(slots, third, order, 3))
    await asyncio.sleep(0)
    if cancelled_when == "waiting":
        waiting.cancel()
        await asyncio.sleep(0)
    await first.aclose()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await last

    assert order == [1, 3]
    await third.aclose()
    async with slots.acquire_slot():
        pass


async def test_a_halved_limit_admits_fewer_requests() -> None:
    """Running requests finish; new ones wait until fewer than the new limit are running."""
    slots, order = ConcurrencyLimiter(4), list[int]()
    stacks = [AsyncExitStack() for _ in range(4)]
    taken = [await stack.enter_async_context(slots.acquire_slot()) for stack in stacks]
    for slot in taken:
        slot.report_rate_limited()
    assert slots.limit == 2

    extra = AsyncExitStack()
    waiting = asyncio.create_task(entered(slots, extra, order, 5))
    for stack in stacks[:2]:
        await stack.aclose()
        await asyncio.sleep(0)
    assert order == []
    await stacks[2].aclose()
    await waiting

    assert order == [5]
    taken[0].report_success()
    assert slots.limit == 2
    await extra.aclose()
    await stacks[3].aclose()
