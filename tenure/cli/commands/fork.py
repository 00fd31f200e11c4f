"""Command `fork`: start a new run from an earlier cycle of a run, and follow it."""

import asyncio
from argparse import Namespace

from tenure.cli.commands.start import follow_started_run
from tenure.cli.delivery import check_delivery
from tenure.cli.requests import parse_request
from tenure.cli.terminal import print_note, print_notes
from tenure.runs.fork import launch_fork
from tenure.runs.messages import ForkBody
from tenure.runs.run_ids import check_run
from tenure.runs.session.connection import open_session
from tenure.runs.session.server_target import ServerTarget, ensure_server
from tenure.runs.start import build_priority
from tenure.settings import Settings


def fork(arguments: Namespace, settings: Settings) -> int:
    """Run the command."""
    check_run(arguments.origin)
    body = parse_request(ForkBody, arguments)
    if body.id:
        check_run(body.id)
    check_delivery(arguments)
    build_priority(body)
    place = ensure_server(settings)
    print_notes(place, arguments.verbosity)
    return asyncio.run(_start_fork(arguments, body, place))


async def _start_fork(arguments: Namespace, body: ForkBody, place: ServerTarget) -> int:
    """Start the fork and follow it to its end."""
    client = await open_session(place)
    handle, notes = await launch_fork(arguments.origin, body, place, client)
    for note in notes:
        print_note(note)
    return await follow_started_run(arguments, place, client, handle)
