"""Test the activities on commands of a project, as a worker executes them."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.commands import ENVIRONMENT_LOST, CommandActivities
from tenure.contracts.coding.repositories import (
    CheckRequest,
    CommandReply,
    CommandRequest,
    Environment,
    EnvironmentRequest,
    ProjectTestRequest,
    SetupProgress,
)
from tenure.contracts.sandbox import SandboxLimits
from tests.repositories.projects import Project, open_project
from tests.support.tiers import slow


def make_activities(project: Project) -> CommandActivities:
    """Return the activities on a project."""
    return CommandActivities(project.box, project.workspaces, project.environments, project.tests)


async def run(project: Project, command: str, **others: object) -> CommandReply:
    """Run a command as an activity."""
    request = CommandRequest(
        **{"workspace": project.workspace, "environment": Environment(), "command": command, **others}  # type: ignore[arg-type]
    )
    found: CommandReply = await ActivityEnvironment().run(make_activities(project).run_command, request)
    return found


async def test_a_command_gives_the_next_state(tmp_path: Path) -> None:
    """The changes of a command are the next state's patch, which another command begins with."""
    project = await open_project(tmp_path, {"a.txt": "old\n"})

    first = await run(project, "echo new > a.txt; echo b > b.txt; echo shown; exit 2")
    second = await run(project, "cat a.txt b.txt", workspace=first.workspace)
    again = await run(project, "cat a.txt")

    assert first.change and (first.exit_code, first.change.added, first.change.removed) == (2, 2, 1)
    assert [file.path for file in first.change.files] == ["a.txt", "b.txt"]
    assert first.observation.summary == "exit code 2: shown"
    assert "shown" in first.observation.text
    assert second.observation.text.endswith("new\nb")
    assert (second.workspace, again.observation.text.endswith("old")) == (first.workspace, True)


async def test_a_repeated_command_starts_from_the_same_state(tmp_path: Path) -> None:
    """An attempt that is repeated after a crash finds the files of its state, and has the same effect once."""
    project = await open_project(tmp_path, {"a.txt": "1\n"})
    replies = [await run(project, "echo 2 >> a.txt; cat a.txt") for _ in range(2)]

    assert replies[0].workspace == replies[1].workspace
    assert [reply.change and reply.change.added for reply in replies] == [1, 1]


async def test_a_command_that_fills_its_folder_changes_nothing(tmp_path: Path) -> None:
    """Changes beyond the limit are discarded, and the next command starts from the state before."""
    project = await open_project(tmp_path, {"a.txt": "1\n"})
    limits = SandboxLimits(wall_seconds=60, growth_mib=4, file_mib=512)

    reply = await run(project, "echo 2 > a.txt; head -c 200M /dev/zero > big; sleep 9", limits=limits)
    after = await run(project, "ls; cat a.txt")

    assert (reply.workspace, reply.observation.failed) == (project.workspace, True)
    assert "discarded: its folder grew too large" in reply.observation.text
    assert after.observation.text.endswith("a.txt\n1")


async def test_the_heartbeats_of_a_set_up_name_its_command(tmp_path: Path) -> None:
    """A set-up that hangs says what runs and for how long at most, before it ends."""
    project = await open_project(tmp_path, {"a.txt": "1\n"})
    environment, reported = ActivityEnvironment(), asyncio.Event()
    environment.info = replace(environment.info, heartbeat_timeout=timedelta(seconds=1))
    beats: list[SetupProgress] = []

    def note(*details: SetupProgress) -> None:
        beats.extend(details)
        if details:
            reported.set()

    environment.on_heartbeat = note
    request = EnvironmentRequest(workspace=project.workspace, setup="sleep 1000")
    running = asyncio.ensure_future(environment.run(make_activities(project).set_up_environment, request))
    await asyncio.wait((running, asyncio.ensure_future(reported.wait())), return_when=asyncio.FIRST_COMPLETED)
    environment.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert beats[0] == SetupProgress(command="sleep 1000", max_seconds=1800)


async def test_a_cancelled_command_leaves_no_process(tmp_path: Path) -> None:
    """A cancellation ends the command, and the next one starts from the state before."""
    project = await open_project(tmp_path, {"a.txt": "1\n"})
    environment = ActivityEnvironment()
    request = CommandRequest(
        workspace=project.workspace, environment=Environment(), command="echo 2 > a.txt; touch started; sleep 99"
    )
    task = asyncio.create_task(environment.run(make_activities(project).run_command, request))
    while not list((tmp_path / "home" / "workspaces").rglob("started")):
        assert not task.done()
        await asyncio.sleep(0.05)

    environment.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert (await run(project, "ls; cat a.txt")).observation.text.endswith("a.txt\n1")


@slow
async def test_setup_tests_and_checks_work_together(tmp_path: Path) -> None:
    """A project is set up, its tests run, its checks are named, and a lost environment is an error of its own."""
    project = await open_project(tmp_path, {"pytest.ini": "[pytest]\n", "test_a.py": "def test_a():\n    pass\n"})
    activities, run_activity = make_activities(project), ActivityEnvironment().run

    setup = await run_activity(activities.set_up_environment, EnvironmentRequest(workspace=project.workspace))
    request = ProjectTestRequest(workspace=project.workspace, environment=setup.environment)
    report = await run_activity(activities.run_project_tests, request)
    checks = CheckRequest(workspace=project.workspace, environment=setup.environment)
    lost = setup.environment.model_copy(update={"key": "0" * 32, "setup": "exit 1"})

    assert (setup.ready, report.counts) == (True, {"passed": 1})
    assert (await run_activity(activities.run_project_checks, checks)).checks == ()
    with pytest.raises(ApplicationError) as raised:
        await run(project, "true", environment=lost)
    assert raised.value.type == ENVIRONMENT_LOST
