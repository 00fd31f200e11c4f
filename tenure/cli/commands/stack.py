"""Commands `down` and `status` of the local stack; neither needs the server, so the Temporal SDK is not imported."""

from argparse import Namespace

from tenure.cli.terminal import print_json, print_line, print_note
from tenure.settings import Settings
from tenure.temporal.stack import local
from tenure.temporal.stack.local import StackStatus


def stop_stack(arguments: Namespace, settings: Settings) -> int:
    """Run `down`."""
    done = local.stop_stack(settings)
    if arguments.json:
        print_json({"done": list(done)})
    else:
        print_line("\n".join(done))
    return 0


def show_status(arguments: Namespace, settings: Settings) -> int:
    """Run `status`; exit code 4 if a part of the stack is missing."""
    found = local.get_status(settings)
    print_status(arguments, found)
    if not arguments.json:
        for note in found.notes:
            print_note(note)
    return 0 if found.server_ready and found.worker_pid else 4


def print_status(arguments: Namespace, found: StackStatus) -> None:
    """Print the state of the stack."""
    if arguments.json:
        print_json(found.model_dump(mode="json"))
        return
    server_line = f"running (process {found.server_pid})" if found.server_pid else "not running"
    if found.server_pid and not found.server_ready:
        server_line += ", not answering"
    worker_line = f"running (process {found.worker_pid})" if found.worker_pid else "not running"
    print_line(f"home             {found.home}")
    print_line(f"Temporal server  {server_line}, 127.0.0.1:{found.port}")
    print_line(f"web UI           {found.ui_url}")
    print_line(f"worker           {worker_line}")
    print_line(f"page             {found.site_url or 'not running'}")
    if found.local_model:
        state = f"running (process {found.local_model_pid})" if found.local_model_pid else "not running"
        print_line(f"local model      {found.local_model}: {state}, 127.0.0.1:{found.local_model_port}")
    for worker in found.draining:
        state = f"running (process {worker.pid})" if worker.pid else "not running"
        print_line(f"earlier version  {worker.build_id}: {state}")
    if found.exposure:
        print_line(f"warning          other users of this machine can reach the Temporal server: {found.exposure}")
