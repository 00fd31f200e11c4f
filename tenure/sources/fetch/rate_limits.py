"""Politeness towards hosts: how many requests one has at a time, how far they lie apart, and when it wants none.

Who wants a page waits for the host's turn, but not for ever: a host that wants a minute between two requests, or
says that it will be back in an hour, costs the pages of that host and nobody's patience.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tenure.sources.fetch.errors import NotAnswered

_MANY = 1_000
"""Hosts that are remembered before those are forgotten that nobody is waiting for."""


@dataclass
class _Host:
    slots: asyncio.Semaphore
    next_start: float = 0.0
    """When the next request may begin."""
    rests_until: float = 0.0
    """Until when the host itself has asked for no request."""
    waiting: int = 0
    """Requests that wait or are under way."""


class Turns:
    """Gives requests their turn, host by host."""

    def __init__(
        self,
        at_once: int,
        gap: float,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Let `at_once` requests run with a host, begun `gap` seconds apart, after at most `patience` seconds."""
        self._at_once, self._gap, self._patience = at_once, gap, patience
        self._clock, self._sleep = clock, sleep
        self._hosts: dict[str, _Host] = {}

    @asynccontextmanager
    async def turn(self, host: str, gap: float = 0.0) -> AsyncIterator[None]:
        """Wait for the turn of a request to a host, and hold it.

        Args:
            host: whom the request goes to.
            gap: seconds that the host wants between two requests, where they are more than usual.

        Raises:
            NotAnswered: its turn would come too late.
        """
        state = self._state(host)
        state.waiting += 1
        try:
            await self._wait(state, max(gap, self._gap))
            async with state.slots:
                yield
        finally:
            state.waiting -= 1

    def rest(self, host: str, seconds: float) -> None:
        """Let no request begin with a host for some time."""
        state = self._state(host)
        state.rests_until = max(state.rests_until, self._clock() + seconds)

    async def _wait(self, state: _Host, gap: float) -> None:
        now = self._clock()
        start = max(now, state.next_start, state.rests_until)
        if start - now > self._patience:
            raise NotAnswered(f"its host wants to be left alone for {start - now:.0f} s")
        state.next_start = start + gap
        if start > now:
            await self._sleep(start - now)

    def _state(self, host: str) -> _Host:
        if host not in self._hosts:
            if len(self._hosts) >= _MANY:
                self._forget()
            self._hosts[host] = _Host(asyncio.Semaphore(self._at_once))
        return self._hosts[host]

    def _forget(self) -> None:
        now = self._clock()
        for host, state in list(self._hosts.items()):
            if not state.waiting and max(state.next_start, state.rests_until) <= now:
                del self._hosts[host]
