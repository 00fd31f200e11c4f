"""Requests to one host keep their distance, in number and in time; hosts do not wait for each other."""

import asyncio

import pytest

from tenure.sources.fetch import rate_limits as politeness
from tenure.sources.fetch.errors import NotAnswered
from tenure.sources.fetch.rate_limits import Turns


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def _turns(clock: Clock, at_once: int = 1, gap: float = 2.0, patience: float = 10.0) -> Turns:
    return Turns(at_once, gap, patience, clock, clock.sleep)


async def _take(turns: Turns, host: str, gap: float = 0.0) -> None:
    async with turns.turn(host, gap):
        pass


async def test_requests_to_a_host_lie_apart() -> None:
    """The first begins at once, each other after the gap; another host's begins at once."""
    clock = Clock()
    turns = _turns(clock)
    for _ in range(3):
        await _take(turns, "a.example")
    await _take(turns, "b.example")

    assert clock.slept == [2.0, 2.0]


async def test_a_host_may_want_a_longer_gap() -> None:
    """The gap of a site counts where it is longer than the usual one, and the usual one otherwise."""
    clock = Clock()
    turns = _turns(clock)
    await _take(turns, "a.example", gap=5.0)
    await _take(turns, "a.example", gap=1.0)
    await _take(turns, "a.example")

    assert clock.slept == [5.0, 2.0]


async def test_no_more_than_so_many_run_at_once() -> None:
    """A request waits until one of those that a host may have at a time is through."""
    turns = _turns(Clock(), at_once=2, gap=0.0)
    running, most, go = 0, 0, asyncio.Event()

    async def request() -> None:
        nonlocal running, most
        async with turns.turn("a.example"):
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


async def test_a_host_that_rests_is_waited_for_within_patience() -> None:
    """A short rest is kept; for a long one nobody waits, and the note says how long it is."""
    clock = Clock()
    turns = _turns(clock)
    turns.rest("a.example", 4.0)
    await _take(turns, "a.example")
    turns.rest("a.example", 3600.0)
    turns.rest("a.example", 1.0)

    assert clock.slept == [4.0]
    with pytest.raises(NotAnswered, match="3600 s"):
        await _take(turns, "a.example")


async def test_idle_hosts_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a number of hosts those go that nobody waits for, and those that rest are remembered."""
    monkeypatch.setattr(politeness, "_MANY", 3)
    clock = Clock()
    turns = _turns(clock)
    turns.rest("resting.example", 3600.0)
    async with turns.turn("busy.example"):
        for number in range(5):
            clock.now += 10
            await _take(turns, f"{number}.example")

    with pytest.raises(NotAnswered):
        await _take(turns, "resting.example")
    assert len(turns._hosts) <= 4
