"""`up`, `down` and `status`: the local stack of this home."""

import asyncio
import time
from argparse import Namespace
from datetime import UTC, datetime

import connection
from commands.errors import Unreachable
from commands.monitor import workers_polling
from commands.place import up as bring_up
from commands.terminal import print_json, say
from tenure.settings import Settings
from tenure.stack import local, processes
from tenure.stack.local import StackStatus

POLLING_SECONDS = 60.0
"""How long `up` waits for the worker to ask for work."""


def up(arguments: Namespace, settings: Settings) -> int:
    """Run `up`: start what is missing, and wait until the worker asks for work."""
    status = bring_up(settings)
    for note in status.notes:
        say(note)
    asyncio.run(_wait_for_worker(settings, status))
    _print(arguments, status)
    return 0


def down(arguments: Namespace, settings: Settings) -> int:
    """Run `down`."""
    done = local.down(settings)
    if arguments.json:
        print_json({"done": list(done)})
    else:
        print("\n".join(done))
    return 0


def status(arguments: Namespace, settings: Settings) -> int:
    """Run `status`: 4 where something of the stack is missing."""
    found = local.status(settings)
    _print(arguments, found)
    if not arguments.json:
        for note in found.notes:
            say(note)
    return 0 if found.server_ready and found.worker_pid else 4


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


def _print(arguments: Namespace, found: StackStatus) -> None:
    """Print how the stack stands."""
    if arguments.json:
        print_json(found.model_dump(mode="json"))
        return
    server_line = f"running (process {found.server_pid})" if found.server_pid else "not running"
    if found.server_pid and not found.server_ready:
        server_line += ", not answering"
    worker_line = f"running (process {found.worker_pid})" if found.worker_pid else "not running"
    print(f"home             {found.home}")
    print(f"Temporal server  {server_line}, 127.0.0.1:{found.port}")
    print(f"web UI           {found.ui_url}")
    print(f"worker           {worker_line}")
