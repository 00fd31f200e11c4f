"""What every sandbox can do, and what goes wrong with one.

A sandbox is used from an event loop that lives as long as the process: the kernel ties the life of the sandboxed
processes to the thread that started them.
"""

from pathlib import Path
from typing import Protocol

from tenure.contracts.sandbox import Batch, Outcome, Program, SelfTest, Trial


class SandboxError(Exception):
    """The base of what is the sandbox's fault and not the program's; the message says what to do."""


class NoSandbox(SandboxError):
    """No back-end is usable here; nothing is ever run without one."""


class SetupFailed(SandboxError):
    """The sandbox could not be set up for this run."""


class Sandbox(Protocol):
    """Runs programs of strangers; that a program fails, hangs or attacks is an outcome and not an exception."""

    async def run(self, program: Program, keep: Path) -> Outcome:
        """Run a program and store what it made in a folder.

        Raises:
            SetupFailed: there was no sandbox to run it in.
        """
        ...

    async def test(self, trial: Trial, keep: Path) -> Outcome:
        """Test a candidate and store what it made in a folder.

        Raises:
            SetupFailed: there was no sandbox to test it in.
        """
        ...

    async def test_all(self, batch: Batch) -> tuple[Outcome, ...]:
        """Test candidates one after the other; those that were left out have no outcome.

        Raises:
            SetupFailed: there was no sandbox to test them in.
        """
        ...

    async def check(self) -> SelfTest:
        """Try the isolation itself; where it does not hold, the sandbox says so and is not to be used."""
        ...
