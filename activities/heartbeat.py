"""Send heartbeats during work that cannot report progress itself, such as a model call.

Without heartbeats a killed worker is noticed only at the end of the activity's timeout, and a cancelled run continues
to pay for an answer that is not needed.
"""

import asyncio
import contextvars
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from datetime import timedelta
from typing import Any, Self

from temporalio import activity
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

SYNC_HEARTBEAT_SECONDS = 2.0
"""Interval between heartbeats of a synchronous activity."""

MAX_ASYNC_HEARTBEAT_SECONDS = 1.0
"""Longest interval between heartbeats of an asynchronous activity: a cancellation arrives with the reply to one."""

LOCAL_HEARTBEAT_THROTTLE = timedelta(milliseconds=100)
"""Interval in which the worker of a local stack sends the heartbeats of an activity: people see the tokens of an answer
and the progress of an ingestion as they arrive, and a cancelled call costs no more than another second.

A cluster bills and stores each heartbeat: its workers send two in a heartbeat timeout, and the first one no earlier, so
that most calls send none.
"""

CLUSTER_THROTTLE_SHARE = 0.5
"""Share of the heartbeat timeout between two heartbeats to a cluster.

The SDK's 0.8 leaves 6 of 30 seconds for a late heartbeat: calls were repeated on busy machines, and would be after a
restart of the server, which takes 12 seconds.
"""

_throttle: ContextVar[timedelta] = ContextVar("heartbeat_throttle", default=timedelta(0))


class HeartbeatThrottleInterceptor(Interceptor):
    """Interceptor of a worker whose asynchronous activities send their first heartbeat after its throttle."""

    def __init__(self, throttle: timedelta) -> None:
        """Delay the first heartbeat by the interval between two, which the SDK applies to all others."""
        self._throttle = throttle

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """Delay the first heartbeat of every activity."""
        return _ThrottledInbound(next, self._throttle)


class _ThrottledInbound(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, throttle: timedelta) -> None:
        super().__init__(next)
        self._throttle = throttle

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        _throttle.set(self._throttle)
        return await super().execute_activity(input)


@asynccontextmanager
async def send_heartbeats(details: Callable[[], Sequence[Any]] = tuple) -> AsyncIterator[None]:
    """Send heartbeats while the block runs, often enough for a cancellation to arrive within about a second."""
    timeout = activity.info().heartbeat_timeout
    if timeout is None:
        yield
        return
    interval = min(timeout.total_seconds() / 3, MAX_ASYNC_HEARTBEAT_SECONDS)
    delay = min(_throttle.get(), CLUSTER_THROTTLE_SHARE * timeout).total_seconds()
    beating = asyncio.create_task(_send_repeatedly(interval, max(delay, interval), details))
    try:
        yield
    finally:
        beating.cancel()
        with suppress(asyncio.CancelledError):
            await beating


async def _send_repeatedly(interval: float, delay: float, details: Callable[[], Sequence[Any]]) -> None:
    await asyncio.sleep(delay)  # most activities end before
    while True:
        activity.heartbeat(*details())
        await asyncio.sleep(interval)


class HeartbeatThread:
    """Heartbeats of a synchronous activity from a separate thread, which a long computation cannot delay."""

    def __init__(self, *details: Any) -> None:
        """Send `details` until they are updated."""
        self._details = details
        self._ended = threading.Event()
        self._sent = 0.0

    def update(self, *details: Any) -> None:
        """Replace the details; of frequent updates not all are sent."""
        self._details = details
        if time.monotonic() - self._sent >= SYNC_HEARTBEAT_SECONDS / 4:
            self._sent = time.monotonic()
            activity.heartbeat(*details)

    def __enter__(self) -> Self:
        """Start the thread."""
        run = contextvars.copy_context().run
        self._thread = threading.Thread(target=run, args=(self._run,), name="heartbeat", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exit: object) -> None:
        """Stop the thread."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(SYNC_HEARTBEAT_SECONDS):
            activity.heartbeat(*self._details)
