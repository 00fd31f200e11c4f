"""Open runs for reading: on the server, or in the archive if the server has removed them or does not answer.

The archive is read from the knowledge base without a worker, so finished runs are shown while the stack is down.
"""

import asyncio
import builtins
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from temporalio.api.common.v1 import Priority as RecordedPriority
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError
from temporalio.common import Priority
from temporalio.converter import DataConverter
from temporalio.exceptions import CancelledError, TerminatedError, TimeoutError, TimeoutType
from temporalio.service import RPCError, RPCStatusCode

from tenure.runs.errors import TenureError, Unreachable
from tenure.runs.formatting import truncate_line
from tenure.runs.session.connection import describe_missing_run, describe_refusal, explain_refusals, open_session
from tenure.runs.session.server_target import ServerTarget
from tenure.settings.home import ConnectionSettings, HomeSettings
from tenure.temporal.converter import make_data_converter
from tenure.temporal.encryption import DecryptionError
from tenure.temporal.histories import HistorySource, ServerHistories, UnknownHistory

if TYPE_CHECKING:
    from tenure.temporal.archive.access import FoundRun

T = TypeVar("T")

ARCHIVE_TIMEOUT_SECONDS = 20.0
"""Time that the archive may take to answer; in an object store every request takes a part of it."""

ARCHIVE_FOLDER = "runs.lance"
"""Folder of the archive in a local knowledge base."""


@dataclass(frozen=True)
class RunRecord:
    """A run that can be read."""

    id: str
    """Workflow id."""
    workflow_type: str
    """Workflow type."""
    is_running: bool
    """Whether it has not ended."""
    is_completed: bool
    """Whether it has a result."""
    priority: Priority
    """Priority and fairness key."""
    source: HistorySource
    """Its histories."""
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
            event = await self.source.fetch_last_event(self.id)
            if event.event_type != EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
                raise WorkflowFailureError(cause=await _decode_cause(event, self.source.converter))
            payloads = event.workflow_execution_completed_event_attributes.result.payloads
            with self.explain_damage():
                (result,) = await self.source.converter.decode(payloads, [kind])
        found: T = result
        return found

    @contextmanager
    def explain_damage(self) -> Iterator[None]:
        """Turn errors about values that a history should not contain into a one-line error.

        An archived history may come from a file of a stranger.
        """
        try:
            yield
        except DecryptionError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise TenureError(
                f"run {self.id} cannot be read: its history is damaged, or of another version "
                f"({truncate_line(f'{type(error).__name__}: {error}', 150)})"
            ) from error


class LazyArchive:
    """Histories of an archived run, which is read at the first request."""

    def __init__(self, settings: ConnectionSettings, run_id: str) -> None:
        self._settings, self._run_id = settings, run_id
        self._converter = make_data_converter(settings)
        self._found: asyncio.Task[FoundRun | None] | None = None

    @property
    def converter(self) -> DataConverter:
        """Data converter that decodes the payloads."""
        return self._converter

    async def load(self) -> "FoundRun | None":
        """Return the run, or None if the archive does not have it.

        Raises:
            TenureError: the archive cannot be read.
            Unreachable: it does not answer.
        """
        if self._found is None:
            self._found = asyncio.create_task(read_archive(self._read, self._settings))
        return await self._found

    async def fetch_events(self, workflow_id: str, execution: str | None = None) -> Sequence[HistoryEvent]:
        """Return all events of an execution."""
        return await (await self._open(workflow_id)).fetch_events(workflow_id, execution)

    async def fetch_first_event(self, workflow_id: str, execution: str | None = None) -> HistoryEvent:
        """Return the event that starts an execution."""
        return await (await self._open(workflow_id)).fetch_first_event(workflow_id, execution)

    async def fetch_last_event(self, workflow_id: str, execution: str | None = None) -> HistoryEvent:
        """Return the event that ends an execution."""
        return await (await self._open(workflow_id)).fetch_last_event(workflow_id, execution)

    async def _open(self, workflow_id: str) -> HistorySource:
        found = await self.load()
        if found is None:
            raise UnknownHistory(workflow_id)
        return found.histories

    def _read(self) -> "FoundRun | None":
        if not may_have_archive(self._settings):
            return None
        # Imported when needed: the database takes a second.
        from tenure.temporal.archive.access import find_archived_run

        with explain_archive_errors():
            return find_archived_run(self._settings, self._run_id, self._converter)


async def open_run(place: ServerTarget, run_id: str, client: Client | None = None) -> RunRecord:
    """Open a run by its id, over an existing connection if there is one.

    Raises:
        InvalidRequest: neither the server nor the archive has the run.
        Unreachable: the server does not answer, and the archive does not have the run.
    """
    record = await find_run(place, run_id, client)
    if record is None:
        raise describe_missing_run(run_id)
    return record


async def find_run(place: ServerTarget, run_id: str, client: Client | None = None) -> RunRecord | None:
    """Open a run by its id, or return None if neither the server nor the archive has it.

    Raises:
        Unreachable: the server does not answer, and the archive does not have the run.
    """
    archive = LazyArchive(place.settings, run_id)
    unreachable: TenureError | None = None
    try:
        client = client or await open_session(place)
        return await _open_on_server(client, run_id, archive)
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND or "amespace" in error.message:
            unreachable = describe_refusal(error, run_id)
    except Unreachable as error:
        unreachable = error
    if unreachable is not None and not isinstance(unreachable, Unreachable):
        raise unreachable
    found = await archive.load()
    if found is not None:
        return await _open_in_archive(run_id, found)
    if unreachable is not None:
        raise unreachable
    return None


async def _open_on_server(client: Client, run_id: str, archive: LazyArchive) -> RunRecord:
    described = await client.get_workflow_handle(run_id).describe()
    return RunRecord(
        id=run_id,
        workflow_type=described.workflow_type,
        is_running=described.status == WorkflowExecutionStatus.RUNNING,
        is_completed=described.status == WorkflowExecutionStatus.COMPLETED,
        priority=_read_priority(described.raw_description.workflow_execution_info.priority),
        source=ServerHistories(client, archive),
        started=described.start_time,
        ended=described.close_time,
    )


async def _open_in_archive(run_id: str, found: "FoundRun") -> RunRecord:
    first, last = (await found.histories.fetch_events(run_id))[0], await found.histories.fetch_last_event(run_id)
    return RunRecord(
        id=run_id,
        workflow_type=found.description.type,
        is_running=False,
        is_completed=last.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
        priority=_read_priority(first.workflow_execution_started_event_attributes.priority),
        source=found.histories,
        started=first.event_time.ToDatetime(UTC),
        ended=last.event_time.ToDatetime(UTC),
        is_archived=True,
    )


def _read_priority(recorded: RecordedPriority) -> Priority:
    return Priority(priority_key=recorded.priority_key or None, fairness_key=recorded.fairness_key or None)


async def _decode_cause(event: HistoryEvent, converter: DataConverter) -> BaseException:
    """Return the cause of a workflow's end without a result."""
    if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
        return await converter.decode_failure(event.workflow_execution_failed_event_attributes.failure)
    if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
        return CancelledError("Workflow cancelled")
    if event.event_type == EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
        reason = event.workflow_execution_terminated_event_attributes.reason
        return TerminatedError(reason or "Workflow terminated")
    return TimeoutError("Workflow timed out", type=TimeoutType.START_TO_CLOSE, last_heartbeat_details=[])


async def read_archive(read: Callable[[], T], settings: HomeSettings) -> T:
    """Return the result of a function that reads from the archive.

    It runs in a thread that the end of the command does not wait for, since an object store may not answer for minutes.

    Raises:
        Unreachable: it does not answer.
    """
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(read())
        except Exception as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name="archive").start()
    try:
        return await asyncio.wait_for(asyncio.wrap_future(future), ARCHIVE_TIMEOUT_SECONDS)
    except builtins.TimeoutError as error:
        raise Unreachable(
            f"the archive at {settings.knowledge_uri} does not answer: check TENURE_LANCEDB_URI and the network"
        ) from error


def may_have_archive(settings: HomeSettings) -> bool:
    """Return whether runs may be archived: False only if the folder of the archive does not exist."""
    return "://" in settings.knowledge_uri or Path(settings.knowledge_uri, ARCHIVE_FOLDER).is_dir()


@contextmanager
def explain_archive_errors() -> Iterator[None]:
    """Turn errors of the archive into one-line errors."""
    from tenure.temporal.archive.access import ArchiveUnreadable

    try:
        yield
    except ArchiveUnreadable as error:
        raise TenureError(str(error)) from error
