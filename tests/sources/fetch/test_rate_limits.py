"""Tests of rate limits per host."""

import asyncio

import pytest

from tenure.sources.fetch import rate_limits
from tenure.sources.fetch.errors import NoResponse
from tenure.sources.fetch.rate_limits import HostRateLimiter


class Clock:
    """Clock that advances only during sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def _create_limiter(
    clock: Clock, max_concurrent: int = 1, min_interval: float = 2.0, max_wait: float = 10.0
) -> HostRateLimiter:
    return HostRateLimiter(max_concurrent, min_interval, max_wait, clock, clock.sleep)


async def _send(limiter: HostRateLimiter, host: str, gap: float = 0.0) -> None:
    async with limiter.acquire(host, gap):
        pass


async def test_requests_to_a_host_keep_the_minimum_interval() -> None:
    """The first request starts immediately, each other after the interval; another host has its own interval."""
    clock = Clock()
    limiter = _create_limiter(clock)
    for _ in range(3):
        await _send(limiter, "a.example")
    await _send(limiter, "b.example")

    assert clock.slept == [2.0, 2.0]


async def test_a_longer_crawl_delay_applies() -> None:
    """The crawl delay of a site applies if it is longer than the minimum interval."""
    clock = Clock()
    limiter = _create_limiter(clock)
    await _send(limiter, "a.example", gap=5.0)
    await _send(limiter, "a.example", gap=1.0)
    await _send(limiter, "a.example")

    assert clock.slept == [5.0, 2.0]


async def test_concurrent_requests_per_host_are_limited() -> None:
    """A request waits until one of the running requests to its host ends."""
    limiter = _create_limiter(Clock(), max_concurrent=2, min_interval=0.0)
    running, most, go = 0, 0, asyncio.Event()

    async def request() -> None:
        nonlocal running, most
        async with limiter.acquire("a.example"):
            running += 1
            most = max(most, running)
            await go.wait()
            running -= 1

    requests = [asyncio.create_task(request()) for _ in range(5)]
    for _ in range(10):
        await asyncio.sleep(0)
    assert running == 2
    go.set()
    await asyncio.gather(*requests)

    assert most == 2


async def test_a_blocked_host_is_waited_for_up_to_a_limit() -> None:
    """A request waits for a short block; a long block is an error that names its length."""
    clock = Clock()
    limiter = _create_limiter(clock)
    limiter.block("a.example", 4.0)
    await _send(limiter, "a.example")
    limiter.block("a.example", 3600.0)
    limiter.block("a.example", 1.0)

    assert clock.slept == [4.0]
    with pytest.raises(NoResponse, match="3600 s"):
        await _send(limiter, "a.example")


async def test_idle_hosts_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above a number of hosts, idle hosts are removed and blocked hosts are kept."""
    monkeypatch.setattr(rate_limits, "_MAX_HOSTS", 3)
    clock = Clock()
    limiter = _create_limiter(clock)
    limiter.block("resting.example", 3600.0)
    async with limiter.acquire("busy.example"):
        for number in range(5):
            clock.now += 10
            await _send(limiter, f"{number}.example")

    with pytest.raises(NoResponse):
        await _send(limiter, "resting.example")
    assert len(limiter._hosts) <= 4
