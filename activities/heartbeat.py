"""Heartbeats for work that cannot report progress itself, such as a model call.

Without them a killed worker is noticed only when the call's whole timeout has passed, and a
cancelled run keeps paying for an answer nobody waits for.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from temporalio import activity


@asynccontextmanager
async def heartbeating() -> AsyncIterator[None]:
    """Heartbeat at a third of the activity's heartbeat timeout while the block runs."""
    timeout = activity.info().heartbeat_timeout
    if timeout is None:
        yield
        return
    beating = asyncio.create_task(_beat(timeout.total_seconds() / 3))
    try:
        yield
    finally:
        beating.cancel()
        with suppress(asyncio.CancelledError):
            await beating


async def _beat(interval: float) -> None:
    while True:
        activity.heartbeat()
        await asyncio.sleep(interval)
