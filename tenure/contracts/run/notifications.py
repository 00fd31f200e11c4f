"""Notifications that a run waits for a person or has ended."""

from typing import Literal

from tenure.contracts.base import Contract, RunId

NotificationEvent = Literal["waiting", "finished", "failed"]
"""Event that is notified."""


class Notification(Contract):
    """A notification; it contains no text of a report."""

    delivery: str
    """Idempotency key: equal for all delivery attempts of one notification and unique otherwise."""
    id: RunId
    event: NotificationEvent
    status: str
    question: str
    at: str
    """Time of the event, ISO 8601 in UTC."""
    ui_url_prefix: str = ""
    """URL of the run's page up to the run id."""
