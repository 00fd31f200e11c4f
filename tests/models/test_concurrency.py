"""As many requests at the same time as a server bears."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tenure.models.concurrency import Allowed, Concurrency


class Limited(RuleBasedStateMachine):
    """A server that answers and refuses in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.allowed = Allowed(16)
        self.sent: list[int] = []

    @precondition(lambda self: len(self.sent) < self.allowed.now)
    @rule()
    def send(self) -> None:
        self.sent.append(self.allowed.wave)

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        self.sent.pop(data.draw(st.integers(0, len(self.sent) - 1)))
        before = self.allowed.now
        self.allowed.answered()
        assert before <= self.allowed.now <= before + 1

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def refuse(self, data: st.DataObject) -> None:
        wave = self.sent.pop(data.draw(st.integers(0, len(self.sent) - 1)))
        before, current = self.allowed.now, self.allowed.wave
        self.allowed.refused(wave)
        halved = self.allowed.now
        assert halved == before if wave != current else before // 2 <= halved <= max(1, (before + 1) // 2)
        assert self.allowed.wave == (current if wave != current else current + 1)

    @invariant()
    def stays_within_bounds(self) -> None:
        assert 1 <= self.allowed.now <= 16


TestLimited = Limited.TestCase


def test_a_wave_of_refusals_halves_once() -> None:
    """Sixteen requests that were sent together and all refused leave eight slots."""
    allowed = Allowed(16)
    for wave in [allowed.wave] * 16:
        allowed.refused(wave)

    assert allowed.now == 8


@given(st.integers(1, 200))
def test_the_limit_comes_back(most: int) -> None:
    """After any number of refusals, answers bring the limit back to where it was."""
    allowed = Allowed(most)
    for _ in range(20):
        allowed.refused(allowed.wave)
    assert allowed.now == 1
    for _ in range(most * most):
        allowed.answered()

    assert allowed.now == most


async def entered(slots: Concurrency, held: AsyncExitStack, order: list[int], number: int) -> None:
    """Take a slot and keep it."""
    await held.enter_async_context(slots.slot())
    order.append(number)


async def test_who_comes_first_goes_first() -> None:
    """A request beyond the limit waits, and is let in when another leaves, in the order of arrival."""
    slots, order = Concurrency(2), list[int]()
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
async def test_a_cancelled_caller_leaves_its_place(cancelled_when: str) -> None:
    """Who is cancelled while waiting, or in the moment of being let in, keeps nobody else out."""
    slots, order = Concurrency(1), list[int]()
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
    async with slots.slot():
        pass


async def test_a_halved_limit_lets_fewer_in() -> None:
    """Those on their way finish; new ones wait until there are fewer than the new limit."""
    slots, order = Concurrency(4), list[int]()
    stacks = [AsyncExitStack() for _ in range(4)]
    taken = [await stack.enter_async_context(slots.slot()) for stack in stacks]
    for slot in taken:
        slot.refused()
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
    taken[0].answered()
    assert slots.limit == 2
    await extra.aclose()
    await stacks[3].aclose()
