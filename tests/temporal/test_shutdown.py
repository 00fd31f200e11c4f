"""Tests of the end of a worker process."""

import asyncio
import contextlib
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from temporalio import activity
from temporalio.exceptions import CancelledError
from temporalio.testing import WorkflowEnvironment

from tenure.temporal.shutdown import stop_workers, wait_for_stop
from tests.support.waiting import wait_until
from tests.support.workers import PatientWorker

ROOT = Path(__file__).parents[2]


async def test_no_queue_takes_work_while_another_one_finishes_its_own(server: WorkflowEnvironment) -> None:
    """Stopping ends the polling of every queue, also while an activity of one queue still runs."""
    running, released = asyncio.Event(), asyncio.Event()

    @activity.defn
    async def hold() -> None:
        running.set()
        await released.wait()

    @activity.defn
    async def unused() -> None:
        return

    name = f"stop-{uuid4().hex[:8]}"
    options: dict[str, Any] = {"graceful_shutdown_timeout": timedelta(minutes=1)}
    idle = PatientWorker(server.client, task_queue=f"{name}-idle", activities=[unused], **options)
    busy = PatientWorker(server.client, task_queue=name, activities=[hold], **options)
    async with idle, busy:
        await server.client.start_activity(hold, id=name, task_queue=name, start_to_close_timeout=timedelta(minutes=1))
        await running.wait()
        stopping = asyncio.create_task(stop_workers([idle, busy]))
        await wait_until("the end of the idle worker", lambda: not idle.is_running)
        assert busy.is_running and not stopping.done()
        released.set()
        await stopping


async def test_an_activity_that_ignores_its_cancellation_does_not_hold_a_worker(
    server: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopping gives up after the grace period and a margin, and says that an activity has not ended."""
    running, released = threading.Event(), threading.Event()

    @activity.defn
    def compute() -> None:
        running.set()
        while not released.is_set():
            with contextlib.suppress(CancelledError):
                released.wait(0.05)

    monkeypatch.setattr("tenure.temporal.shutdown.SHUTDOWN_MARGIN_SECONDS", 0.5)
    name = f"stop-{uuid4().hex[:8]}"
    with ThreadPoolExecutor(1) as threads:
        options: dict[str, Any] = {"activity_executor": threads, "graceful_shutdown_timeout": timedelta(seconds=0.5)}
        async with PatientWorker(server.client, task_queue=name, activities=[compute], **options) as worker:
            client = server.client
            await client.start_activity(compute, id=name, task_queue=name, start_to_close_timeout=timedelta(minutes=1))
            await asyncio.to_thread(running.wait)
            ended_in_time = await stop_workers([worker])
            released.set()
            assert not ended_in_time
        assert await stop_workers([worker])


def test_the_process_ends_although_a_thread_does_not() -> None:
    """After the time for a shutdown nothing keeps the process, and its exit code is that of an ordered end."""
    code = (
        "import threading; from tenure.temporal import shutdown; shutdown.limit_shutdown(0.2); threading.Event().wait()"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    assert ended.returncode == 0
    assert "another worker continues them" in ended.stdout + ended.stderr


async def test_an_error_of_a_service_ends_the_wait() -> None:
    """A service that fails is not forgotten: its error is raised, and the other services end."""
    ended = asyncio.Event()

    async def serve() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def fail() -> None:
        raise ValueError("the certificate is missing")

    with pytest.raises(ValueError, match="certificate"):
        await wait_for_stop(asyncio.Event(), serve(), fail())
    assert ended.is_set()


async def test_services_end_when_the_process_is_asked_to_stop() -> None:
    """A service that has nothing to do ends no worker, and a running one is ended before the wait returns."""
    stop, ended = asyncio.Event(), asyncio.Event()

    async def serve() -> None:
        try:
            stop.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def idle() -> None:
        return

    await wait_for_stop(stop, serve(), idle())
    assert ended.is_set()
