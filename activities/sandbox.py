"""Sandbox activities: programs are run and tested, repaired by search, and the sandbox itself is looked at.

Asynchronous, on the worker's event loop: the kernel ties the life of sandboxed processes to the thread that
started them, and this one lives as long as the worker. That a program fails is a result and never an error.
"""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.heartbeat import heartbeating
from tenure.contracts.base import RunId
from tenure.contracts.result.programs import ProgramRequest, RepairProgress, RepairReply, RepairRequest, TrialRequest
from tenure.contracts.sandbox import GivenFile, Outcome, Program, SelfTest
from tenure.sandbox.base import NoSandbox, SandboxError
from tenure.sandbox.repairing import search

if TYPE_CHECKING:
    from tenure.sandbox.base import Sandbox

SANDBOX_MISSING = "SandboxMissing"
"""There is no sandbox on the worker's machine; a person has to install one."""
SANDBOX_FAILED = "SandboxFailed"
"""The sandbox could not be set up this time; it is tried again."""

_NOTHING = Program(files=(GivenFile(name="nothing.py", text=""),), entry="nothing.py")

_SAFE = re.compile(r"[^A-Za-z0-9._-]+")


class SandboxActivities:
    """Running programs in one sandbox."""

    def __init__(self, sandbox: "Sandbox", keep: Path) -> None:
        """Use `sandbox`, and keep what programs make below `keep`."""
        self._sandbox = sandbox
        self._keep = keep

    @activity.defn
    async def look_at_sandbox(self) -> SelfTest:
        """Tell what can be run here, and what holds it."""
        with translated():
            async with heartbeating():
                # The environment of programs is made with the first of them, and what it holds is known from then on.
                await self._sandbox.run(_NOTHING, self._keep / "nothing")
                return await self._sandbox.check()

    @activity.defn
    async def run_tests(self, request: TrialRequest) -> Outcome:
        """Test a candidate."""
        with translated():
            async with heartbeating():
                return await self._sandbox.test(request.trial, self._folder(request.run, request.attempt, "tests"))

    @activity.defn
    async def run_program(self, request: ProgramRequest) -> Outcome:
        """Run a program and keep what it makes."""
        with translated():
            async with heartbeating():
                return await self._sandbox.run(request.program, self._folder(request.run, request.attempt, "run"))

    @activity.defn
    async def repair(self, request: RepairRequest) -> RepairReply:
        """Search for a small edit that makes the tests pass; the heartbeat's details are a `RepairProgress`."""
        details = activity.info().heartbeat_details
        progress = RepairProgress.model_validate(details[0]) if details else RepairProgress()

        def told(now: RepairProgress) -> None:
            nonlocal progress
            progress = now

        with translated():
            async with heartbeating(lambda: (progress,)):
                return await search(self._sandbox, request, progress, told, self._keep / "screened")

    def _folder(self, run: RunId, attempt: int, what: str) -> Path:
        """Return the folder of an attempt; the same for every try of it."""
        mark = hashlib.sha256(run.encode()).hexdigest()[:8]
        return self._keep / f"{_SAFE.sub('-', run)[:80]}-{mark}" / f"attempt-{attempt}" / what


@contextmanager
def translated() -> Iterator[None]:
    """Translate what goes wrong with the sandbox itself.

    Raises:
        ApplicationError: for every such error; not to be tried again where there is no sandbox at all.
    """
    try:
        yield
    except NoSandbox as error:
        raise ApplicationError(str(error), type=SANDBOX_MISSING, non_retryable=True) from error
    except SandboxError as error:
        raise ApplicationError(str(error), type=SANDBOX_FAILED) from error
