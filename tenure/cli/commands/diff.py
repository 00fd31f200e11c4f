"""Command `diff`: compare the reports of two runs."""

import asyncio
from argparse import Namespace
from pathlib import Path

from temporalio.client import Client

from tenure.cli.errors import CommandError
from tenure.cli.run_ids import check_run
from tenure.cli.session.connection import explain_refusals
from tenure.cli.session.run_records import open_run
from tenure.cli.session.run_request import read_request
from tenure.cli.session.server_target import ServerTarget, locate_server
from tenure.cli.terminal import check_writable, print_json, print_markdown, print_note, write_file
from tenure.contracts.result.result import Result
from tenure.installation import PROGRAM
from tenure.report.diff.comparison import compare_results
from tenure.report.diff.markdown import render_diff
from tenure.settings import Settings


def diff(arguments: Namespace, settings: Settings) -> int:
    """Run the command."""
    for name in (arguments.a, arguments.b):
        check_run(name)
    check_writable(arguments.output)
    return asyncio.run(_compare_and_deliver(arguments, locate_server(settings)))


async def _compare_and_deliver(arguments: Namespace, place: ServerTarget) -> int:
    """Compare two results and deliver the difference."""
    found = compare_results(await read_finished(place, arguments.a), await read_finished(place, arguments.b))
    if arguments.output is not None:
        write_file(arguments.output, render_diff(found, Path.cwd()).encode())
        print_note(f"difference written to {arguments.output}")
    if arguments.json:
        print_json(found.model_dump(mode="json"))
    elif arguments.output is None:
        print_markdown(render_diff(found, Path.cwd()))
    return 0


async def read_finished(place: ServerTarget, run_id: str, client: Client | None = None) -> Result:
    """Return the result of a finished run.

    Raises:
        CommandError: the run is still running, or failed.
    """
    record = await open_run(place, run_id, client)
    with explain_refusals(run_id), record.explain_damage():
        await read_request(record.source, run_id)
    if record.is_running:
        raise CommandError(
            f"run {run_id} is still running and has no report to compare: `{PROGRAM} watch {run_id}` follows it"
        )
    return await record.read_result(Result)
