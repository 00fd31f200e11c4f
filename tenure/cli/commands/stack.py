"""`down` and `status`: the local stack of this home; neither needs the server, so nothing of Temporal is loaded."""

from argparse import Namespace

from tenure.cli.terminal import print_json, say
from tenure.settings import Settings
from tenure.temporal.stack import local
from tenure.temporal.stack.local import StackStatus


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
    print_status(arguments, found)
    if not arguments.json:
        for note in found.notes:
            say(note)
    return 0 if found.server_ready and found.worker_pid else 4


def print_status(arguments: Namespace, found: StackStatus) -> None:
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
