"""Command `up`: start the local stack of this home, or a worker for another server."""

import asyncio
import time
from argparse import Namespace
from datetime import UTC, datetime

from tenure.cli.commands.stack import print_status
from tenure.cli.errors import Unreachable
from tenure.cli.session.monitor import count_polling_workers
from tenure.cli.session.server_target import start_missing as bring_up
from tenure.cli.terminal import print_note
from tenure.settings import Settings
from tenure.temporal import connection
from tenure.temporal.stack import local, processes
from tenure.temporal.stack.local import StackStatus

POLLING_SECONDS = 60.0
"""Time `up` waits for the worker to poll."""


def start_stack(arguments: Namespace, settings: Settings) -> int:
    """Run `up`: start what is missing, and wait until the worker polls."""
    status = bring_up(settings)
    for note in status.notes:
        print_note(note)
    asyncio.run(_wait_for_worker(settings, status))
    print_status(arguments, status)
    return 0


async def _wait_for_worker(settings: Settings, status: StackStatus) -> None:
    """Wait until the worker polls.

    The server lists the polls of a killed worker for minutes. On this machine's own server, with this machine's clock,
    only polls after the worker's start count.

    Raises:
        Unreachable: the worker ended or takes too long.
    """
    client = await connection.connect(settings)
    deadline, pause = time.monotonic() + POLLING_SECONDS, 0.1
    since = datetime.fromtimestamp(status.worker_created, UTC) if status.server_pid else None
    while not await count_polling_workers(client, since):
        log = local.get_worker_log(settings.home)
        if local.get_status(settings).worker_pid != status.worker_pid:
            raise Unreachable(f"the worker ended: {processes.read_last_line(log)} (see {log})")
        if time.monotonic() > deadline:
            raise Unreachable(f"the worker does not poll after {POLLING_SECONDS:.0f} s: see {log}")
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, 1.0)
