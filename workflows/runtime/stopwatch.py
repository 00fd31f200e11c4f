"""Measure time in a workflow except while it is paused, with durable timers."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from temporalio import workflow

TOLERANCE_SECONDS = 0.001
"""Time that may be missing: timers and clocks count in other units than floats."""


class Stopwatch:
    """Counter of the seconds in which it is not paused."""

    def __init__(self, is_paused: Callable[[], bool]) -> None:
        """Stop counting while `is_paused` returns true."""
        self._is_paused = is_paused
        self._elapsed = 0.0
        self._since: datetime | None = None

    @property
    def seconds(self) -> float:
        """Seconds counted so far."""
        running = (workflow.now() - self._since).total_seconds() if self._since else 0.0
        return self._elapsed + running

    async def wait_until(
        self, due: Callable[[], float | None], summary: str, is_over: Callable[[], bool] = lambda: False
    ) -> bool:
        """Wait until a number of seconds is counted and return True, or return False as soon as the wait is over.

        Args:
            due: returns the number of seconds, or None for no limit; the value may change during the wait.
            summary: description of the timer for the web UI.
            is_over: returns whether there is no reason to wait any longer.
        """
        while not is_over():
            await workflow.wait_condition(lambda: is_over() or not self._is_paused())
            deadline = due()
            if deadline is not None and deadline - self._elapsed < TOLERANCE_SECONDS:
                return True
            await self._run(deadline, summary, lambda: is_over() or self._is_paused() or due() != deadline)  # noqa: B023
        return False

    async def _run(self, deadline: float | None, summary: str, until: Callable[[], bool]) -> None:
        """Count until a condition holds or the wanted number is reached."""
        self._since = workflow.now()
        remaining = None if deadline is None else deadline - self._elapsed
        try:
            with suppress(TimeoutError):
                await workflow.wait_condition(until, timeout=remaining, timeout_summary=summary)
        except asyncio.CancelledError:
            self._stop()
            raise
        # Not in a `finally`: a workflow evicted from the cache ends here as well, and has no clock any more.
        self._stop()

    def _stop(self) -> None:
        self._elapsed, self._since = self.seconds, None
