"""Heartbeats of work that cannot report its progress itself."""

import asyncio
import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from temporalio.testing import ActivityEnvironment

from activities import heartbeat
from activities.heartbeat import Beat, heartbeating


def environment(timeout: timedelta | None, beats: list[tuple[Any, ...]]) -> ActivityEnvironment:
    """Return an environment that writes heartbeats down."""
    made = ActivityEnvironment()
    made.info = replace(made.info, heartbeat_timeout=timeout)
    made.on_heartbeat = lambda *details: beats.append(details)
    return made


async def test_a_block_beats_again_and_again() -> None:
    """While the block runs heartbeats go out, without details; after it none is left running."""
    beats: list[tuple[Any, ...]] = []
    third = asyncio.Event()
    made = environment(timedelta(milliseconds=3), beats)

    def note(*details: Any) -> None:
        beats.append(details)
        if len(beats) == 3:
            third.set()

    made.on_heartbeat = note

    async def work() -> str:
        async with heartbeating():
            await third.wait()
        return "done"

    tasks = asyncio.all_tasks()
    assert await made.run(work) == "done"
    assert set(beats) == {()}
    assert asyncio.all_tasks() <= tasks


async def test_without_a_timeout_there_is_nothing_to_beat_for() -> None:
    """An activity that was given no heartbeat timeout sends none."""
    beats: list[tuple[Any, ...]] = []

    async def work() -> None:
        async with heartbeating():
            await asyncio.sleep(0)

    await environment(None, beats).run(work)

    assert beats == []


async def test_an_error_of_the_block_comes_through() -> None:
    """Stopping the heartbeats does not hide what went wrong."""

    async def work() -> None:
        async with heartbeating():
            raise KeyError("gone")

    with pytest.raises(KeyError, match="gone"):
        await environment(timedelta(seconds=30), []).run(work)


def test_a_synchronous_block_beats_from_a_thread_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the block is busy the details last told are sent again; after it the thread is gone."""
    monkeypatch.setattr(heartbeat, "BEAT", 0.001)
    beats: list[tuple[Any, ...]] = []
    told_again = threading.Event()
    made = environment(None, beats)

    def note(*details: Any) -> None:
        beats.append(details)
        if beats.count(("second",)) >= 3:
            told_again.set()

    made.on_heartbeat = note

    def work() -> None:
        with Beat("first") as beat:
            beat.tell("second")
            assert told_again.wait(30)

    made.run(work)

    assert beats[-1] == ("second",)
    assert "heartbeat" not in {thread.name for thread in threading.enumerate()}


def test_often_told_details_are_not_all_sent() -> None:
    """News that comes faster than anyone reads it is thinned out."""
    beats: list[tuple[Any, ...]] = []

    def work() -> None:
        beat = Beat()
        for number in range(1000):
            beat.tell(number)

    environment(None, beats).run(work)

    assert beats[0] == (0,)
    assert len(beats) < 1000
