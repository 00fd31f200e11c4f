"""`schedule`: scheduled questions on a real server, and what the command line refuses."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from temporalio.client import ScheduleOverlapPolicy
from temporalio.common import Priority
from temporalio.testing import WorkflowEnvironment

from tenure.contracts.run.run import RunRequest
from tenure.runs.automation.schedules import (
    ScheduleAction,
    build_backfill,
    build_schedule,
    change_schedule,
    list_schedules,
    save_schedule,
)
from tenure.runs.errors import InvalidRequest
from tenure.runs.messages import BackfillBody, ScheduleBody
from tenure.runs.session.connection import Session
from tenure.runs.session.server_target import ServerTarget
from tenure.runs.start import PlannedRun
from tenure.settings import Settings
from tests.runs.command_lines import parse
from tests.support.waiting import wait_until

REQUEST = RunRequest(question="What is new?", corpora=("shelf",), scheduled=True)
PLANNED = PlannedRun("s-1", True, REQUEST, Priority(priority_key=4), ())


def test_a_schedule_is_as_the_arguments_say() -> None:
    """Cron, time zone, jitter, overlap, catch-up and pause all reach the server."""
    words = ["schedule", "add", "Why?", "--cron", "0 8 * * 1", "--timezone", "Europe/Berlin"]
    words += ["--jitter", "5m", "--overlap", "buffer_one", "--catchup", "1d", "--paused"]
    wanted = build_schedule(parse(ScheduleBody, *words), PLANNED)

    assert (wanted.spec.cron_expressions, wanted.spec.time_zone_name) == (["0 8 * * 1"], "Europe/Berlin")
    assert wanted.spec.jitter == timedelta(minutes=5)
    assert wanted.policy.overlap == ScheduleOverlapPolicy.BUFFER_ONE
    assert wanted.policy.catchup_window == timedelta(days=1)
    assert wanted.state.paused


def test_defaults_of_a_schedule() -> None:
    """Without options a question is asked in UTC, never concurrently, and at most an hour late."""
    wanted = build_schedule(parse(ScheduleBody, "schedule", "add", "Why?", "--cron", "@daily"), PLANNED)

    assert (wanted.spec.time_zone_name, wanted.spec.jitter, wanted.state.paused) == (None, None, False)
    assert wanted.policy.overlap == ScheduleOverlapPolicy.SKIP
    assert wanted.policy.catchup_window == timedelta(hours=1)


async def test_a_scheduled_question_is_looked_after(server: WorkflowEnvironment) -> None:
    """It is made once under a name, listed, paused, resumed and deleted."""
    name = f"question-{uuid4().hex[:8]}"
    session = Session(ServerTarget(Settings(_env_file=None), "", "default", False, ""), server.client)
    wanted = build_schedule(ScheduleBody(question="What is new?", cron="0 8 1 1 *"), replace(PLANNED, id=name))
    due = await save_schedule(server.client, wanted, name)
    with pytest.raises(InvalidRequest, match="in use"):
        await save_schedule(server.client, wanted, name)

    async def find() -> list[Any]:
        return [row for row in await list_schedules(session) if row.id == name]

    rows = await wait_until("the new schedule in the list", find)
    handle = server.client.get_schedule_handle(name)
    states = []
    actions: tuple[ScheduleAction, ...] = ("pause", "resume")
    for action in actions:
        await change_schedule(session, name, action)
        states.append((await handle.describe()).schedule.state.paused)
    await change_schedule(session, name, "delete")
    with pytest.raises(InvalidRequest, match="there is no scheduled question"):
        await change_schedule(session, name, "pause")

    assert due is not None and (due.month, due.day, due.hour) == (1, 1, 8)
    assert (rows[0].question, rows[0].paused, rows[0].runs) == ("What is new?", False, 0)
    assert states == [True, False]


@pytest.mark.parametrize("option", [["--cron", "at eight"], ["--cron", "0 8 * * 1", "--timezone", "Nowhere/Land"]])
async def test_an_invalid_time_is_refused(server: WorkflowEnvironment, option: list[str]) -> None:
    """The server's error about a cron expression or a time zone is a usage error."""
    body = parse(ScheduleBody, "schedule", "add", "Why?", *option)
    with pytest.raises(InvalidRequest, match="does not take the schedule"):
        await save_schedule(server.client, build_schedule(body, PLANNED), f"question-{uuid4().hex[:8]}")


def test_a_backfill_is_a_stretch_of_time() -> None:
    """Moments are in UTC unless they say otherwise, and runs made up for follow each other."""
    words = ["schedule", "backfill", "s-1", "--from", "2026-01-01", "--to", "2026-01-08T08:00+01:00"]
    missed = build_backfill(parse(BackfillBody, *words))

    assert missed.start_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert missed.end_at == datetime(2026, 1, 8, 7, tzinfo=UTC)
    assert missed.overlap == ScheduleOverlapPolicy.BUFFER_ALL
