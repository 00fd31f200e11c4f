"""Command `diff`: compare the reports of two runs."""

import asyncio
from argparse import Namespace
from pathlib import Path

from tenure.cli.terminal import check_writable, print_json, print_markdown, print_note, write_file
from tenure.report.diff.comparison import compare_results
from tenure.report.diff.markdown import render_diff
from tenure.runs.reading import read_finished
from tenure.runs.run_ids import check_run
from tenure.runs.session.server_target import ServerTarget, locate_server
from tenure.settings import ClientSettings


def diff(arguments: Namespace, settings: ClientSettings) -> int:
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
