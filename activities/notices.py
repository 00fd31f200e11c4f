"""Notice activities: a request and a command that tell people outside of a run; each is retried by itself."""

from collections.abc import Iterator
from contextlib import contextmanager

from temporalio import activity
from temporalio.exceptions import ApplicationError

from tenure.contracts.run.notifications import Notice
from tenure.notifications import NoticeError, NoticeRefused, Notifier

NOTICE_NOT_DELIVERED = "NoticeNotDelivered"
"""People outside were not told."""


class NoticeActivities:
    """Telling people outside, in the ways of one worker's settings."""

    def __init__(self, notifier: Notifier) -> None:
        """Tell by `notifier`."""
        self._notifier = notifier

    @activity.defn
    async def post_notice(self, notice: Notice) -> None:
        """Send a notice to the address of the settings."""
        with _translated():
            await self._notifier.post(notice)

    @activity.defn
    async def run_notice_command(self, notice: Notice) -> None:
        """Run the command of the settings with a notice."""
        with _translated():
            await self._notifier.execute(notice)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except NoticeError as error:
        refused = isinstance(error, NoticeRefused)
        raise ApplicationError(str(error), type=NOTICE_NOT_DELIVERED, non_retryable=refused) from None
