"""Heartbeats of work that cannot report progress itself."""

import asyncio
import threading
import uuid
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from temporalio import activity
from temporalio.testing import ActivityEnvironment, WorkflowEnvironment

from activities import heartbeat
from activities.heartbeat import HeartbeatThread, HeartbeatThrottleInterceptor, send_heartbeats
from tests.support.workers import PatientWorker


def environment(timeout: timedelta | None, beats: list[tuple[Any, ...]]) -> ActivityEnvironment:
    """Return an environment that records heartbeats."""
    made = ActivityEnvironment()
    made.info = replace(made.info, heartbeat_timeout=timeout)
    made.on_heartbeat = lambda *details: beats.append(details)
    return made


async def test_heartbeats_are_sent_repeatedly() -> None:
    """Heartbeats without details are sent during the block, and no task is left after it."""
    beats: list[tuple[Any, ...]] = []
    third = asyncio.Event()
    made = environment(timedelta(milliseconds=3), beats)

    def note(*details: Any) -> None:
        beats.append(details)
        if len(beats) == 3:
            third.set()

    made.on_heartbeat = note

    async def work() -> str:
        async with send_heartbeats():
            await third.wait()
        return "done"

    tasks = asyncio.all_tasks()
    assert await made.run(work) == "done"
    assert set(beats) == {()}
    assert asyncio.all_tasks() <= tasks


@pytest.mark.parametrize(
    ("throttle", "expected"),
    [(heartbeat.LOCAL_HEARTBEAT_THROTTLE, 1.0), (timedelta(seconds=30), 15.0), (timedelta(seconds=5), 5.0)],
)
async def test_first_heartbeat_waits_for_the_throttle(
    server: WorkflowEnvironment, monkeypatch: pytest.MonkeyPatch, throttle: timedelta, expected: float
) -> None:
    """A call on a cluster sends its first heartbeat as late as the SDK may send the second."""
    delays: list[float] = []

    async def send_repeatedly(interval: float, delay: float, details: object) -> None:
        delays.append(delay)

    monkeypatch.setattr(heartbeat, "_send_repeatedly", send_repeatedly)

    @activity.defn
    async def work() -> None:
        async with send_heartbeats():
            await asyncio.sleep(0)

    queue = f"throttle-{uuid.uuid4().hex[:8]}"
    interceptors = [HeartbeatThrottleInterceptor(throttle)]
    async with PatientWorker(server.client, task_queue=queue, activities=[work], interceptors=interceptors):
        timeout = timedelta(seconds=30)
        await server.client.execute_activity(
            work, id=queue, task_queue=queue, start_to_close_timeout=timeout, heartbeat_timeout=timeout
        )

    assert delays == [expected]


async def test_no_heartbeats_without_a_timeout() -> None:
    """An activity without a heartbeat timeout sends none."""
    beats: list[tuple[Any, ...]] = []

    async def work() -> None:
        async with send_heartbeats():
            await asyncio.sleep(0)

    await environment(None, beats).run(work)

    assert beats == []


async def test_error_of_the_block_is_raised() -> None:
    """The end of the heartbeats does not hide an error."""

    async def work() -> None:
        async with send_heartbeats():
            raise KeyError("gone")

    with pytest.raises(KeyError, match="gone"):
        await environment(timedelta(seconds=30), []).run(work)


def test_synchronous_block_sends_from_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The latest details are sent repeatedly during the block, and the thread ends with it."""
    monkeypatch.setattr(heartbeat, "SYNC_HEARTBEAT_SECONDS", 0.001)
    beats: list[tuple[Any, ...]] = []
    told_again = threading.Event()
    made = environment(None, beats)

    def note(*details: Any) -> None:
        beats.append(details)
        if beats.count(("second",)) >= 3:
            told_again.set()

    made.on_heartbeat = note

    def work() -> None:
        with HeartbeatThread("first") as beat:
            beat.update("second")
            assert told_again.wait(30)

    made.run(work)

    assert beats[-1] == ("second",)
    assert "heartbeat" not in {thread.name for thread in threading.enumerate()}


def test_frequent_updates_are_thinned_out() -> None:
    """Updates that arrive too fast are not all sent."""
    beats: list[tuple[Any, ...]] = []

    def work() -> None:
        beat = HeartbeatThread()
        for number in range(1000):
            beat.update(number)

    environment(None, beats).run(work)

    assert beats[0] == (0,)
    assert len(beats) < 1000
