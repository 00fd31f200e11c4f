"""Stop a worker process within a bounded time, whatever its activities do."""

import asyncio
import os
import sys
import threading
from collections.abc import Coroutine, Sequence
from datetime import timedelta
from typing import Any

import structlog
from temporalio.worker import Worker

SHUTDOWN_MARGIN_SECONDS = 10.0
"""Time for the rest of a shutdown: the cancellation of activities, and the closing of connections."""


async def wait_for_stop(stop: asyncio.Event, *services: Coroutine[Any, Any, None]) -> None:
    """Run services until the process is asked to stop, and end them; an error of a service ends the process as well."""
    tasks = [asyncio.create_task(service) for service in services]
    running, stopping = asyncio.gather(*tasks), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((running, stopping), return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            await running
            await stopping
    finally:
        for task in (*tasks, stopping):
            task.cancel()
        await asyncio.wait((*tasks, stopping))


async def stop_workers(workers: Sequence[Worker]) -> bool:
    """Stop all workers concurrently, and return whether all of their activities have ended.

    A worker that still polls would take work that this process cannot finish.
    """
    return all(await asyncio.gather(*map(_stop_worker, workers)))


async def _stop_worker(worker: Worker) -> bool:
    """Stop one worker; return False if an activity ignores its cancellation."""
    grace = worker.config().get("graceful_shutdown_timeout", timedelta())
    try:
        async with asyncio.timeout(grace.total_seconds() + SHUTDOWN_MARGIN_SECONDS):
            await worker.shutdown()
    except TimeoutError:
        return False
    return True


def limit_shutdown(seconds: float) -> None:
    """End this process after a time, whatever still runs."""
    timer = threading.Timer(seconds, end_process)
    timer.daemon = True
    timer.start()


def end_process() -> None:
    """End this process without waiting for its threads, which cannot be cancelled.

    The server gives their activities to another worker when the heartbeats are missing.
    """
    structlog.get_logger().warning("activities did not end in time: another worker continues them")
    sys.stderr.flush()
    os._exit(0)
