"""Commands `export`, `import` and `delete`: move finished runs between homes as files, and delete them."""

import asyncio
import re
import time
from argparse import Namespace
from pathlib import Path

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from tenure.cli.terminal import check_writable, print_json, print_line, write_file
from tenure.document_roots import make_run_scope
from tenure.installation import PROGRAM
from tenure.runs.errors import TenureError, Unreachable
from tenure.runs.formatting import format_count
from tenure.runs.paths import end_reading
from tenure.runs.run_ids import check_run
from tenure.runs.session.connection import describe_missing_run, explain_refusals, open_session
from tenure.runs.session.run_records import explain_archive_errors, find_run
from tenure.runs.session.server_target import ServerTarget, locate_server
from tenure.settings import ClientSettings
from tenure.settings.home import HomeSettings
from tenure.temporal.archive.access import delete_archived_runs, export_runs, import_runs
from tenure.temporal.archive.archiver import collect_run
from tenure.temporal.archive.container import encode_run

DELETION_TIMEOUT_SECONDS = 90.0
"""Time that the server has to delete histories, which it does in the background."""


def export_run(arguments: Namespace, settings: ClientSettings) -> int:
    """Run `export`."""
    check_run(arguments.id)
    target = arguments.file or Path(re.sub(r"[^A-Za-z0-9._~-]+", "-", arguments.id).strip(".") + ".tenure")
    check_writable(target)
    with explain_archive_errors():
        archive = export_runs(settings, arguments.id)
        if archive is None:
            archive = asyncio.run(_export_from_server(arguments.id, locate_server(settings)))
    write_file(target, archive, private=True)
    if arguments.json:
        print_json({"id": arguments.id, "file": str(target), "bytes": len(archive)})
    else:
        print_line(f"run {arguments.id} exported to {target}: {len(archive) / 1e6:,.2f} MB")
    return 0


def import_file(arguments: Namespace, settings: HomeSettings) -> int:
    """Run `import`."""
    with explain_archive_errors():
        runs = import_runs(settings, arguments.file, check_run)
    names = list(dict.fromkeys(run.id for run in runs))
    if arguments.json:
        print_json({"file": str(arguments.file), "runs": names})
    else:
        print_line(f"{format_count(len(names), 'run')} imported from {arguments.file}: {', '.join(names[:5])}")
    return 0


def delete_run(arguments: Namespace, settings: ClientSettings) -> int:
    """Run `delete`."""
    check_run(arguments.id)
    with explain_archive_errors():
        deleted = asyncio.run(_delete_on_server(arguments.id, locate_server(settings)))
        deleted |= set(delete_archived_runs(settings, arguments.id))
        end_reading(settings, make_run_scope(arguments.id))
    if not deleted:
        raise describe_missing_run(arguments.id)
    if arguments.json:
        print_json({"id": arguments.id, "workflows": sorted(deleted)})
    else:
        print_line(f"run {arguments.id} deleted, with its follow-up questions; its corpora and memories remain")
    return 0


async def _export_from_server(run_id: str, place: ServerTarget) -> bytes:
    """Return the archive of an ended run that is not archived yet.

    Raises:
        TenureError: it is still running.
    """
    record = await find_run(place, run_id)
    if record is None:
        raise describe_missing_run(run_id)
    if record.is_running:
        raise TenureError(f"run {run_id} is still running and can be exported at its end: `{PROGRAM} watch {run_id}`")
    client = await open_session(place)
    with explain_refusals(run_id):
        described = await client.get_workflow_handle(run_id).describe()
        return encode_run(await collect_run(client, run_id, described.run_id))


async def _delete_on_server(run_id: str, place: ServerTarget) -> set[str]:
    """Delete the histories of a run and of its children on the server, and return their workflow ids.

    Raises:
        TenureError: it is still running.
        Unreachable: the server does not answer, so that the run would be archived again.
    """
    client = await open_session(place)
    with explain_refusals(run_id):
        found = [(found.id, found.run_id) async for found in client.list_workflows(_build_query(run_id))]
        if await _is_running(client, run_id):
            raise TenureError(f"run {run_id} is still running: `{PROGRAM} cancel {run_id} --discard` ends it first")
        for id, run in found:
            await _request_deletion(client, id, run)
        waiting, until = list(found), time.monotonic() + DELETION_TIMEOUT_SECONDS
        while waiting := [one for one in waiting if await _exists(client, *one)]:
            if time.monotonic() > until:
                raise Unreachable(f"the server is still deleting {run_id}: run the command again in a minute")
            await asyncio.sleep(0.5)
    return {id for id, _ in found}


def _build_query(run_id: str) -> str:
    name = run_id.replace("\\", "\\\\").replace("'", "\\'")
    return f"WorkflowId = '{name}' OR WorkflowId STARTS_WITH '{name}/'"


async def _request_deletion(client: Client, workflow_id: str, execution: str) -> None:
    named = WorkflowExecution(workflow_id=workflow_id, run_id=execution)
    request = DeleteWorkflowExecutionRequest(namespace=client.namespace, workflow_execution=named)
    try:
        await client.workflow_service.delete_workflow_execution(request)
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise


async def _is_running(client: Client, run_id: str) -> bool:
    """Return whether a run, or a follow-up question to it, is running; workflows that outlive a run do not count."""
    names = {run_id, f"{run_id}/ask"}
    query = f"({_build_query(run_id)}) AND ExecutionStatus = 'Running'"
    return not names.isdisjoint([found.id async for found in client.list_workflows(query)])


async def _exists(client: Client, workflow_id: str, execution: str) -> bool:
    try:
        await client.get_workflow_handle(workflow_id, run_id=execution).describe()
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
        return False
    return True
