"""Limit the concurrent requests to one server, adapting the limit to the server's 429 responses.

The limit starts at its maximum, is halved by a 429, and grows by one per limit's worth of answers (additive increase,
multiplicative decrease). Requests that were already sent when the limit was halved were sent under the old limit, so
their own 429s do not halve it again.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

import anyio

from tenure.models.errors import TransportError


class ConcurrencyLimiter:
    """Slots for the requests of this process to one server, at most `max_requests`."""

    def __init__(self, max_requests: int) -> None:
        self._max_requests = max_requests
        self._exact_limit = float(max_requests)
        self._halvings = 0
        self._slots = anyio.CapacityLimiter(max_requests)

    @property
    def limit(self) -> int:
        """Number of concurrent requests that are allowed now; at least one."""
        return int(self._exact_limit)

    @asynccontextmanager
    async def acquire_slot(self) -> AsyncIterator[None]:
        """Wait for a slot in order of arrival; the end of the block adapts the limit and releases the slot."""
        request = object()  # a task may have several slots
        await self._slots.acquire_on_behalf_of(request)
        halvings = self._halvings
        try:
            yield
            self._set_limit(min(self._max_requests, self._exact_limit + 1 / self._exact_limit))
        except TransportError as error:
            if error.status == HTTPStatus.TOO_MANY_REQUESTS and halvings == self._halvings:
                self._halvings += 1
                self._set_limit(max(1.0, self._exact_limit / 2))
            raise
        finally:
            self._slots.release_on_behalf_of(request)

    def _set_limit(self, limit: float) -> None:
        self._exact_limit = limit
        self._slots.total_tokens = self.limit
