"""`diff`: what differs between the reports of two runs."""

import asyncio
from argparse import Namespace
from pathlib import Path

from temporalio.client import Client, WorkflowExecutionStatus

from tenure.cli.errors import CommandError
from tenure.cli.run_ids import check_run
from tenure.cli.session.connection import explained, open_session
from tenure.cli.session.run_request import request_of
from tenure.cli.session.server_target import Place, locate
from tenure.cli.terminal import check_writable, print_json, print_markdown, say, write_file
from tenure.contracts.result.result import Result
from tenure.report.diff.comparison import difference
from tenure.report.diff.markdown import render
from tenure.settings import Settings


def diff(arguments: Namespace, settings: Settings) -> int:
    """Run the command."""
    for name in (arguments.a, arguments.b):
        check_run(name)
    check_writable(arguments.output)
    return asyncio.run(_diff(arguments, locate(settings)))


async def _diff(arguments: Namespace, place: Place) -> int:
    """Compare, and hand the difference over."""
    client = await open_session(place)
    found = difference(await _result(client, arguments.a), await _result(client, arguments.b))
    if arguments.output is not None:
        write_file(arguments.output, render(found, Path.cwd()).encode())
        say(f"difference written to {arguments.output}")
    if arguments.json:
        print_json(found.model_dump(mode="json"))
    elif arguments.output is None:
        print_markdown(render(found, Path.cwd()))
    return 0


async def _result(client: Client, run_id: str) -> Result:
    """Return the result of a run that is over.

    Raises:
        CommandError: it is still at work, or failed.
    """
    handle = client.get_workflow_handle(run_id, result_type=Result)
    with explained(run_id):
        await request_of(client, handle)
        if (await handle.describe()).status == WorkflowExecutionStatus.RUNNING:
            raise CommandError(
                f"run {run_id} is still at work and has no report to compare: "
                f"`python client.py watch {run_id}` follows it"
            )
        result: Result = await handle.result()
    return result
