"""Tests of the adaptive limit of concurrent requests."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from tenure.models.concurrency import ConcurrencyLimiter
from tenure.models.errors import TransportError, UnusableAnswer


async def fail(slots: ConcurrencyLimiter, count: int, error: Exception) -> None:
    """Send concurrent requests that all end with an error."""
    everybody_sent = asyncio.Barrier(count)

    async def send() -> None:
        async with slots.acquire_slot():
            await everybody_sent.wait()
            raise error

    await asyncio.gather(*(send() for _ in range(count)), return_exceptions=True)


async def answer(slots: ConcurrencyLimiter) -> None:
    """Send a request that is answered."""
    async with slots.acquire_slot():
        pass


async def test_concurrent_429s_halve_the_limit_once() -> None:
    """Sixteen concurrent requests that are all rejected leave eight slots, and the next ones four."""
    slots = ConcurrencyLimiter(16)

    await fail(slots, 16, TransportError("busy", status=429))
    assert slots.limit == 8
    await fail(slots, 8, TransportError("busy", status=429))
    assert slots.limit == 4


@pytest.mark.parametrize("error", [TransportError("down", status=503), UnusableAnswer("empty")])
async def test_other_errors_leave_the_limit(error: Exception) -> None:
    """Only a 429 says that there are too many requests."""
    slots = ConcurrencyLimiter(16)

    await fail(slots, 16, error)
    assert slots.limit == 16


@pytest.mark.parametrize("most", [1, 2, 7, 20])
async def test_the_limit_recovers(most: int) -> None:
    """After any number of rejections one request is allowed, and answers restore the limit."""
    slots = ConcurrencyLimiter(most)
    for _ in range(20):
        await fail(slots, 1, TransportError("busy", status=429))
    assert slots.limit == 1
    for _ in range(most * most):
        before = slots.limit
        await answer(slots)
        assert before <= slots.limit <= before + 1

    assert slots.limit == most


async def test_a_halved_limit_admits_fewer_requests() -> None:
    """Running requests finish; new ones wait, in their order, until fewer than the new limit are running."""
    slots, order = ConcurrencyLimiter(4), list[int]()
    running = [AsyncExitStack() for _ in range(3)]
    for stack in running:
        await stack.enter_async_context(slots.acquire_slot())
    await fail(slots, 1, TransportError("busy", status=429))
    assert slots.limit == 2

    async def send(number: int) -> None:
        async with slots.acquire_slot():
            order.append(number)

    waiting = [asyncio.create_task(send(number)) for number in range(2)]
    await running[0].aclose()
    await asyncio.sleep(0)
    assert order == []
    await running[1].aclose()
    await asyncio.gather(*waiting)

    assert order == [0, 1]
    await running[2].aclose()
