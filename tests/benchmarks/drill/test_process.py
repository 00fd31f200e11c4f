"""Test the supervisor of the drill's processes."""

import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil

from benchmarks.support.drill.process import SupervisedProcess
from tests.support.waiting import wait_until

SLEEP = "import sys, time; print('started', flush=True); time.sleep(600)"
END = "import sys, time; print('last words', flush=True); time.sleep(0.2); sys.exit(3)"


@asynccontextmanager
async def supervised(folder: Path, program: str) -> AsyncIterator[SupervisedProcess]:
    process = SupervisedProcess([sys.executable, "-c", program], os.environ, folder, folder / "log")
    await process.start()
    try:
        yield process
    finally:
        await process.stop()


async def wait_for_other(process: SupervisedProcess, pid: int) -> None:
    """Wait until another process runs."""
    await wait_until("another process", lambda: process.pid != pid)


async def test_a_killed_process_is_started_again(tmp_path: Path) -> None:
    """Another process runs after a kill, and the kill is no unexpected end."""
    async with supervised(tmp_path, SLEEP) as process:
        pid = process.pid
        process.send(signal.SIGKILL)
        await wait_for_other(process, pid)
        running = process.pid

        assert (psutil.pid_exists(running), process.ends) == (True, [])
    assert not psutil.pid_exists(running)


async def test_an_unexpected_end_is_recorded(tmp_path: Path) -> None:
    """The exit code and the last line of the log are kept."""
    async with supervised(tmp_path, END) as process:
        await wait_for_other(process, process.pid)

        assert process.ends[0] == "exit code 3: last words"


async def test_a_replaced_process_is_stopped(tmp_path: Path) -> None:
    """The replaced process is stopped while another one runs, and both end with the supervisor."""
    async with supervised(tmp_path, SLEEP) as process:
        frozen = await process.replace()
        pids = (frozen.pid, process.pid)

        await wait_until(
            "the stopped process", psutil.Process(frozen.pid).status, lambda status: status == psutil.STATUS_STOPPED
        )
        assert frozen.pid != process.pid
    assert not any(map(psutil.pid_exists, pids))


async def test_an_absent_process_is_not_started_again(tmp_path: Path) -> None:
    """While the block runs there is no process."""
    async with supervised(tmp_path, SLEEP) as process:
        pid = process.pid
        async with process.absent():
            assert not psutil.pid_exists(pid)
        assert process.pid != pid
