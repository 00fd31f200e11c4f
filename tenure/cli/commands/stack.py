"""Commands `down` and `status` of the local stack.

The Temporal SDK is imported only by `status` in a home with a knowledge base and without a server of its own, which may
use another one.
"""

import asyncio
from pathlib import Path

from tenure.cli.output import Output
from tenure.cli.terminal import print_line, print_note
from tenure.settings.home import ConnectionSettings, StackSettings
from tenure.settings.worker import WorkerSettings
from tenure.temporal.stack import local
from tenure.temporal.stack.local import StackStatus


def stop_stack(settings: WorkerSettings, output: Output) -> None:
    """Run `down`."""
    done = local.stop_stack(settings)
    if not output.print_json({"done": done}):
        print_line("\n".join(done))


def show_status(settings: StackSettings, output: Output) -> int:
    """Run `status`; exit code 4 if a part of the stack is missing."""
    status = local.get_status(settings)
    if status.server_pid is None and (
        other := _find_other_base(settings.model_copy(update={"temporal_port": status.port}))
    ):
        status = status.model_copy(update={"notes": (*status.notes, other)})
    print_status(status, output)
    if not output.json:
        for note in status.notes:
            print_note(note)
    return 0 if status.server_ready and status.worker_pid else 4


def _find_other_base(settings: ConnectionSettings) -> str:
    """Return a line about a server that is served with another knowledge base than this home's, or an empty text."""
    if "://" not in settings.knowledge_uri and not Path(settings.knowledge_uri).is_dir():
        return ""
    from tenure.temporal.connection import ServerUnreachable, connect
    from tenure.temporal.namespace_binding import describe_other_base

    async def ask() -> str:
        return await describe_other_base(await connect(settings), settings)

    try:
        return asyncio.run(ask())
    except ServerUnreachable:
        return ""  # the command says already that no server runs


def print_status(status: StackStatus, output: Output) -> None:
    """Print the state of the stack."""
    if output.print_json(status):
        return
    server_line = f"running (process {status.server_pid})" if status.server_pid else "not running"
    if status.server_pid and not status.server_ready:
        server_line += ", not answering"
    worker_line = f"running (process {status.worker_pid})" if status.worker_pid else "not running"
    print_line(f"home             {status.home}")
    print_line(f"Temporal server  {server_line}, 127.0.0.1:{status.port}")
    print_line(f"web UI           {status.ui_url}")
    print_line(f"worker           {worker_line}")
    print_line(f"page             {status.site_url or 'not running'}")
    if status.local_model:
        state = f"running (process {status.local_model_pid})" if status.local_model_pid else "not running"
        print_line(f"local model      {status.local_model}: {state}, 127.0.0.1:{status.local_model_port}")
    for worker in status.draining:
        state = f"running (process {worker.pid})" if worker.pid else "not running"
        print_line(f"earlier version  {worker.build_id}: {state}")
    if status.exposure:
        print_line(f"warning          other users of this machine can reach the Temporal server: {status.exposure}")
