"""Limit the rate of requests per host: concurrent requests, minimum intervals, and `Retry-After`.

A request waits for the rate limit of its host only up to a maximum: a host that requires a minute between requests or
blocks requests for an hour delays no page of another host.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tenure.sources.fetch.errors import NoResponse

_MAX_HOSTS = 1_000
"""Number of stored hosts above which idle hosts are removed."""


@dataclass
class _Host:
    slots: asyncio.Semaphore
    next_start: float = 0.0
    blocked_until: float = 0.0
    """End of the time in which the host accepts no requests."""
    waiting: int = 0


class HostRateLimiter:
    """Rate limiter with a separate state per host."""

    def __init__(
        self,
        max_concurrent: int,
        min_interval: float,
        max_wait: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Run at most `max_concurrent` requests per host, started `min_interval` seconds apart.

        A request waits at most `max_wait` seconds.
        """
        self._max_concurrent, self._min_interval, self._max_wait = max_concurrent, min_interval, max_wait
        self._clock, self._sleep = clock, sleep
        self._hosts: dict[str, _Host] = {}

    @asynccontextmanager
    async def acquire(self, host: str, gap: float = 0.0) -> AsyncIterator[None]:
        """Wait for the rate limit of a host, and occupy one of its slots.

        Args:
            host: host of the request.
            gap: seconds between two requests that the host requires, if they are more than the minimum interval.

        Raises:
            NoResponse: the wait would exceed the maximum.
        """
        state = self._state(host)
        state.waiting += 1
        try:
            await self._wait(state, max(gap, self._min_interval))
            async with state.slots:
                yield
        finally:
            state.waiting -= 1

    def block(self, host: str, seconds: float) -> None:
        """Start no request to a host for some time."""
        state = self._state(host)
        state.blocked_until = max(state.blocked_until, self._clock() + seconds)

    async def _wait(self, state: _Host, gap: float) -> None:
        now = self._clock()
        start = max(now, state.next_start, state.blocked_until)
        if start - now > self._max_wait:
            raise NoResponse(f"its host accepts no request for {start - now:.0f} s")
        state.next_start = start + gap
        if start > now:
            await self._sleep(start - now)

    def _state(self, host: str) -> _Host:
        if host not in self._hosts:
            if len(self._hosts) >= _MAX_HOSTS:
                self._forget()
            self._hosts[host] = _Host(asyncio.Semaphore(self._max_concurrent))
        return self._hosts[host]

    def _forget(self) -> None:
        now = self._clock()
        for host, state in list(self._hosts.items()):
            if not state.waiting and max(state.next_start, state.blocked_until) <= now:
                del self._hosts[host]
