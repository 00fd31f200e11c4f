"""`watch`, `list`, `state` and `report`: looking at runs, the finished ones too."""

import asyncio
from argparse import Namespace
from typing import Any

from rich.table import Table
from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus, WorkflowHandle
from temporalio.common import SearchAttributeKey

from tenure.cli.commands import batches
from tenure.cli.delivery import check_delivery, deliver
from tenure.cli.display import Snapshot, changes, display_for
from tenure.cli.errors import CommandError
from tenure.cli.formatting import one_line
from tenure.cli.run_ids import check_run
from tenure.cli.session.connection import (
    AGENT_WORKFLOW,
    BATCH_WORKFLOW,
    QUERY_TIMEOUT,
    explained,
    open_session,
    register_search_attributes,
)
from tenure.cli.session.follow import follow
from tenure.cli.session.server_target import Place, locate
from tenure.cli.terminal import print_json, print_table, say, stderr_console
from tenure.contracts.research.report import RunState
from tenure.contracts.result.result import Result
from tenure.report.render.escaping import visible
from tenure.report.render.program import attempt_lines, told
from tenure.report.render.steps import step_lines
from tenure.settings import Settings
from workflows.runtime.search_attributes import MODE, OWNER, PHASE, STATUS

_ENDED_BADLY = {
    WorkflowExecutionStatus.FAILED: "failed",
    WorkflowExecutionStatus.TERMINATED: "terminated",
    WorkflowExecutionStatus.TIMED_OUT: "timed out",
    WorkflowExecutionStatus.CANCELED: "cancelled",
}
"""Ends that a workflow cannot write into its own search attributes."""

_BY_THE_SERVER = {"failed": "Failed", "terminated": "Terminated", "cancelled": "Canceled"}
"""The same ends, as the query language of the server calls them."""


def watch(arguments: Namespace, settings: Settings) -> int:
    """Run `watch`."""
    check_run(arguments.id)
    check_delivery(arguments)
    return asyncio.run(_watch(arguments, locate(settings)))


def report(arguments: Namespace, settings: Settings) -> int:
    """Run `report`."""
    check_run(arguments.id)
    check_delivery(arguments)
    return asyncio.run(_report(arguments, locate(settings)))


def state(arguments: Namespace, settings: Settings) -> int:
    """Run `state`."""
    check_run(arguments.id)
    return asyncio.run(_state(arguments, locate(settings)))


def list_runs(arguments: Namespace, settings: Settings) -> int:
    """Run `list`."""
    return asyncio.run(_list(arguments, locate(settings)))


def _handle(client: Client, run_id: str) -> WorkflowHandle[Any, Result]:
    """Return the handle of a run."""
    return client.get_workflow_handle(run_id, result_type=Result)


async def _watch(arguments: Namespace, place: Place) -> int:
    """Follow a run to its end and hand its report over."""
    client = await open_session(place)
    handle = _handle(client, arguments.id)
    with explained(arguments.id):
        description = await handle.describe()
    if place.ui:
        say(f"run {arguments.id}, web UI: {place.url(arguments.id)}")
    if description.workflow_type == BATCH_WORKFLOW:
        return await batches.see(arguments, place, client, batches.of_handle(client, arguments.id))
    with display_for(stderr_console()) as display:
        result = await follow(client, place, handle, display)
    return deliver(result, arguments)


async def _report(arguments: Namespace, place: Place) -> int:
    """Hand over the report of a run that is over; the report was asked for, so having it is success."""
    client = await open_session(place)
    handle = _handle(client, arguments.id)
    with explained(arguments.id):
        description = await handle.describe()
        if description.workflow_type == BATCH_WORKFLOW:
            return await batches.show(arguments, batches.of_handle(client, arguments.id))
        if description.status == WorkflowExecutionStatus.RUNNING:
            raise CommandError(
                f"run {arguments.id} is still at work: `python client.py watch {arguments.id}` follows it, "
                f"`python client.py finish {arguments.id}` asks for what there is"
            )
        result = await handle.result()
    deliver(result, arguments)
    return 0


async def _state(arguments: Namespace, place: Place) -> int:
    """Print everything a run says of itself."""
    handle = _handle(await open_session(place), arguments.id)
    with explained(arguments.id):
        await handle.describe()  # an unknown id is answered at once, also while no worker is there
        found: RunState = await handle.query("state", result_type=RunState, rpc_timeout=QUERY_TIMEOUT)
    if arguments.json:
        print_json(found.model_dump(mode="json"))
        return 0
    progress = found.progress
    print(f"{progress.id}: {one_line(progress.question, 160)}")
    corpora = f", corpora {', '.join(found.corpora)}" if found.corpora else ""
    print(f"status {progress.status}, phase {progress.phase}, mode {progress.mode}{corpora}")
    for line in changes(Snapshot(), Snapshot(progress)):
        print(f"  {line}")
    for task in found.tasks:
        print(f"\n“{one_line(task.query, 160)}”, step by step")
        for line in step_lines(task.steps, task.answer):
            print(visible(line))
    for line in attempt_lines(told(found.attempts)):
        print(f"\n{visible(line)}")
    if progress.error:
        print(f"error: {one_line(progress.error, 300)}")
    return 0


async def _list(arguments: Namespace, place: Place) -> int:
    """Print the latest runs."""
    client = await open_session(place)
    if arguments.owner:
        await register_search_attributes(client, place)  # an older stack may not know it yet
    with explained("list"):
        rows = [
            await _row(execution)
            async for execution in client.list_workflows(_wanted(arguments), limit=arguments.limit)
        ]
    if arguments.json:
        print_json([row | {"url": place.url(row["id"])} for row in rows])
    elif rows:
        print_table(_table(rows))
    else:
        say(_none(arguments))
    return 0


def _none(arguments: Namespace) -> str:
    """Say that there is nothing to list."""
    if arguments.owner or arguments.status:
        return "there are no such runs: `python client.py list` shows those of everybody, however they stand"
    return 'there are no runs yet: `python client.py start "QUESTION"` starts one'


def _wanted(arguments: Namespace) -> str:
    """Return the query for the runs that are asked for."""
    conditions = [f"WorkflowType = '{AGENT_WORKFLOW}'"]
    if arguments.owner:
        conditions.append(f"{OWNER.name} = {_quoted(arguments.owner)}")
    if arguments.status:
        conditions.append(f"({_stands(arguments.status)})")
    return " AND ".join(conditions)


def _quoted(text: str) -> str:
    """Return a text as a literal of the query language."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _stands(status: str) -> str:
    """Return the condition for a status as it is listed: an end by the server outweighs what the run said of itself."""
    own = f"({STATUS.name} = '{status}' AND ExecutionStatus IN ('Running', 'Completed'))"
    return f"{own} OR ExecutionStatus = '{_BY_THE_SERVER[status]}'" if status in _BY_THE_SERVER else own


async def _row(execution: WorkflowExecution) -> dict[str, str]:
    """Describe a run by what the visibility store knows of it."""
    status = _ENDED_BADLY.get(execution.status) if execution.status else None
    return {
        "id": execution.id,
        "status": status or _attribute(execution, STATUS) or "running",
        "phase": _attribute(execution, PHASE),
        "mode": _attribute(execution, MODE),
        "owner": _attribute(execution, OWNER),
        "started": execution.start_time.isoformat(timespec="seconds"),
        "question": str(await execution.memo_value("question", "", type_hint=str)),
    }


def _attribute(execution: WorkflowExecution, key: SearchAttributeKey[str]) -> str:
    """Read a search attribute, empty where the run has none."""
    return execution.typed_search_attributes.get(key) or ""


def _table(rows: list[dict[str, str]]) -> Table:
    """Set runs as a table; owners are shown where there are any."""
    table = Table(box=None, padding=(0, 1), header_style="bold")
    headings = ["id", "status", "phase", "mode", *(["owner"] if any(row["owner"] for row in rows) else []), "started"]
    for heading in headings:
        table.add_column(heading, no_wrap=True)
    table.add_column("question", ratio=1, overflow="ellipsis", no_wrap=True)
    for row in rows:
        table.add_row(*(one_line(row[key], 200) for key in (*headings, "question")))
    return table
