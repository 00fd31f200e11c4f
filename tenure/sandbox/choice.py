"""Choose the sandbox: the configured one, else bubblewrap; programs are never run without one."""

import asyncio
import sys
from pathlib import Path

from tenure.contracts.sandbox import CandidateBatch, Program, SandboxOutcome, SandboxSelfTest, TestRun
from tenure.sandbox.base import NoSandbox, Sandbox
from tenure.sandbox.bubblewrap import Bubblewrap, find_binary
from tenure.sandbox.docker import Docker
from tenure.sandbox.engine import ContainedSandbox
from tenure.sandbox.groups import find_groups
from tenure.sandbox.runtime import Runtime, find_current, prepare
from tenure.settings.worker import SandboxSettings


def make_sandbox(settings: SandboxSettings) -> Sandbox:
    """Return the sandbox of this process; keep it, since it owns threads.

    Raises:
        NoSandbox: none can be used; the message says what is missing.
    """
    if settings.sandbox == "docker":
        docker = Docker(settings)
        return ContainedSandbox(docker, docker.runtime)
    if sys.platform != "linux":
        raise NoSandbox("bubblewrap needs Linux: set TENURE_SANDBOX=docker")
    return PreparedSandbox(settings)


def make_bubblewrap_sandbox(settings: SandboxSettings, runtime: Runtime) -> ContainedSandbox:
    """Return a bubblewrap sandbox for an interpreter.

    Raises:
        NoSandbox: bubblewrap cannot be used.
    """
    return ContainedSandbox(Bubblewrap(find_binary(), runtime, find_groups(settings.sandbox_cgroup)), runtime)


class PreparedSandbox:
    """Bubblewrap sandbox that creates the environment of its programs at the first use.

    The self-test does not need it, so a starting worker does not wait for packages.
    """

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self._now = make_bubblewrap_sandbox(settings, find_current(settings))
        self._preparing = asyncio.Lock()
        self._prepared = False

    async def run(self, program: Program, keep: Path) -> SandboxOutcome:
        """Run a program and store its artifacts in a folder."""
        return await (await self._ready()).run(program, keep)

    async def test(self, trial: TestRun, keep: Path) -> SandboxOutcome:
        """Test a candidate and store its artifacts in a folder."""
        return await (await self._ready()).test(trial, keep)

    async def test_all(self, batch: CandidateBatch) -> tuple[SandboxOutcome, ...]:
        """Test candidates one after the other; candidates that were not reached have no outcome."""
        return await (await self._ready()).test_all(batch)

    async def check(self) -> SandboxSelfTest:
        """Test the isolation itself."""
        return await self._now.check()

    async def _ready(self) -> ContainedSandbox:
        """Return the sandbox after the attempt to create its environment."""
        async with self._preparing:
            if not self._prepared:
                runtime = await asyncio.to_thread(prepare, self._settings)
                if runtime != self._now.runtime:
                    self._now = await asyncio.to_thread(make_bubblewrap_sandbox, self._settings, runtime)
                self._prepared = True
        return self._now
