"""Notify people that a run waits for them or has ended.

A run starts this workflow for each notification and continues: a receiver that is unavailable for hours does not
delay the report, and an unreachable receiver fails only its own notification.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from temporalio import workflow

from workflows.runtime.activity_options import execute_activity
from workflows.runtime.optional_step import run_optional_step

with workflow.unsafe.imports_passed_through():
    from activities.notifications import NotificationActivities
    from tenure.contracts.base import RunId
    from tenure.contracts.run.notifications import Notification, NotificationEvent

_EVENTS: dict[str, NotificationEvent] = {
    "waiting": "waiting",
    **dict.fromkeys(("done", "finished_early", "cancelled", "no_evidence", "failing_tests", "unsupported"), "finished"),
    "failed": "failed",
}
"""Event of each status of a run that people are notified of."""
_MAX_QUESTION_LENGTH = 500
"""Characters of the question in a notification."""


@workflow.defn
class NotifyWorkflow:
    """Workflow that delivers one notification."""

    @workflow.run
    async def run(self, notification: Notification) -> None:
        """Call the webhook and run the command concurrently."""
        outcomes = await asyncio.gather(
            execute_activity(
                NotificationActivities.post_notification, notification, summary=f"{notification.event}: webhook"
            ),
            execute_activity(
                NotificationActivities.run_notification_command, notification, summary=f"{notification.event}: command"
            ),
            return_exceptions=True,
        )
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome


class NotificationSender:
    """Sender of the notifications of one workflow."""

    def __init__(self, ui_url_prefix: str | None, question: str) -> None:
        """Send notifications about a question, with the URL of its page; none if the URL is None."""
        self._ui_url_prefix, self._question = ui_url_prefix, question
        self._status = ""
        self._last: tuple[NotificationEvent, str] | None = None
        self._tasks: list[asyncio.Task[Any]] = []

    def update(self, status: str, subject: str = "") -> None:
        """Store a status and send a notification if people are to be notified of it.

        Args:
            status: status of the workflow.
            subject: input that it waits for; people are notified of each input once, even if the workflow is paused
                meanwhile.
        """
        self._status = status
        event = _EVENTS.get(status)
        if self._ui_url_prefix is not None and event and (event, subject) != self._last:
            self._last = event, subject
            self._tasks.append(asyncio.create_task(self._send(event, self._ui_url_prefix)))

    async def wait_until_started(self, add_note: Callable[[str], object]) -> None:
        """Wait until all notifications have started: the end of the workflow would cancel the others."""
        for task in self._tasks:
            await run_optional_step(task, None, "A notification could not be sent", add_note)

    async def _send(self, event: NotificationEvent, ui_url_prefix: str) -> None:
        info, delivery = workflow.info(), str(workflow.uuid4())
        notification = Notification(
            delivery=delivery,
            id=RunId(info.workflow_id),
            event=event,
            status=self._status,
            question=self._question[:_MAX_QUESTION_LENGTH],
            at=workflow.now().isoformat(timespec="seconds"),
            ui_url_prefix=ui_url_prefix,
        )
        await workflow.start_child_workflow(
            NotifyWorkflow.run,
            notification,
            id=f"{info.workflow_id}/notification-{delivery[:8]}",
            parent_close_policy=workflow.ParentClosePolicy.ABANDON,
            static_summary=event,
        )
