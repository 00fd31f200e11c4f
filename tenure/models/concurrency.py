"""Limit the concurrent requests to one server, adapting the limit to the server's 429 responses.

The limit starts at its maximum, is halved by a 429, and grows by one per limit's worth of answers (additive increase,
multiplicative decrease). Requests that were already sent when the limit was halved were sent under the old limit, so
their own 429s do not halve it again.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class AdaptiveLimit:
    """The limit itself, without clock or waiting.

    Args:
        max_requests: maximum and initial value.
    """

    def __init__(self, max_requests: int) -> None:
        self._max_requests = max_requests
        self._exact_limit = float(max_requests)
        self.generation = 0
        """Number of times the limit was halved; a request keeps the number at the time it was sent."""

    @property
    def limit(self) -> int:
        """Number of concurrent requests that are allowed; at least one."""
        return int(self._exact_limit)

    def increase(self) -> None:
        """Increase the limit after an answer."""
        self._exact_limit = min(self._max_requests, self._exact_limit + 1 / self._exact_limit)

    def decrease(self, generation: int) -> None:
        """Halve the limit after a 429, unless it was halved since the request of this generation was sent."""
        if generation == self.generation:
            self._exact_limit = max(1.0, self._exact_limit / 2)
            self.generation += 1


class RequestSlot:
    """One running request."""

    def __init__(self, limit: AdaptiveLimit) -> None:
        self._limit = limit
        self._generation = limit.generation

    def report_success(self) -> None:
        """Report that the server answered."""
        self._limit.increase()

    def report_rate_limited(self) -> None:
        """Report that the server answered 429."""
        self._limit.decrease(self._generation)


class ConcurrencyLimiter:
    """Slots for the requests of this process to one server.

    Args:
        max_requests: maximum number of slots.
    """

    def __init__(self, max_requests: int) -> None:
        self._limit = AdaptiveLimit(max_requests)
        self._active = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def limit(self) -> int:
        """Number of concurrent requests that are allowed now."""
        return self._limit.limit

    @asynccontextmanager
    async def acquire_slot(self) -> AsyncIterator[RequestSlot]:
        """Wait for a slot in order of arrival; release it at the end of the block."""
        await self._acquire()
        try:
            yield RequestSlot(self._limit)
        finally:
            self._release()

    async def _acquire(self) -> None:
        if not self._waiting and self._active < self.limit:
            self._active += 1
            return
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(granted)
        try:
            await granted
        except asyncio.CancelledError:
            if not granted.cancelled():  # the slot was granted at the same moment
                self._release()
            raise

    def _release(self) -> None:
        self._active -= 1
        while self._waiting and self._active < self.limit:
            granted = self._waiting.popleft()
            if not granted.done():
                self._active += 1
                granted.set_result(None)
