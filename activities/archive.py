"""Archive finished runs, so that their reports outlive their histories on the Temporal server."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Protocol

from temporalio import activity
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from activities.errors import translate_errors
from activities.heartbeat import send_heartbeats
from tenure.contracts.knowledge.archive import ArchiveReport, ArchiveRequest
from tenure.contracts.knowledge.maintenance import UpkeepProgress

SERVER_UNAVAILABLE = "ServerUnavailable"
"""The Temporal server does not answer a request of an activity; the activity is retried."""


class Archiver(Protocol):
    """Writer of the archive; `tenure/temporal/archive/archiver.py` implements it."""

    async def archive_run(self, request: ArchiveRequest) -> int:
        """Archive one run when it has ended; return its size, or 0 if the server has removed it."""

    async def archive_missing(self, since: datetime | None, report: Callable[[UpkeepProgress], None]) -> ArchiveReport:
        """Archive ended runs that the archive lacks: those that ended after a time, or all that the server has."""


class ArchiveActivities:
    """Activities on one archive."""

    def __init__(self, archiver: Archiver) -> None:
        self._archiver = archiver

    @activity.defn
    async def archive_run(self, request: ArchiveRequest) -> int:
        """Archive one run when it has ended; return its compressed size in bytes."""
        with _translate_server_errors(), translate_errors():
            async with send_heartbeats():
                return await self._archiver.archive_run(request)

    @activity.defn
    async def archive_missing_runs(self, since: datetime | None) -> ArchiveReport:
        """Archive ended runs that the archive lacks; the heartbeat's details are an `UpkeepProgress`."""
        progress = UpkeepProgress()

        def update(latest: UpkeepProgress) -> None:
            nonlocal progress
            progress = latest

        with _translate_server_errors(), translate_errors():
            async with send_heartbeats(lambda: (progress,)):
                return await self._archiver.archive_missing(since, update)


@contextmanager
def _translate_server_errors() -> Iterator[None]:
    try:
        yield
    except RPCError as error:
        raise ApplicationError(f"the Temporal server refuses: {error.message}", type=SERVER_UNAVAILABLE) from error
