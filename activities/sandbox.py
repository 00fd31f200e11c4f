"""Run and test programs in the sandbox, search for repairs, and check the sandbox itself.

Asynchronous, on the worker's event loop: the kernel ties the life of sandboxed processes to the thread that started
them, and this thread lives as long as the worker. A program that fails is a result, never an error.
"""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.heartbeat import send_heartbeats
from tenure.contracts.base import RunId
from tenure.contracts.result.programs import ProgramRequest, RepairProgress, RepairReply, RepairRequest, TestRunRequest
from tenure.contracts.sandbox import InputFile, Program, SandboxOutcome, SandboxSelfTest
from tenure.sandbox.base import NoSandbox, SandboxError
from tenure.sandbox.repairing import search_repair

if TYPE_CHECKING:
    from tenure.sandbox.base import Sandbox

SANDBOX_MISSING = "SandboxMissing"
"""There is no sandbox on the worker's machine; a person has to install one."""
SANDBOX_FAILED = "SandboxFailed"
"""The sandbox could not be set up; the activity is retried."""

_EMPTY_PROGRAM = Program(files=(InputFile(name="empty.py", text=""),), entry="empty.py")

_SAFE = re.compile(r"[^A-Za-z0-9._-]+")


class SandboxActivities:
    """Activities on one sandbox."""

    def __init__(self, sandbox: "Sandbox", keep: Path) -> None:
        """Use `sandbox` and store the artifacts of programs below `keep`."""
        self._sandbox = sandbox
        self._keep = keep

    @activity.defn
    async def check_sandbox(self) -> SandboxSelfTest:
        """Return the languages and packages of the sandbox and how it isolates programs."""
        with translate_sandbox_errors():
            async with send_heartbeats():
                # The first program creates the environment of all programs; from then on its packages are known.
                await self._sandbox.run(_EMPTY_PROGRAM, self._keep / "empty")
                return await self._sandbox.check()

    @activity.defn
    async def run_tests(self, request: TestRunRequest) -> SandboxOutcome:
        """Test a program."""
        with translate_sandbox_errors():
            async with send_heartbeats():
                return await self._sandbox.test(request.test_run, self._folder(request.run, request.attempt, "tests"))

    @activity.defn
    async def run_program(self, request: ProgramRequest) -> SandboxOutcome:
        """Run a program and store its artifacts."""
        with translate_sandbox_errors():
            async with send_heartbeats():
                return await self._sandbox.run(request.program, self._folder(request.run, request.attempt, "run"))

    @activity.defn
    async def repair_program(self, request: RepairRequest) -> RepairReply:
        """Search for a small edit that makes the tests pass; the heartbeat's details are a `RepairProgress`."""
        details = activity.info().heartbeat_details
        progress = RepairProgress.model_validate(details[0]) if details else RepairProgress()

        def update(current: RepairProgress) -> None:
            nonlocal progress
            progress = current

        with translate_sandbox_errors():
            async with send_heartbeats(lambda: (progress,)):
                return await search_repair(self._sandbox, request, progress, update, self._keep / "screened")

    def _folder(self, run: RunId, attempt: int, what: str) -> Path:
        """Return the folder of an attempt; retries of the activity use the same one."""
        digest = hashlib.sha256(run.encode()).hexdigest()[:8]
        return self._keep / f"{_SAFE.sub('-', run)[:80]}-{digest}" / f"attempt-{attempt}" / what


@contextmanager
def translate_sandbox_errors() -> Iterator[None]:
    """Translate errors of the sandbox itself.

    Raises:
        ApplicationError: for every such error; non-retryable if there is no sandbox.
    """
    try:
        yield
    except NoSandbox as error:
        raise ApplicationError(str(error), type=SANDBOX_MISSING, non_retryable=True) from error
    except SandboxError as error:
        raise ApplicationError(str(error), type=SANDBOX_FAILED) from error
