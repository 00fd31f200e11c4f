"""Open runs for reading: on the server, or in the archive if the server has removed them or does not answer.

The archive is read from the knowledge base without a worker, so finished runs are shown while the stack is down.
"""

import asyncio
import builtins
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from temporalio.api.common.v1 import Payload
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError
from temporalio.common import Priority
from temporalio.exceptions import CancelledError, TerminatedError, TimeoutError, TimeoutType
from temporalio.service import RPCError, RPCStatusCode

from tenure.contracts.run.run import RunRequest
from tenure.runs.errors import InvalidRequest, TenureError, Unreachable
from tenure.runs.formatting import truncate_line
from tenure.runs.session.connection import (
    AGENT_WORKFLOW,
    Session,
    describe_missing_run,
    describe_refusal,
    explain_refusals,
)
from tenure.settings.home import ConnectionSettings, HomeSettings
from tenure.temporal.archive.container import ArchivedRunSource
from tenure.temporal.converter import make_data_converter
from tenure.temporal.encryption import DecryptionError
from tenure.temporal.histories import RunEnd, RunSource, ServerRun

T = TypeVar("T")

ARCHIVE_TIMEOUT_SECONDS = 20.0
"""Time that the archive may take to answer; in an object store every request takes a part of it."""

ARCHIVE_FOLDER, LABELS_FOLDER = "runs.lance", "labels.lance"
"""Folders of the archive, and of the titles and tags of runs, in a local knowledge base."""


@dataclass(frozen=True)
class RunRecord:
    """A run that can be read."""

    id: str
    """Workflow id."""
    workflow_type: str
    is_running: bool
    """Whether it has not ended."""
    is_completed: bool
    """Whether it has a result."""
    priority: Priority
    """Priority and fairness key."""
    source: RunSource
    """Its request, end, checkpoints and story."""
    started: datetime
    """Start time in UTC."""
    ended: datetime | None = None
    """End time in UTC; None for a run that has not ended."""
    is_archived: bool = False
    """Whether only the archive has it."""

    async def read_result(self, kind: type[T]) -> T:
        """Return the result of the run when it has ended.

        Raises:
            TenureError: the run failed, or belongs to another owner.
        """
        with explain_refusals(self.id):
            end = await self.source.fetch_end()
            if end.result is None:
                raise WorkflowFailureError(cause=await self.read_cause(end))
            return await self.decode(end.result, kind)

    async def read_request(self, kind: type[T]) -> T:
        """Return the request of the run."""
        with explain_refusals(self.id):
            return await self.decode(await self.source.fetch_request(), kind)

    async def read_run_request(self) -> RunRequest:
        """Return the request of a run that is one.

        Raises:
            InvalidRequest: the id belongs to another kind of workflow.
        """
        if self.workflow_type != AGENT_WORKFLOW:
            raise InvalidRequest(f"{self.id} is not a run but a {self.workflow_type}: `list` shows all runs")
        return await self.read_request(RunRequest)

    async def decode(self, payload: Payload, kind: type[T]) -> T:
        """Return a value of the run, whose archive may come from a file of a stranger.

        Raises:
            TenureError: it is damaged.
        """
        try:
            (value,) = await self.source.converter.decode([payload], [kind])
        except DecryptionError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise TenureError(
                f"run {self.id} cannot be read: it is damaged, or of another version "
                f"({truncate_line(f'{type(error).__name__}: {error}', 150)})"
            ) from error
        decoded: T = value
        return decoded

    async def read_cause(self, end: RunEnd) -> BaseException:
        """Return the cause of an end without a result."""
        if end.failure is not None:
            return await self.source.converter.decode_failure(end.failure)
        if end.status == "cancelled":
            return CancelledError("Workflow cancelled")
        if end.status == "terminated":
            return TerminatedError(end.reason or "Workflow terminated")
        return TimeoutError("Workflow timed out", type=TimeoutType.START_TO_CLOSE, last_heartbeat_details=[])


async def load_archived(settings: ConnectionSettings, run_id: str) -> RunRecord | None:
    """Return an archived run, or None if the archive does not have it.

    Raises:
        TenureError: the archive cannot be read.
        Unreachable: it does not answer.
    """
    document = await read_archive(settings, lambda archive: archive.find_archived_run(settings, run_id), None)
    if document is None:
        return None
    described = document.description
    return RunRecord(
        id=described.id,
        workflow_type=described.type,
        is_running=False,
        is_completed=document.result is not None,
        priority=_make_priority(document.priority_key, document.fairness_key),
        source=ArchivedRunSource(document, make_data_converter(settings)),
        started=datetime.fromisoformat(described.started_at),
        ended=datetime.fromisoformat(described.closed_at),
        is_archived=True,
    )


async def open_run(session: Session, run_id: str) -> RunRecord:
    """Open a run by its id.

    Raises:
        InvalidRequest: neither the server nor the archive has the run.
        Unreachable: the server does not answer, and the archive does not have the run.
    """
    record = await find_run(session, run_id)
    if record is None:
        raise describe_missing_run(run_id)
    return record


async def find_run(session: Session, run_id: str) -> RunRecord | None:
    """Open a run by its id, or return None if neither the server nor the archive has it.

    Raises:
        Unreachable: the server does not answer, and the archive does not have the run.
    """
    unreachable: TenureError | None = None
    try:
        return await open_on_server(await session.connect(), run_id)
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND or "amespace" in error.message:
            unreachable = describe_refusal(error, run_id)
    except Unreachable as error:
        unreachable = error
    if unreachable is not None and not isinstance(unreachable, Unreachable):
        raise unreachable
    record = await load_archived(session.settings, run_id)
    if record is None and unreachable is not None:
        raise unreachable
    return record


async def open_on_server(client: Client, run_id: str) -> RunRecord:
    """Open a run that the server has.

    Raises:
        RPCError: it has none, or does not answer.
    """
    described = await client.get_workflow_handle(run_id).describe()
    recorded = described.raw_description.workflow_execution_info.priority
    return RunRecord(
        id=run_id,
        workflow_type=described.workflow_type,
        is_running=described.status == WorkflowExecutionStatus.RUNNING,
        is_completed=described.status == WorkflowExecutionStatus.COMPLETED,
        priority=_make_priority(recorded.priority_key, recorded.fairness_key),
        source=ServerRun(client, run_id),
        started=described.start_time,
        ended=described.close_time,
    )


def _make_priority(key: int, owner: str) -> Priority:
    return Priority(priority_key=key or None, fairness_key=owner or None)


async def read_archive(settings: HomeSettings, read: Callable[[Any], T], absent: T, folder: str = ARCHIVE_FOLDER) -> T:
    """Return the value that a function reads by the module `archive.access`; `absent` if there is no such folder.

    It runs in a thread that the end of the command does not wait for, since an object store may not answer for minutes.

    Raises:
        TenureError: the archive cannot be read.
        Unreachable: it does not answer.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            if "://" not in settings.knowledge_uri and not Path(settings.knowledge_uri, folder).is_dir():
                future.set_result(absent)
                return
            # Imported when needed: the database takes a second.
            from tenure.temporal.archive import access

            with explain_archive_errors():
                future.set_result(read(access))
        except OSError as error:
            future.set_exception(
                TenureError(f"the archive at {settings.knowledge_uri} cannot be read: {error.strerror}")
            )
        except Exception as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name="archive").start()
    try:
        return await asyncio.wait_for(asyncio.wrap_future(future), ARCHIVE_TIMEOUT_SECONDS)
    except builtins.TimeoutError as error:
        raise Unreachable(
            f"the archive at {settings.knowledge_uri} does not answer: check TENURE_LANCEDB_URI and the network"
        ) from error


@contextmanager
def explain_archive_errors() -> Iterator[None]:
    """Turn errors of the archive into one-line errors."""
    from tenure.temporal.archive.access import ArchiveUnreadable

    try:
        yield
    except ArchiveUnreadable as error:
        raise TenureError(str(error)) from error
