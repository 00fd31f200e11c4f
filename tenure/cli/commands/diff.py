"""Command `diff`: compare the reports of two runs."""

import asyncio
from argparse import Namespace
from pathlib import Path

from temporalio.client import Client, WorkflowExecutionStatus

from tenure.cli.errors import CommandError
from tenure.cli.run_ids import check_run
from tenure.cli.session.connection import explain_refusals, open_session
from tenure.cli.session.run_request import read_request
from tenure.cli.session.server_target import ServerTarget, locate_server
from tenure.cli.terminal import check_writable, print_json, print_markdown, print_note, write_file
from tenure.contracts.result.result import Result
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
    client = await open_session(place)
    found = compare_results(await _read_result(client, arguments.a), await _read_result(client, arguments.b))
    if arguments.output is not None:
        write_file(arguments.output, render_diff(found, Path.cwd()).encode())
        print_note(f"difference written to {arguments.output}")
    if arguments.json:
        print_json(found.model_dump(mode="json"))
    elif arguments.output is None:
        print_markdown(render_diff(found, Path.cwd()))
    return 0


async def _read_result(client: Client, run_id: str) -> Result:
    """Return the result of a finished run.

    Raises:
        CommandError: the run is still running, or failed.
    """
    handle = client.get_workflow_handle(run_id, result_type=Result)
    with explain_refusals(run_id):
        await read_request(client, handle)
        if (await handle.describe()).status == WorkflowExecutionStatus.RUNNING:
            raise CommandError(
                f"run {run_id} is still running and has no report to compare: "
                f"`python client.py watch {run_id}` follows it"
            )
        result: Result = await handle.result()
    return result
