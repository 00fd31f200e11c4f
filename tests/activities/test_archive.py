"""Test the activities that archive runs."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import ActivityEnvironment

from activities.archive import SERVER_UNAVAILABLE, ArchiveActivities
from tenure.contracts.base import RunId
from tenure.contracts.knowledge.archive import (
    ArchiveReport,
    ArchiveRequest,
)
from tenure.contracts.knowledge.maintenance import UpkeepProgress
from tenure.knowledge.store.errors import StoreUnreachable

REQUEST = ArchiveRequest(run=RunId("run"), execution="e1")
SWEEP = datetime(2026, 11, 24, tzinfo=UTC)


class Archiver:
    """Archives two runs, or fails."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    async def archive_run(self, request: ArchiveRequest) -> int:
        if self._error:
            raise self._error
        return 1

    async def archive_missing(self, since: datetime | None, report: Callable[[UpkeepProgress], None]) -> ArchiveReport:
        if self._error:
            raise self._error
        report(UpkeepProgress(done=1, total=2))
        return ArchiveReport(archived=2, began=since)


async def test_replies_are_those_of_the_archiver() -> None:
    """The activities return what the archiver has done."""
    activities = ArchiveActivities(Archiver())

    assert await ActivityEnvironment().run(activities.archive_run, REQUEST) == 1
    swept = await ActivityEnvironment().run(activities.archive_missing_runs, SWEEP)
    assert swept == ArchiveReport(archived=2, began=SWEEP)


@pytest.mark.parametrize(
    ("error", "type"),
    [
        (RPCError("no answer", RPCStatusCode.UNAVAILABLE, b""), SERVER_UNAVAILABLE),
        (StoreUnreachable("s3://bucket", "no route"), "KnowledgeRefused"),
    ],
)
async def test_errors_of_servers_are_retried(error: Exception, type: str) -> None:
    """A server or an object store that does not answer fails an attempt, and the activity is repeated."""
    activities = ArchiveActivities(Archiver(error))
    for call in (
        lambda: ActivityEnvironment().run(activities.archive_run, REQUEST),
        lambda: ActivityEnvironment().run(activities.archive_missing_runs, SWEEP),
    ):
        with pytest.raises(ApplicationError) as failed:
            await call()
        assert (failed.value.type, failed.value.non_retryable) == (type, False)


async def test_a_run_that_does_not_end_is_waited_for_again() -> None:
    """A timeout is an error that Temporal repeats."""
    with pytest.raises(TimeoutError):
        await ActivityEnvironment().run(ArchiveActivities(Archiver(TimeoutError())).archive_run, REQUEST)
