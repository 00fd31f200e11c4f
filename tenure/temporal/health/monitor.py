"""Observe a worker from inside by the ticks of its event loop.

Whether a queue is polled is known by the server: the SDK reports the polls and slots of every worker to it each minute,
and a worker that the server refuses ends itself.
"""

import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal, Self

from temporalio.worker import Worker

WorkerStatus = Literal["starting", "serving", "stopping"]

TICK_SECONDS = 0.5
"""Interval between two ticks of the event loop."""

MAX_LOOP_AGE_SECONDS = 10.0
"""Age of the last tick above which the event loop counts as stuck; as long as the heartbeat timeout of activities."""

MAX_START_SECONDS = 300.0
"""The same while the worker starts: it tries every workflow in its event loop."""


class WorkerMonitor:
    """State of one worker process; as a context manager it ticks in the running event loop."""

    def __init__(self) -> None:
        self._status: WorkerStatus = "starting"
        self._ticked = time.monotonic()
        self._queues: list[str] = []

    async def __aenter__(self) -> Self:
        self._ticking = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *exit: object) -> None:
        self._ticking.cancel()
        with suppress(asyncio.CancelledError):
            await self._ticking

    def watch(self, workers: Sequence[Worker]) -> None:
        """Record the queues of workers that have been started."""
        self._queues += [worker.task_queue for worker in workers]
        self._status = "serving"

    def stop(self) -> None:
        """Record that the workers stop taking work."""
        self._status = "stopping"

    def find_fault(self) -> str:
        """Return the reason for restarting the worker, or an empty string."""
        loop_age = time.monotonic() - self._ticked
        if loop_age > (MAX_START_SECONDS if self._status == "starting" else MAX_LOOP_AGE_SECONDS):
            return f"its event loop has not run for {loop_age:.0f} s"
        return ""

    def describe(self) -> dict[str, Any]:
        """Return the state for a health check."""
        fault = self.find_fault()
        return {
            "status": "stuck" if fault else self._status,
            "reason": fault or ("" if self._status == "serving" else f"the worker is {self._status}"),
            "pid": os.getpid(),
            "loop_age_seconds": round(time.monotonic() - self._ticked, 2),
            "queues": sorted(set(self._queues)),
        }

    async def _tick(self) -> None:
        while True:
            self._ticked = time.monotonic()
            await asyncio.sleep(TICK_SECONDS)
