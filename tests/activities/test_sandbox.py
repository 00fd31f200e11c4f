"""Sandbox activities: storage of artifacts, translation of errors, and continued searches."""

import dataclasses
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.sandbox import SANDBOX_FAILED, SANDBOX_MISSING, SandboxActivities
from tenure.contracts.base import RunId
from tenure.contracts.result.programs import ProgramRequest, RepairProgress, RepairRequest, TestRunRequest
from tenure.contracts.sandbox import InputFile, Program, SandboxOutcome, TestRun
from tenure.sandbox.base import NoSandbox
from tests.support.sandboxes import USABLE, ScriptedSandbox

FILE = InputFile(name="solution.py", text="def f():\n    return 1\n")
TRIAL = TestRunRequest(run=RunId("a run/with: odd words"), attempt=2, test_run=TestRun(files=(FILE,)))


class Noting(ScriptedSandbox):
    """Sandbox that records its folders."""

    kept: Path = Path()

    async def test(self, trial: TestRun, keep: Path) -> SandboxOutcome:
        self.kept = keep
        return await super().test(trial, keep)


async def test_artifacts_are_stored_by_run_and_attempt(tmp_path: Path) -> None:
    """The folder's name has only safe characters of the run's id and is the same for every retry."""
    box = Noting()
    activities = SandboxActivities(box, tmp_path)
    await ActivityEnvironment().run(activities.run_tests, TRIAL)
    first = box.kept
    await ActivityEnvironment().run(activities.run_tests, TRIAL)

    assert first == box.kept
    assert first.parts[-2:] == ("attempt-2", "tests")
    assert first.parent.parent.parent == tmp_path
    assert first.parent.parent.name.startswith("a-run-with-odd-words-")


async def test_failing_program_is_a_result(tmp_path: Path) -> None:
    """Neither a failed test nor a crash is an error of the activity."""
    activities = SandboxActivities(ScriptedSandbox(), tmp_path)
    program = Program(files=(InputFile(name="main.py", text="crash"),), entry="main.py")
    request = ProgramRequest(run=RunId("r"), attempt=1, program=program)

    assert (await ActivityEnvironment().run(activities.run_tests, TRIAL)).verdict == "failed"
    assert (await ActivityEnvironment().run(activities.run_program, request)).exit_code == 3
    assert await ActivityEnvironment().run(activities.check_sandbox) == USABLE


async def test_sandbox_setup_error_is_retryable(tmp_path: Path) -> None:
    """A transient fault is retried, a missing sandbox is not."""

    class Missing(ScriptedSandbox):
        async def test(self, trial: TestRun, keep: Path) -> SandboxOutcome:
            raise NoSandbox("install bubblewrap")

    for box, kind, final in ((ScriptedSandbox(breaks=1), SANDBOX_FAILED, False), (Missing(), SANDBOX_MISSING, True)):
        with pytest.raises(ApplicationError) as raised:
            await ActivityEnvironment().run(SandboxActivities(box, tmp_path).run_tests, TRIAL)
        assert (raised.value.type, raised.value.non_retryable) == (kind, final)


async def test_search_continues_from_an_earlier_attempt(tmp_path: Path) -> None:
    """Edits that an earlier attempt has tried, according to its heartbeats, are skipped."""
    activities = SandboxActivities(ScriptedSandbox(needed=("return 2",)), tmp_path)
    tests = (InputFile(name="test_f.py", text="from solution import f\n\n\ndef test_f():\n    assert f() == 2\n"),)
    request = RepairRequest(files=(FILE,), editable=("solution.py",), tests=tests)
    anew = await ActivityEnvironment().run(activities.repair_program, request)
    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(
        environment.info, heartbeat_details=[RepairProgress(tried=anew.tried, seconds=1)]
    )
    later = await environment.run(activities.repair_program, request)

    assert anew.changes == ("line 2: `1` became `2`",)
    assert later.changes != anew.changes and later.tried > anew.tried
