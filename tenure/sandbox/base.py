"""Define the interface of sandboxes and their errors.

A sandbox is used from an event loop that lives as long as the process: the kernel ties the life of the sandboxed
processes to the thread that started them.
"""

from pathlib import Path
from typing import Protocol

from tenure.contracts.sandbox import CandidateBatch, Program, SandboxOutcome, SandboxSelfTest, TestRun


class SandboxError(Exception):
    """Base of errors of the sandbox itself, not of the program; the message says what to do."""


class NoSandbox(SandboxError):
    """No back-end is usable on this machine; no program is ever run without one."""


class SetupFailed(SandboxError):
    """The sandbox could not be set up for this run."""


class Sandbox(Protocol):
    """Runner of untrusted programs; a program that fails, hangs or attacks gives an outcome and not an exception."""

    async def run(self, program: Program, keep: Path) -> SandboxOutcome:
        """Run a program and store its artifacts in a folder.

        Raises:
            SetupFailed: the sandbox could not be set up.
        """

    async def test(self, trial: TestRun, keep: Path) -> SandboxOutcome:
        """Test a candidate and store its artifacts in a folder.

        Raises:
            SetupFailed: the sandbox could not be set up.
        """

    async def test_all(self, batch: CandidateBatch) -> tuple[SandboxOutcome, ...]:
        """Test candidates one after the other; candidates that were not reached have no outcome.

        Raises:
            SetupFailed: the sandbox could not be set up.
        """

    async def check(self) -> SandboxSelfTest:
        """Test the isolation itself; a sandbox whose isolation fails must not be used."""
