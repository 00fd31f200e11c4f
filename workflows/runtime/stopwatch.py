"""A stopwatch for a workflow: time that goes by while nobody holds it, with durable timers."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from temporalio import workflow

CLOSE = 0.001
"""Seconds that may be missing: timers and clocks count in other units than floats."""


class Stopwatch:
    """Counts the seconds in which it is not held."""

    def __init__(self, held: Callable[[], bool]) -> None:
        """Stand still while `held` is true."""
        self._held = held
        self._gone = 0.0
        self._since: datetime | None = None

    @property
    def seconds(self) -> float:
        """How many have gone by."""
        running = (workflow.now() - self._since).total_seconds() if self._since else 0.0
        return self._gone + running

    async def reach(
        self, due: Callable[[], float | None], summary: str, over: Callable[[], bool] = lambda: False
    ) -> bool:
        """Wait until so many seconds have gone by, and tell whether they have: they need not, once it is over.

        Args:
            due: how many; None for as long as it takes. It may change while they are waited for.
            summary: what the web UI shows of the timer.
            over: whether there is nothing left to wait for.
        """
        while not over():
            await workflow.wait_condition(lambda: over() or not self._held())
            wanted = due()
            if wanted is not None and wanted - self._gone < CLOSE:
                return True
            await self._run(wanted, summary, lambda: over() or self._held() or due() != wanted)  # noqa: B023 - awaited
        return False

    async def _run(self, wanted: float | None, summary: str, until: Callable[[], bool]) -> None:
        """Let time go by until something happens or enough is gone."""
        self._since = workflow.now()
        left = None if wanted is None else wanted - self._gone
        try:
            with suppress(TimeoutError):
                await workflow.wait_condition(until, timeout=left, timeout_summary=summary)
        except asyncio.CancelledError:
            self._stop()
            raise
        # Not in a `finally`: a workflow that is dropped from memory ends here as well, and has no clock any more.
        self._stop()

    def _stop(self) -> None:
        self._gone, self._since = self.seconds, None
