"""Move finished runs between homes as files, and delete them."""

import asyncio
import time
from pathlib import Path

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from tenure.document_roots import make_run_scope
from tenure.installation import PROGRAM
from tenure.runs.errors import TenureError, Unreachable
from tenure.runs.paths import end_reading
from tenure.runs.run_ids import check_run
from tenure.runs.session.connection import Session, describe_missing_run, explain_refusals
from tenure.runs.session.run_records import explain_archive_errors, open_run
from tenure.settings.home import HomeSettings
from tenure.temporal.archive.access import delete_archived_runs, export_runs, import_runs
from tenure.temporal.archive.archiver import collect_run
from tenure.temporal.archive.container import encode_run

DELETION_TIMEOUT_SECONDS = 90.0
"""Time that the server has to delete histories, which it does in the background."""


async def export_run(session: Session, run_id: str) -> bytes:
    """Return the archive of a finished run as the content of a file.

    Raises:
        TenureError: it is still running, or the archive cannot be read.
    """
    with explain_archive_errors():
        if (archived := export_runs(session.settings, run_id)) is not None:
            return archived
        if (await open_run(session, run_id)).is_running:
            raise TenureError(
                f"run {run_id} is still running and can be exported at its end: `{PROGRAM} watch {run_id}`"
            )
        client = await session.connect()
        with explain_refusals(run_id):
            described = await client.get_workflow_handle(run_id).describe()
            return encode_run(await collect_run(client, run_id, described.run_id))


def import_file(settings: HomeSettings, file: Path) -> list[str]:
    """Add the runs of a file to the archive of a home, and return their ids.

    Raises:
        TenureError: the file is damaged, or has a run whose id another run has.
    """
    with explain_archive_errors():
        return list(dict.fromkeys(run.id for run in import_runs(settings, file, check_run)))


async def delete_run(session: Session, run_id: str) -> list[str]:
    """Delete a finished run from server and archive, and return the ids of its workflows.

    Raises:
        MissingRun: there is no such run.
        TenureError: it is still running.
    """
    with explain_archive_errors():
        deleted = await _delete_on_server(session, run_id)
        deleted |= set(await asyncio.to_thread(delete_archived_runs, session.settings, run_id))
        end_reading(session.settings, make_run_scope(run_id))
    if not deleted:
        raise describe_missing_run(run_id)
    return sorted(deleted)


async def _delete_on_server(session: Session, run_id: str) -> set[str]:
    """Delete the histories of a run and of its children on the server, and return their workflow ids.

    Raises:
        TenureError: it is still running.
        Unreachable: the server does not answer, so that the run would be archived again.
    """
    client = await session.connect()
    with explain_refusals(run_id):
        executions = [(item.id, item.run_id) async for item in client.list_workflows(_build_query(run_id))]
        if await _is_running(client, run_id):
            raise TenureError(f"run {run_id} is still running: `{PROGRAM} cancel {run_id} --discard` ends it first")
        for id, run in executions:
            await _request_deletion(client, id, run)
        waiting, until = list(executions), time.monotonic() + DELETION_TIMEOUT_SECONDS
        while waiting := [pair for pair in waiting if await _exists(client, *pair)]:
            if time.monotonic() > until:
                raise Unreachable(f"the server is still deleting {run_id}: run the command again in a minute")
            await asyncio.sleep(0.5)
    return {id for id, _ in executions}


def _build_query(run_id: str) -> str:
    name = run_id.replace("\\", "\\\\").replace("'", "\\'")
    return f"WorkflowId = '{name}' OR WorkflowId STARTS_WITH '{name}/'"


async def _request_deletion(client: Client, workflow_id: str, execution: str) -> None:
    target = WorkflowExecution(workflow_id=workflow_id, run_id=execution)
    request = DeleteWorkflowExecutionRequest(namespace=client.namespace, workflow_execution=target)
    try:
        await client.workflow_service.delete_workflow_execution(request)
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise


async def _is_running(client: Client, run_id: str) -> bool:
    """Return whether a run, or a follow-up question to it, is running; workflows that outlive a run do not count."""
    names = {run_id, f"{run_id}/ask"}
    query = f"({_build_query(run_id)}) AND ExecutionStatus = 'Running'"
    return not names.isdisjoint([execution.id async for execution in client.list_workflows(query)])


async def _exists(client: Client, workflow_id: str, execution: str) -> bool:
    try:
        await client.get_workflow_handle(workflow_id, run_id=execution).describe()
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
        return False
    return True
