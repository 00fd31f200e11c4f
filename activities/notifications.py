"""Notify people by a webhook and by a command; each is retried separately."""

from collections.abc import Iterator
from contextlib import contextmanager

from temporalio import activity
from temporalio.exceptions import ApplicationError

from tenure.contracts.run.notifications import Notification
from tenure.notifications import NotificationError, NotificationRejected, Notifier

NOTIFICATION_NOT_DELIVERED = "NoticeNotDelivered"
"""A notification could not be delivered."""


class NotificationActivities:
    """Notifications by the channels of one worker's settings."""

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier

    @activity.defn
    async def post_notification(self, notification: Notification) -> None:
        """Send a notification to the webhook of the settings."""
        with _translate_errors():
            await self._notifier.post_webhook(notification)

    @activity.defn
    async def run_notification_command(self, notification: Notification) -> None:
        """Run the command of the settings with a notification."""
        with _translate_errors():
            await self._notifier.run_command(notification)


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except NotificationError as error:
        refused = isinstance(error, NotificationRejected)
        raise ApplicationError(str(error), type=NOTIFICATION_NOT_DELIVERED, non_retryable=refused) from None
