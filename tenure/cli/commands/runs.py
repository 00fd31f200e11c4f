"""Commands `watch`, `list`, `state` and `report`: inspect runs, including finished ones."""

import asyncio
from argparse import Namespace
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from rich.table import Table
from temporalio.api.common.v1 import Payload
from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus, WorkflowHandle
from temporalio.common import SearchAttributeKey
from temporalio.converter import DataConverter

from tenure.cli.commands import batches
from tenure.cli.delivery import check_delivery, check_opening, deliver, open_report
from tenure.cli.errors import CommandError, Unreachable, UsageError
from tenure.cli.formatting import truncate_line
from tenure.cli.progress.display import choose_display
from tenure.cli.progress.lines import iterate_changes
from tenure.cli.progress.snapshot import RunSnapshot
from tenure.cli.run_ids import check_run
from tenure.cli.session.connection import (
    AGENT_WORKFLOW,
    BATCH_WORKFLOW,
    QUERY_TIMEOUT,
    explain_ended_query,
    explain_refusals,
    open_session,
    register_search_attributes,
)
from tenure.cli.session.follow import follow_workflow
from tenure.cli.session.run_records import explain_archive_errors, may_have_archive, open_run, read_archive
from tenure.cli.session.server_target import ServerTarget, locate_server
from tenure.cli.terminal import make_stderr_console, print_json, print_line, print_note, print_status, print_table
from tenure.contracts.knowledge.archive import RunDescription
from tenure.contracts.research.report import RunState
from tenure.contracts.result.batch import BatchReport
from tenure.contracts.result.result import Result
from tenure.installation import PROGRAM
from tenure.report.layout.program import set_attempts, to_attempt_records
from tenure.report.render.markdown import write_markdown
from tenure.report.render.steps import render_steps
from tenure.settings import Settings
from tenure.temporal.converter import make_data_converter
from tenure.temporal.encryption import DecryptionError
from workflows.runtime.search_attributes import MODE, OWNER, PHASE, STATUS

_ENDED_BADLY = {
    WorkflowExecutionStatus.FAILED: "failed",
    WorkflowExecutionStatus.TERMINATED: "terminated",
    WorkflowExecutionStatus.TIMED_OUT: "timed out",
    WorkflowExecutionStatus.CANCELED: "cancelled",
}
"""Ends that a workflow cannot write to its own search attributes."""

_MAX_QUERIED_IDS = 100
"""Ids in one query of the server."""

_BY_THE_SERVER = {"failed": "Failed", "terminated": "Terminated", "cancelled": "Canceled"}
"""The same ends in the server's query language."""


def watch(arguments: Namespace, settings: Settings) -> int:
    """Run `watch`."""
    check_run(arguments.id)
    check_delivery(arguments)
    return asyncio.run(_watch(arguments, locate_server(settings)))


def report(arguments: Namespace, settings: Settings) -> int:
    """Run `report`."""
    check_run(arguments.id)
    check_delivery(arguments)
    if arguments.open:
        check_opening(arguments)
    return asyncio.run(_report(arguments, locate_server(settings)))


def state(arguments: Namespace, settings: Settings) -> int:
    """Run `state`."""
    check_run(arguments.id)
    return asyncio.run(_state(arguments, locate_server(settings)))


def list_runs(arguments: Namespace, settings: Settings) -> int:
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
            raise UsageError(f"a batch has no page: open the report of one of its runs, which `{PROGRAM} list` shows")
        return await batches.show_batch(arguments, place, record)
    if record.is_running:
        raise CommandError(
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
    for block in set_attempts(to_attempt_records(found.attempts)):
        print_line(f"\n{write_markdown([block])}")
    if progress.error:
        print_line(f"error: {truncate_line(progress.error, 300)}")
    return 0


async def read_state(place: ServerTarget, run_id: str, client: Client | None = None) -> RunState:
    """Return the state of a run as the run itself reports it.

    Raises:
        CommandError: it is archived, or no worker of its version answers.
        MissingRun: there is no such run, which is reported immediately, even without a worker.
    """
    record = await open_run(place, run_id, client)
    if record.is_archived:
        raise CommandError(
            f"run {run_id} is archived, and only its histories remain: `{PROGRAM} trace {run_id}` shows what happened"
        )
    handle = _handle(client or await open_session(place), run_id)
    with explain_refusals(run_id), explain_ended_query(run_id, is_running=record.is_running):
        found: RunState = await handle.query("state", result_type=RunState, rpc_timeout=QUERY_TIMEOUT)
    return found


async def _list(arguments: Namespace, place: ServerTarget) -> int:
    """Print the latest runs."""
    rows = await collect_runs(arguments, place)
    if arguments.json:
        urls = ["" if row["archived"] else place.build_run_link(row["id"]) for row in rows]
        print_json([row | {"archived": bool(row["archived"]), "url": url} for row, url in zip(rows, urls, strict=True)])
    elif rows:
        print_table(_build_table(rows))
    else:
        print_note(_print_empty(arguments))
    return 0


async def collect_runs(arguments: Namespace, place: ServerTarget) -> list[dict[str, str]]:
    """Return the latest runs of the server, and those of the archive that the server does not have.

    Raises:
        Unreachable: the server does not answer, and no run is archived.
    """
    archive = asyncio.create_task(_list_archived(arguments, place.settings))
    try:
        client = await open_session(place)
    except Unreachable as error:
        archived = await archive
        if not archived:
            raise
        print_note(f"only archived runs are listed: {error}")
        return [await _describe_archived(run, make_data_converter(place.settings)) for run in archived]
    if arguments.owner:
        await register_search_attributes(client, place)  # an older stack may not know it yet
    with explain_refusals("list"):
        rows = [
            await _describe_run(execution)
            async for execution in client.list_workflows(_build_query(arguments), limit=arguments.limit)
        ]
        present = {row["id"] for row in rows}
        missing = [run for run in await archive if run.id not in present]
        present |= await _list_present(client, [run.id for run in missing])
    archived_rows = [await _describe_archived(run, client.data_converter) for run in missing if run.id not in present]
    if not archived_rows:
        return rows
    return sorted((*rows, *archived_rows), key=lambda row: row["started"], reverse=True)[: arguments.limit]


async def _list_archived(arguments: Namespace, settings: Settings) -> list[RunDescription]:
    """Return the latest archived runs that the arguments ask for, each id once; none if they cannot be read."""
    if not may_have_archive(settings):
        return []
    try:
        found = await read_archive(lambda: _read_archived(arguments, settings), settings)
    except CommandError as error:
        print_note(f"no archived runs are listed: {error}")
        return []
    return list({run.id: run for run in reversed(found)}.values())[::-1][: arguments.limit]


def _read_archived(arguments: Namespace, settings: Settings) -> list[RunDescription]:
    # Imported when needed: the database takes a second.
    from tenure.temporal.archive.access import list_archived_runs

    with explain_archive_errors():
        return list_archived_runs(settings, AGENT_WORKFLOW, arguments.owner or "", arguments.status or "")


async def _list_present(client: Client, ids: Sequence[str]) -> set[str]:
    """Return the ids of those runs that the server lists."""
    present: set[str] = set()
    for at in range(0, len(ids), _MAX_QUERIED_IDS):
        names = ", ".join(map(_quote, ids[at : at + _MAX_QUERIED_IDS]))
        query = f"WorkflowType = '{AGENT_WORKFLOW}' AND WorkflowId IN ({names})"
        present |= {execution.id async for execution in client.list_workflows(query)}
    return present


async def _describe_archived(run: RunDescription, converter: DataConverter) -> dict[str, str]:
    """Return an archived run; its question is empty if it is encrypted for another owner."""
    try:
        (question,) = await converter.decode([Payload.FromString(run.question)], [str]) if run.question else [""]
    except DecryptionError:
        question = ""
    return {
        "id": run.id,
        "status": run.status,
        "phase": run.phase,
        "mode": run.mode,
        "owner": run.owner,
        "started": datetime.fromisoformat(run.started_at).isoformat(timespec="seconds"),
        "archived": "yes",
        "question": question,
    }


def _print_empty(arguments: Namespace) -> str:
    """Print that there is nothing to list."""
    if arguments.owner or arguments.status:
        return f"no run matches: `{PROGRAM} list` shows all runs"
    return f'there are no runs yet: `{PROGRAM} start "QUESTION"` starts one'


def _build_query(arguments: Namespace) -> str:
    """Return the query for the requested runs."""
    conditions = [f"WorkflowType = '{AGENT_WORKFLOW}'"]
    if arguments.owner:
        conditions.append(f"{OWNER.name} = {_quote(arguments.owner)}")
    if arguments.status:
        conditions.append(f"({_build_status_condition(arguments.status)})")
    return " AND ".join(conditions)


def _quote(text: str) -> str:
    """Return a text as a literal of the query language."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _build_status_condition(status: str) -> str:
    """Return the condition for a status; the server's status takes precedence over the run's search attribute."""
    own = f"({STATUS.name} = '{status}' AND ExecutionStatus IN ('Running', 'Completed'))"
    return f"{own} OR ExecutionStatus = '{_BY_THE_SERVER[status]}'" if status in _BY_THE_SERVER else own


async def _describe_run(execution: WorkflowExecution) -> dict[str, str]:
    """Return a run as the visibility store knows it."""
    status = _ENDED_BADLY.get(execution.status) if execution.status else None
    return {
        "id": execution.id,
        "status": status or _read_attribute(execution, STATUS) or "running",
        "phase": _read_attribute(execution, PHASE),
        "mode": _read_attribute(execution, MODE),
        "owner": _read_attribute(execution, OWNER),
        "started": execution.start_time.isoformat(timespec="seconds"),
        "archived": "",
        "question": await _read_question(execution),
    }


async def _read_question(execution: WorkflowExecution) -> str:
    """Return the question of a run; empty if it is encrypted for another owner."""
    try:
        return str(await execution.memo_value("question", "", type_hint=str))
    except DecryptionError:
        return ""


def _read_attribute(execution: WorkflowExecution, key: SearchAttributeKey[str]) -> str:
    """Return a search attribute, empty if the run has none."""
    return execution.typed_search_attributes.get(key) or ""


def _build_table(rows: list[dict[str, str]]) -> Table:
    """Return runs as a table; owners and archived runs are marked if there are any."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    optional = [name for name in ("owner", "archived") if any(row[name] for row in rows)]
    headings = ["id", "status", "phase", "mode", *optional, "started"]
    for heading in headings:
        table.add_column(heading, no_wrap=True)
    table.add_column("question", ratio=1, overflow="ellipsis", no_wrap=True)
    for row in rows:
        table.add_row(*(truncate_line(row[key], 200) for key in (*headings, "question")))
    return table
