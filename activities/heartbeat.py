"""Heartbeats for work that cannot report progress itself, such as a model call.

Without them a killed worker is noticed only when the call's whole timeout has passed, and a
cancelled run keeps paying for an answer nobody waits for.
"""

import asyncio
import contextvars
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any, Self

from temporalio import activity

BEAT = 2.0
"""Seconds between heartbeats of a synchronous activity, whatever it is doing."""

HEARING = 1.0
"""Seconds between heartbeats of an asynchronous activity at the most: a cancellation comes back with one."""

PACE = timedelta(milliseconds=100)
"""Time between two heartbeats of an activity that leave the worker. The SDK's own figure, 80 % of the heartbeat
timeout, would withhold for seconds what a call has paid, and a cancellation as well."""


@asynccontextmanager
async def heartbeating(details: Callable[[], Sequence[Any]] = tuple) -> AsyncIterator[None]:
    """Heartbeat while the block runs, often enough for a cancellation to be heard within a second or so.

    Args:
        details: what to send along, asked anew for every heartbeat.
    """
    timeout = activity.info().heartbeat_timeout
    if timeout is None:
        yield
        return
    beating = asyncio.create_task(_beat(min(timeout.total_seconds() / 3, HEARING), details))
    try:
        yield
    finally:
        beating.cancel()
        with suppress(asyncio.CancelledError):
            await beating


async def _beat(interval: float, details: Callable[[], Sequence[Any]]) -> None:
    while True:
        activity.heartbeat(*details())
        await asyncio.sleep(interval)


class Beat:
    """Heartbeats of a synchronous activity from a thread of its own: a long parse must not look like death."""

    def __init__(self, *details: Any) -> None:
        """Send `details` until there is something newer to tell."""
        self._details = details
        self._ended = threading.Event()
        self._sent = 0.0

    def tell(self, *details: Any) -> None:
        """Make these the details from now on; often told ones are not all sent."""
        self._details = details
        if time.monotonic() - self._sent >= BEAT / 4:
            self._sent = time.monotonic()
            activity.heartbeat(*details)

    def __enter__(self) -> Self:
        """Start to beat."""
        run = contextvars.copy_context().run
        self._thread = threading.Thread(target=run, args=(self._beat,), name="heartbeat", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exit: object) -> None:
        """Stop beating."""
        self._ended.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._ended.wait(BEAT):
            activity.heartbeat(*self._details)
