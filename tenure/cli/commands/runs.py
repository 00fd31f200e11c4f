"""Commands `watch`, `list`, `state` and `report`: inspect runs, including finished ones."""

import asyncio
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from rich.table import Table
from temporalio.client import Client, WorkflowHandle

from tenure.cli.commands import batches
from tenure.cli.delivery import check_delivery, check_opening, deliver, open_report
from tenure.cli.follow import follow_workflow
from tenure.cli.progress.display import choose_display
from tenure.cli.requests import parse_request
from tenure.cli.terminal import make_stderr_console, print_json, print_line, print_note, print_status, print_table
from tenure.contracts.result.batch import BatchReport
from tenure.contracts.result.result import Result
from tenure.installation import PROGRAM
from tenure.report.render.steps import render_steps
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.formatting import truncate_line
from tenure.runs.listing import list_runs as find_runs
from tenure.runs.messages import RunFilter, RunRow
from tenure.runs.reading import read_state
from tenure.runs.run_ids import check_run
from tenure.runs.session.connection import (
    BATCH_WORKFLOW,
    open_session,
)
from tenure.runs.session.progress_lines import iterate_changes
from tenure.runs.session.run_records import open_run
from tenure.runs.session.server_target import ServerTarget, locate_server
from tenure.runs.session.snapshot import RunSnapshot
from tenure.settings import ClientSettings


def watch(arguments: Namespace, settings: ClientSettings) -> int:
    """Run `watch`."""
    check_run(arguments.id)
    check_delivery(arguments)
    return asyncio.run(_watch(arguments, locate_server(settings)))


def report(arguments: Namespace, settings: ClientSettings) -> int:
    """Run `report`."""
    check_run(arguments.id)
    check_delivery(arguments)
    if arguments.open:
        check_opening(arguments)
    return asyncio.run(_report(arguments, locate_server(settings)))


def state(arguments: Namespace, settings: ClientSettings) -> int:
    """Run `state`."""
    check_run(arguments.id)
    return asyncio.run(_state(arguments, locate_server(settings)))


def list_runs(arguments: Namespace, settings: ClientSettings) -> int:
    """Run `list`."""
    return asyncio.run(_list(arguments, locate_server(settings)))


def _handle(client: Client, run_id: str) -> WorkflowHandle[Any, Result]:
    """Return the handle of a run."""
    return client.get_workflow_handle(run_id, result_type=Result)


async def _watch(arguments: Namespace, place: ServerTarget) -> int:
    """Follow a run to its end and deliver its report."""
    record = await open_run(place, arguments.id)
    if record.is_archived:
        print_note(f"run {arguments.id} is archived")
        if record.workflow_type == BATCH_WORKFLOW:
            return batches.print_summary(arguments, record.id, await record.read_result(BatchReport))
        return deliver(await record.read_result(Result), arguments)
    client = await open_session(place)
    handle = _handle(client, arguments.id)
    if place.ui:
        print_status(f"run {arguments.id}, web UI: {place.build_run_link(arguments.id)}", arguments.verbosity)
    if record.workflow_type == BATCH_WORKFLOW:
        return await batches.follow_batch(arguments, place, client, batches.get_batch_handle(client, arguments.id))
    with choose_display(make_stderr_console(), arguments.verbosity) as display:
        result = await follow_workflow(client, place, handle, display)
    return deliver(result, arguments)


async def _report(arguments: Namespace, place: ServerTarget) -> int:
    """Deliver the report of a finished run; the exit code is that of the query, not of the run."""
    record = await open_run(place, arguments.id)
    if record.workflow_type == BATCH_WORKFLOW:
        if arguments.open:
            raise InvalidRequest(
                f"a batch has no page: open the report of one of its runs, which `{PROGRAM} list` shows"
            )
        return await batches.show_batch(arguments, place, record)
    if record.is_running:
        raise TenureError(
            f"run {arguments.id} is still running: `{PROGRAM} watch {arguments.id}` follows it, "
            f"`{PROGRAM} finish {arguments.id}` finishes it with what it has"
        )
    result = await record.read_result(Result)
    if arguments.open:
        open_report(result, arguments, place.settings.home)
    else:
        deliver(result, arguments)
    return 0


async def _state(arguments: Namespace, place: ServerTarget) -> int:
    """Print the state of a run."""
    found = await read_state(place, arguments.id)
    if arguments.json:
        print_json(found.model_dump(mode="json"))
        return 0
    progress = found.progress
    print_line(f"{progress.id}: {truncate_line(progress.question, 160)}")
    corpora = f", corpora {', '.join(found.corpora)}" if found.corpora else ""
    print_line(f"status {progress.status}, phase {progress.phase}, mode {progress.mode}{corpora}")
    for line in iterate_changes(RunSnapshot(), RunSnapshot(progress)):
        print_line(f"  {line}")
    for task in found.tasks:
        print_line(f"\n“{truncate_line(task.query, 160)}”, step by step")
        for line in render_steps(task.steps, task.answer):
            print_line(line)
    # The layout of reports loads NumPy, which a program has and most commands do without.
    from tenure.report.layout.program import set_attempts
    from tenure.report.render.markdown import write_markdown

    for block in set_attempts(found.attempts):
        print_line(f"\n{write_markdown([block])}")
    if progress.error:
        print_line(f"error: {truncate_line(progress.error, 300)}")
    return 0


async def _list(arguments: Namespace, place: ServerTarget) -> int:
    """Print the latest runs."""
    found = await find_runs(parse_request(RunFilter, arguments), place)
    rows = found.rows
    for note in found.notes:
        print_note(note)
    if arguments.json:
        urls = ["" if row.archived else place.build_run_link(row.id) for row in rows]
        print_json([row.model_dump() | {"url": url} for row, url in zip(rows, urls, strict=True)])
    elif rows:
        print_table(_build_table(rows))
    else:
        print_note(_print_empty(arguments))
    return 0


def _print_empty(arguments: Namespace) -> str:
    """Print that there is nothing to list."""
    if arguments.owner or arguments.status:
        return f"no run matches: `{PROGRAM} list` shows all runs"
    return f'there are no runs yet: `{PROGRAM} start "QUESTION"` starts one'


def _build_table(rows: Sequence[RunRow]) -> Table:
    """Return runs as a table; owners and archived runs are marked if there are any."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    optional = [name for name in ("owner", "archived") if any(getattr(row, name) for row in rows)]
    headings = ["id", "status", "phase", "mode", *optional, "started"]
    for heading in headings:
        table.add_column(heading, no_wrap=True)
    table.add_column("question", ratio=1, overflow="ellipsis", no_wrap=True)
    for row in rows:
        cells = row.model_dump() | {"archived": "yes" if row.archived else ""}
        table.add_row(*(truncate_line(cells[key], 200) for key in (*headings, "question")))
    return table
