"""How many requests a server is sent at the same time: as many as it takes.

The limit starts at the most that is allowed, halves when the server answers 429, and grows by one for every
limit's worth of answers. Requests that were on their way when it was halved were sent under the old limit:
their own 429s tell nothing new, so that a wave of refusals halves it once.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Allowed:
    """The limit itself: no clock, no waiting.

    Args:
        most: never exceeded; also where it starts.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._exact = float(most)
        self.wave = 0
        """How often the limit was halved; a request keeps the number that stood when it was sent."""

    @property
    def now(self) -> int:
        """How many requests may be on their way; at least one."""
        return int(self._exact)

    def answered(self) -> None:
        """Grow, since the server answered."""
        self._exact = min(self._most, self._exact + 1 / self._exact)

    def refused(self, wave: int) -> None:
        """Halve, since the server answered 429 to a request of this wave."""
        if wave == self.wave:
            self._exact = max(1.0, self._exact / 2)
            self.wave += 1


class Slot:
    """One request on its way."""

    def __init__(self, allowed: Allowed) -> None:
        self._allowed = allowed
        self._wave = allowed.wave

    def answered(self) -> None:
        """Tell that the server answered."""
        self._allowed.answered()

    def refused(self) -> None:
        """Tell that the server has had too many requests."""
        self._allowed.refused(self._wave)


class Concurrency:
    """Slots for the requests of this process to one server.

    Args:
        most: slots at the most.
    """

    def __init__(self, most: int) -> None:
        self._allowed = Allowed(most)
        self._on_their_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def limit(self) -> int:
        """How many requests may be on their way now."""
        return self._allowed.now

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[Slot]:
        """Wait for a slot, in the order of arrival, and hold it; a caller that is cancelled leaves the queue."""
        await self._enter()
        try:
            yield Slot(self._allowed)
        finally:
            self._leave()

    async def _enter(self) -> None:
        if not self._waiting and self._on_their_way < self.limit:
            self._on_their_way += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # its turn came in the same moment
                self._leave()
            raise

    def _leave(self) -> None:
        self._on_their_way -= 1
        while self._waiting and self._on_their_way < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self._on_their_way += 1
                turn.set_result(None)
