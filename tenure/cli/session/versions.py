"""Ask the server which versions of the code are in use, and wait until new runs use the installed one."""

import asyncio
import time
from collections.abc import Collection

from temporalio.service import RPCError

from tenure.settings import Settings
from tenure.temporal import connection
from tenure.temporal.deployment import find_versions_in_use, make_current, read_current_build_id
from tenure.temporal.stack import local, processes
from tenure.temporal.stack.errors import StackError
from tenure.temporal.stack.local import StackStatus
from workflows.runtime.task_queues import ALL_QUEUES, SANDBOX_QUEUE

VERSION_TIMEOUT_SECONDS = 120.0
"""Time that a command waits until new runs use the installed code."""

_QUEUES = [queue for queue in ALL_QUEUES if queue != SANDBOX_QUEUE]
"""Queues that every worker of this home serves; programs are run only where the sandbox works."""


async def find_running_versions(settings: Settings, build_ids: Collection[str]) -> set[str]:
    """Return those of some versions that get new runs or have running workflows.

    Raises:
        ServerUnreachable: the server does not answer.
        StackError: the server does not tell.
    """
    client = await connection.connect(settings)
    try:
        return await find_versions_in_use(client, build_ids)
    except RPCError as error:
        raise StackError(
            f"the server does not tell which versions have runs ({error.message}): repeat `python client.py up`"
        ) from error


async def wait_for_version(settings: Settings, status: StackStatus) -> None:
    """Wait until new runs use the version of this home's worker, if they use another one now.

    Raises:
        ServerUnreachable: the server does not answer.
        StackError: the worker of the version ended, or does not poll in time.
    """
    client = await connection.connect(settings)
    try:
        if await read_current_build_id(client) in ("", status.build_id):
            # Without an earlier version the server keeps new runs for the worker that is starting.
            return
        # The worker does the same when it starts; one that served an earlier version before does not.
        change = asyncio.create_task(make_current(client, status.build_id, _QUEUES, complete=True))
        await _wait_for_worker(settings, status, change)
    except RPCError as error:
        raise StackError(f"the server refuses the version {status.build_id}: {error.message}") from error


async def _wait_for_worker(settings: Settings, status: StackStatus, change: asyncio.Task[None]) -> None:
    """Wait for a change that needs the worker to poll."""
    deadline, log = time.monotonic() + VERSION_TIMEOUT_SECONDS, local.get_worker_log(settings.home)
    while not (await asyncio.wait((change,), timeout=0.2))[0]:
        problem = ""
        if local.get_status(settings).worker_pid != status.worker_pid:
            problem = f"its worker ended: {processes.read_last_line(log)}"
        elif time.monotonic() > deadline:
            problem = f"its worker does not poll after {VERSION_TIMEOUT_SECONDS:.0f} s"
        if problem:
            change.cancel()
            raise StackError(f"new runs would use the earlier code, since {problem} (see {log})")
    await change
