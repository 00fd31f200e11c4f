"""A process of a drill and its supervisor, which starts it again whenever it ends."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

_RESTART_SECONDS = 0.2
"""Pause before a process is started again."""


@dataclass
class SupervisedProcess:
    """A process that is started again when it ends, as a container engine or `client.py up` does."""

    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    log: Path
    ends: list[str] = field(default_factory=list)
    """Exits that no fault has caused, with the last line of the log."""
    frozen: list[asyncio.subprocess.Process] = field(default_factory=list)
    """Stopped processes that another one has replaced."""

    _process: asyncio.subprocess.Process | None = None
    _supervisor: asyncio.Task[None] | None = None
    _expected: int = 0
    """Process whose end a fault has caused."""

    @property
    def pid(self) -> int:
        """Id of the running process."""
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        """Start the process and its supervisor."""
        self._process = await self._spawn()
        self._supervisor = asyncio.create_task(self._supervise())

    async def stop(self) -> None:
        """End the process, the frozen ones and the supervisor."""
        await self._end_supervisor()
        for process in (self._process, *self.frozen):
            if process is not None and process.returncode is None:
                _end_tree(process.pid)
                await process.wait()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        if number == signal.SIGKILL:
            self._expected = self.pid
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    @asynccontextmanager
    async def absent(self) -> AsyncIterator[None]:
        """Kill the process, and start it again only after the block."""
        await self._end_supervisor()
        assert self._process is not None
        self.send(signal.SIGKILL)
        await self._process.wait()
        try:
            yield
        finally:
            await self.start()

    async def replace(self) -> asyncio.subprocess.Process:
        """Freeze the process, start another one in its place, and return the frozen one."""
        assert self._process is not None
        self.send(signal.SIGSTOP)
        await self._end_supervisor()
        frozen = self._process
        self.frozen.append(frozen)
        await self.start()
        return frozen

    async def _spawn(self) -> asyncio.subprocess.Process:
        with self.log.open("ab") as sink:
            return await asyncio.create_subprocess_exec(
                *self.command,
                cwd=self.folder,
                env=dict(self.environment),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
            )

    async def _end_supervisor(self) -> None:
        if self._supervisor is not None:
            self._supervisor.cancel()
            await asyncio.gather(self._supervisor, return_exceptions=True)

    async def _supervise(self) -> None:
        while True:
            assert self._process is not None
            code = await self._process.wait()
            if self._process.pid != self._expected:
                self.ends.append(f"exit code {code}: {self._read_last_line()}")
            await asyncio.sleep(_RESTART_SECONDS)
            self._process = await self._spawn()

    def _read_last_line(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return lines[-1][:200] if lines else "no output"


def list_descendants(pid: int) -> list[psutil.Process]:
    """Return the children of a process and their children."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def signal_all(processes: Sequence[psutil.Process], number: signal.Signals) -> None:
    """Send a signal to processes, some of which may have ended."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def _end_tree(pid: int) -> None:
    """Kill a process and its descendants."""
    descendants = list_descendants(pid)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    signal_all(descendants, signal.SIGKILL)
