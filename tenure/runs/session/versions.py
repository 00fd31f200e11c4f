"""Ask the server which versions of the code are in use, and let new runs or a running one use the installed one."""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Literal

from google.protobuf.field_mask_pb2 import FieldMask
from pydantic import BaseModel, ConfigDict
from temporalio.api.enums.v1 import WorkflowExecutionStatus
from temporalio.api.workflow.v1 import WorkflowExecutionOptions
from temporalio.api.workflowservice.v1 import UpdateWorkflowExecutionOptionsRequest
from temporalio.client import Client
from temporalio.common import PinnedVersioningOverride, WorkerDeploymentVersion
from temporalio.service import RPCError

from tenure.installation import PROGRAM
from tenure.runs.errors import TenureError
from tenure.runs.session.run_tree import describe_run_tree
from tenure.settings.home import ConnectionSettings, StackSettings
from tenure.temporal import connection
from tenure.temporal.deployment import (
    DEPLOYMENT_NAME,
    EARLIER_STATUSES,
    VersioningRefused,
    count_running_workflows,
    describe_deployment,
    describe_workflow_queue,
    make_current,
    read_current_build_id,
    read_states,
)
from tenure.temporal.stack import local, processes
from tenure.temporal.stack.errors import StackError
from tenure.temporal.stack.local import StackStatus
from tenure.temporal.stack.source import get_build_id
from tenure.temporal.stack.versions import VersionState
from workflows.runtime.task_queues import ALL_QUEUES, SANDBOX_QUEUE, TENURE_QUEUE

VERSION_TIMEOUT_SECONDS = 120.0
"""Time that a command waits until new runs use the installed code."""

_QUEUES = [queue for queue in ALL_QUEUES if queue != SANDBOX_QUEUE]
"""Queues that every worker of this home serves; a worker without a usable sandbox runs no programs."""


MAX_POLL_AGE = timedelta(seconds=90)
"""Maximum age of a worker's last poll: polls last a minute, and the server lists ended workers for longer."""

VersionStatus = Literal["new", "current", "earlier"]
"""Whether new runs use a version, will use it, or used it before."""


class CodeVersion(BaseModel):
    """Version of the code that workers have run."""

    model_config = ConfigDict(frozen=True)

    build_id: str
    status: VersionStatus
    running_workflows: int
    """Workflows that finish under this version; a run consists of several."""
    workers: int
    """Workers of this version that poll for workflows."""


async def list_code_versions(client: Client) -> list[CodeVersion]:
    """Return the versions that the server knows, the newest first.

    Raises:
        TenureError: the server refuses the question.
    """
    with _explain_refusals():
        deployment = await describe_deployment(client)
        if deployment is None:
            return []
        current = deployment.routing_config.current_deployment_version.build_id
        workers = await count_polling_workers(client)
        versions = []
        newest_first = sorted(deployment.version_summaries, key=lambda v: v.create_time.ToDatetime(), reverse=True)
        for summary in newest_first:
            build_id = summary.deployment_version.build_id
            status: VersionStatus = "earlier" if summary.status in EARLIER_STATUSES else "new"
            versions.append(
                CodeVersion(
                    build_id=build_id,
                    status="current" if build_id == current else status,
                    running_workflows=await count_running_workflows(client, build_id),
                    workers=workers[build_id],
                )
            )
        return versions


async def make_installed_version_current(client: Client) -> None:
    """Set the version of this installation for new runs, as soon as its workers poll.

    Raises:
        TenureError: they do not poll in time, or the server refuses.
    """
    build_id = get_build_id()
    try:
        with _explain_refusals():
            await asyncio.wait_for(make_current(client, build_id, [TENURE_QUEUE]), VERSION_TIMEOUT_SECONDS)
    except TimeoutError as error:
        raise TenureError(
            f"workers of version {build_id} do not poll all task queues of the current version after "
            f"{VERSION_TIMEOUT_SECONDS:.0f} s: start them with --versioned"
        ) from error


async def move_run(client: Client, run_id: str) -> int:
    """Move a run and its open descendants to the version of this installation, and return their number.

    Each history is replayed first by the installed code; if one does not fit, nothing is moved.

    Raises:
        TenureError: the run has ended or does not fit, or new runs use another version than the installed one.
    """
    # Imports the workflows, which no other command needs.
    from workflows.plugin import create_replayer

    build_id = get_build_id()
    with _explain_refusals():
        current = await read_current_build_id(client)
        if current != build_id:
            raise TenureError(
                f"this installation has version {build_id}, and new runs use {current or 'workers without a version'}: "
                f"start its workers with `{PROGRAM} up`, or run `{PROGRAM} versions --make-current`"
            )
        tree = [member.workflow_execution_info async for member in describe_run_tree(client, run_id, sys.maxsize)]
        if not tree or tree[0].status != WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING:
            raise TenureError(f"no run {run_id} is running: `{PROGRAM} list --status running` shows those that are")
        moving = [member.execution for member in tree if member.versioning_info.deployment_version.build_id != build_id]
        replayer = create_replayer(client.data_converter)
        for execution in moving:
            handle = client.get_workflow_handle(execution.workflow_id, run_id=execution.run_id)
            replayed = await replayer.replay_workflow(await handle.fetch_history(), raise_on_replay_failure=False)
            if replayed.replay_failure:
                raise TenureError(
                    f"the history of {execution.workflow_id} does not fit version {build_id} "
                    f"({' '.join(str(replayed.replay_failure).split())[:200]}): the run stays with its version"
                )
        override = PinnedVersioningOverride(WorkerDeploymentVersion(DEPLOYMENT_NAME, build_id))
        for execution in moving:
            await client.workflow_service.update_workflow_execution_options(
                UpdateWorkflowExecutionOptionsRequest(
                    namespace=client.namespace,
                    workflow_execution=execution,
                    workflow_execution_options=WorkflowExecutionOptions(versioning_override=override._to_proto()),
                    update_mask=FieldMask(paths=["versioning_override"]),
                    identity=client.identity,
                )
            )
    return len(moving)


async def count_polling_workers(client: Client, since: datetime | None = None) -> Counter[str]:
    """Count the workers that polled the workflow queue since a time, by default recently, by version.

    Raises:
        RPCError: the server does not answer.
    """
    reply = await describe_workflow_queue(client)
    oldest = since or datetime.now(UTC) - MAX_POLL_AGE
    return Counter(
        poller.deployment_options.build_id
        for poller in reply.pollers
        if poller.last_access_time.ToDatetime(UTC) >= oldest
    )


@contextmanager
def _explain_refusals() -> Iterator[None]:
    """Turn the server's refusals into one-line errors."""
    try:
        yield
    except VersioningRefused as error:
        raise TenureError(str(error)) from error
    except RPCError as error:
        raise TenureError(f"the server does not list its versions: {error.message}") from error


async def read_version_states(settings: ConnectionSettings, build_ids: Collection[str]) -> dict[str, VersionState]:
    """Return the states of some versions at the server.

    Raises:
        ServerUnreachable: the server does not answer.
        StackError: the server refuses the question.
    """
    try:
        states = [await read_states(await connection.connect(owner), build_ids) for owner in settings.list_owners()]
    except VersioningRefused as error:
        raise StackError(str(error)) from error
    except RPCError as error:
        raise StackError(
            f"the server does not report which versions have runs ({error.message}): repeat `{PROGRAM} up`"
        ) from error
    # A version is needed as long as any owner needs it.
    order = ("in_use", "idle", "drained")
    return {build_id: min((owner[build_id] for owner in states), key=order.index) for build_id in build_ids}


async def wait_for_version(settings: StackSettings, status: StackStatus) -> None:
    """Wait until new runs use the version of this home's worker, if they use another one now.

    Raises:
        ServerUnreachable: the server does not answer.
        StackError: the worker of the version ended, or does not poll in time.
    """
    client = await connection.connect(settings)
    try:
        if await read_current_build_id(client) in ("", status.build_id):
            # Without an earlier version the server keeps new runs for the worker that is starting.
            return
        # The worker does the same when it starts, unless it was the worker of an earlier version until now.
        change = asyncio.create_task(make_current(client, status.build_id, _QUEUES, complete=True))
        await _wait_for_worker(settings, status, change)
    except VersioningRefused as error:
        raise StackError(str(error)) from error
    except RPCError as error:
        raise StackError(f"the server refuses the version {status.build_id}: {error.message}") from error


async def _wait_for_worker(settings: StackSettings, status: StackStatus, change: asyncio.Task[None]) -> None:
    """Wait for a change that needs the worker to poll."""
    deadline, log = time.monotonic() + VERSION_TIMEOUT_SECONDS, local.get_worker_log(settings.home)
    while not (await asyncio.wait((change,), timeout=0.2))[0]:
        problem = ""
        if local.get_status(settings).worker_pid != status.worker_pid:
            problem = f"its worker ended: {processes.read_last_line(log)}"
        elif time.monotonic() > deadline:
            problem = f"its worker does not poll after {VERSION_TIMEOUT_SECONDS:.0f} s"
        if problem:
            change.cancel()
            raise StackError(f"new runs would use the earlier code, since {problem} (see {log})")
    await change
