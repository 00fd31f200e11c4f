"""`up`: the local stack of this home, or a worker for a server that is somebody else's."""

import asyncio
import time
from argparse import Namespace
from datetime import UTC, datetime

from tenure.cli.commands.stack import print_status
from tenure.cli.errors import Unreachable
from tenure.cli.session.monitor import workers_polling
from tenure.cli.session.server_target import up as bring_up
from tenure.cli.terminal import say
from tenure.settings import Settings
from tenure.temporal import connection
from tenure.temporal.stack import local, processes
from tenure.temporal.stack.local import StackStatus

POLLING_SECONDS = 60.0
"""How long `up` waits for the worker to ask for work."""


def up(arguments: Namespace, settings: Settings) -> int:
    """Run `up`: start what is missing, and wait until the worker asks for work."""
    status = bring_up(settings)
    for note in status.notes:
        say(note)
    asyncio.run(_wait_for_worker(settings, status))
    print_status(arguments, status)
    return 0


async def _wait_for_worker(settings: Settings, status: StackStatus) -> None:
    """Wait until the worker polls.

    The server lists the polls of a worker that was killed for minutes. On this machine's own server, with
    this machine's clock, only polls since the worker's start count.

    Raises:
        Unreachable: it ended, or takes too long.
    """
    client = await connection.connect(settings)
    deadline, pause = time.monotonic() + POLLING_SECONDS, 0.1
    since = datetime.fromtimestamp(status.worker_created, UTC) if status.server_pid else None
    while not await workers_polling(client, since):
        log = local.worker_log(settings.home)
        if local.status(settings).worker_pid != status.worker_pid:
            raise Unreachable(f"the worker ended: {processes.last_line(log)} (see {log})")
        if time.monotonic() > deadline:
            raise Unreachable(f"the worker does not ask for work after {POLLING_SECONDS:.0f} s: see {log}")
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, 1.0)
