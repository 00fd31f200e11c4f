"""Which sandbox is used here: the one that is set, else bubblewrap; never none."""

import asyncio
import sys
from pathlib import Path

from tenure.contracts.sandbox import Batch, Outcome, Program, SelfTest, Trial
from tenure.sandbox.base import NoSandbox, Sandbox
from tenure.sandbox.bubblewrap import Bubblewrap, find_binary
from tenure.sandbox.docker import Docker
from tenure.sandbox.engine import ContainedSandbox
from tenure.sandbox.runtime import Runtime, current, prepare
from tenure.settings import Settings


def sandbox(settings: Settings) -> Sandbox:
    """Return the sandbox of this process; hold on to it, since it lives on threads of its own.

    Raises:
        NoSandbox: none can be used; the message says what is missing.
    """
    if settings.sandbox == "docker":
        docker = Docker(settings)
        return ContainedSandbox(docker, docker.runtime)
    if sys.platform != "linux":
        raise NoSandbox("bubblewrap needs Linux: set TENURE_SANDBOX=docker")
    return PreparedSandbox(settings)


def bubblewrapped(settings: Settings, runtime: Runtime) -> ContainedSandbox:
    """Return a sandbox of bubblewrap for an interpreter.

    Raises:
        NoSandbox: it cannot be used.
    """
    return ContainedSandbox(Bubblewrap(find_binary(), runtime, settings.sandbox_cgroup), runtime)


class PreparedSandbox:
    """A sandbox of bubblewrap that makes the environment of its programs when the first of them comes.

    The self-test goes without: a worker that starts has not to wait for packages.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._now = bubblewrapped(settings, current(settings))
        self._preparing = asyncio.Lock()
        self._prepared = False

    async def run(self, program: Program, keep: Path) -> Outcome:
        """Run a program and store what it made in a folder."""
        return await (await self._ready()).run(program, keep)

    async def test(self, trial: Trial, keep: Path) -> Outcome:
        """Test a candidate and store what it made in a folder."""
        return await (await self._ready()).test(trial, keep)

    async def test_all(self, batch: Batch) -> tuple[Outcome, ...]:
        """Test candidates one after the other; those that were left out have no outcome."""
        return await (await self._ready()).test_all(batch)

    async def check(self) -> SelfTest:
        """Try the isolation itself."""
        return await self._now.check()

    async def _ready(self) -> ContainedSandbox:
        """Return the sandbox, once its environment was made or could not be."""
        async with self._preparing:
            if not self._prepared:
                runtime = await asyncio.to_thread(prepare, self._settings)
                if runtime != self._now.runtime:
                    self._now = await asyncio.to_thread(bubblewrapped, self._settings, runtime)
                self._prepared = True
        return self._now
