"""`schedule`: scheduled questions on a real server, and what the command line refuses."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.client import ScheduleOverlapPolicy
from temporalio.common import Priority
from temporalio.testing import WorkflowEnvironment

from tenure.cli.commands.schedule import (
    apply_action,
    build_schedule,
    create_schedule,
    list_schedules,
    parse_catchup_window,
    schedule,
)
from tenure.cli.parser import build_parser
from tenure.contracts.run.run import RunRequest
from tenure.runs.errors import InvalidRequest
from tenure.runs.start import PlannedRun
from tenure.settings import Settings

REQUEST = RunRequest(question="What is new?", corpora=("shelf",), scheduled=True)
PLANNED = PlannedRun("s-1", True, REQUEST, Priority(priority_key=4), ())


def test_a_schedule_is_as_the_arguments_say() -> None:
    """Cron, time zone, jitter, overlap, catch-up and pause all reach the server."""
    words = ["schedule", "Why?", "--cron", "0 8 * * 1", "--timezone", "Europe/Berlin"]
    words += ["--jitter", "5m", "--overlap", "buffer_one", "--catchup", "1d", "--paused"]
    wanted = build_schedule(build_parser().parse_args(words), PLANNED)

    assert (wanted.spec.cron_expressions, wanted.spec.time_zone_name) == (["0 8 * * 1"], "Europe/Berlin")
    assert wanted.spec.jitter == timedelta(minutes=5)
    assert wanted.policy.overlap == ScheduleOverlapPolicy.BUFFER_ONE
    assert wanted.policy.catchup_window == timedelta(days=1)
    assert wanted.state.paused


def test_defaults_of_a_schedule() -> None:
    """Without options a question is asked in UTC, never concurrently, and at most an hour late."""
    wanted = build_schedule(build_parser().parse_args(["schedule", "Why?", "--cron", "@daily"]), PLANNED)

    assert (wanted.spec.time_zone_name, wanted.spec.jitter, wanted.state.paused) == (None, None, False)
    assert wanted.policy.overlap == ScheduleOverlapPolicy.SKIP
    assert wanted.policy.catchup_window == timedelta(hours=1)


@pytest.mark.parametrize(
    "arguments",
    [
        ["What is new?"],
        ["list", "s-1"],
        ["pause"],
        ["backfill", "s-1"],
        ["trigger", "s-1", "--from", "2026-01-01"],
        ["trigger", "s-1", "--to", "2026-01-01"],
        ["backfill", "s-1", "--to", "2026-01-01"],
    ],
)
def test_what_does_not_fit_together_is_refused(arguments: list[str], tmp_path: Path) -> None:
    """A question needs a time, an action a name, and a backfill its beginning; nothing is started for less."""
    home = tmp_path / "home"
    with pytest.raises(InvalidRequest):
        schedule(build_parser().parse_args(["schedule", *arguments]), Settings(_env_file=None, home=home))

    assert not home.exists()


async def test_a_scheduled_question_is_looked_after(server: WorkflowEnvironment) -> None:
    """It is made once under a name, listed, paused, resumed and deleted."""
    name = f"question-{uuid4().hex[:8]}"
    arguments = build_parser().parse_args(["schedule", "What is new?", "--cron", "0 8 1 1 *"])
    wanted = build_schedule(arguments, replace(PLANNED, id=name))
    due = await create_schedule(server.client, wanted, name)
    with pytest.raises(InvalidRequest, match="in use"):
        await create_schedule(server.client, wanted, name)
    while True:  # a list of schedules lags behind their making
        if rows := [row for row in await list_schedules(server.client) if row["id"] == name]:
            break
        await asyncio.sleep(0.05)
    handle = server.client.get_schedule_handle(name)
    states = []
    for action in ("pause", "resume"):
        await apply_action(build_parser().parse_args(["schedule", action, name]), handle)
        states.append((await handle.describe()).schedule.state.paused)
    await apply_action(build_parser().parse_args(["schedule", "delete", name]), handle)

    assert due is not None and (due.month, due.day, due.hour) == (1, 1, 8)
    assert (rows[0]["question"], rows[0]["paused"], rows[0]["runs"]) == ("What is new?", False, 0)
    assert states == [True, False]


@pytest.mark.parametrize("option", [["--cron", "at eight"], ["--cron", "0 8 * * 1", "--timezone", "Nowhere/Land"]])
async def test_an_invalid_time_is_refused(server: WorkflowEnvironment, option: list[str]) -> None:
    """The server's error about a cron expression or a time zone is a usage error."""
    arguments = build_parser().parse_args(["schedule", "Why?", *option])
    with pytest.raises(InvalidRequest, match="does not take the schedule"):
        await create_schedule(server.client, build_schedule(arguments, PLANNED), f"question-{uuid4().hex[:8]}")


def test_a_backfill_is_a_stretch_of_time() -> None:
    """Moments are in UTC unless they say otherwise, and runs made up for follow each other."""
    words = ["schedule", "backfill", "s-1", "--from", "2026-01-01", "--to", "2026-01-08T08:00+01:00"]
    missed = parse_catchup_window(build_parser().parse_args(words))

    assert missed.start_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert missed.end_at == datetime(2026, 1, 8, 7, tzinfo=UTC)
    assert missed.overlap == ScheduleOverlapPolicy.BUFFER_ALL
    with pytest.raises(SystemExit):
        build_parser().parse_args(["schedule", "backfill", "s-1", "--from", "soon"])
