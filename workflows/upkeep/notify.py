"""NotifyWorkflow: people outside are told of a run, for as long as it takes them to hear.

A run that has something to tell begins one and goes on: a receiver that is away for hours keeps no report back, and
one that is gone for good fails nothing but its own notice.
"""

import asyncio
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy

from workflows.runtime.task_queues import TENURE_QUEUE

with workflow.unsafe.imports_passed_through():
    from activities.notices import NoticeActivities
    from tenure.contracts.run.notifications import Notice, Notices, Occasion

_OCCASIONS: dict[str, Occasion] = {
    "waiting": "waiting",
    **dict.fromkeys(("done", "finished_early", "cancelled", "no_evidence", "failing_tests", "unsupported"), "finished"),
    "failed": "failed",
}
"""Statuses of a run that are worth telling."""
_QUESTION = 500
"""Characters of a question that are told."""


@workflow.defn
class NotifyWorkflow:
    """Delivers a notice."""

    @workflow.run
    async def run(self, notice: Notice) -> None:
        """Send it to the address, and run the command; neither waits for the other."""
        ends = await asyncio.gather(
            workflow.execute_activity_method(
                NoticeActivities.post_notice,
                notice,
                task_queue=TENURE_QUEUE,
                start_to_close_timeout=timedelta(seconds=30),
                schedule_to_close_timeout=timedelta(hours=24),
                retry_policy=RetryPolicy(maximum_interval=timedelta(minutes=10)),
                summary=f"{notice.occasion}: to the address",
            ),
            workflow.execute_activity_method(
                NoticeActivities.run_notice_command,
                notice,
                task_queue=TENURE_QUEUE,
                start_to_close_timeout=timedelta(seconds=90),
                schedule_to_close_timeout=timedelta(hours=24),
                retry_policy=RetryPolicy(maximum_attempts=3),
                summary=f"{notice.occasion}: by the command",
            ),
            return_exceptions=True,
        )
        for end in ends:
            if isinstance(end, BaseException):
                raise end


class Telling:
    """What one workflow tells people outside."""

    def __init__(self, wanted: Notices | None, question: str) -> None:
        """Tell what concerns a question; nothing where nobody wants to be told."""
        self._wanted, self._question = wanted, question
        self._status = ""
        self._told: tuple[Occasion, str] | None = None
        self._begun: list[asyncio.Task[Any]] = []

    def see(self, status: str, about: str = "") -> None:
        """Take note of a status; one that is new and worth it is told.

        Args:
            status: how the workflow stands.
            about: what it waits for, which is told once, also where somebody holds the workflow in between.
        """
        self._status = status
        occasion = _OCCASIONS.get(status)
        if self._wanted and occasion and (occasion, about) != self._told:
            self._told = occasion, about
            self._begun.append(asyncio.create_task(self._tell(self._wanted, occasion)))

    async def all_begun(self) -> None:
        """Wait until every notice is under way: what has not begun when a workflow ends never will."""
        await asyncio.gather(*self._begun)

    async def _tell(self, wanted: Notices, occasion: Occasion) -> None:
        info, delivery = workflow.info(), str(workflow.uuid4())
        notice = Notice(
            delivery=delivery,
            id=info.workflow_id,
            occasion=occasion,
            status=self._status,
            question=self._question[:_QUESTION],
            at=workflow.now().isoformat(timespec="seconds"),
            ui=wanted.ui,
        )
        await workflow.start_child_workflow(
            NotifyWorkflow.run,
            notice,
            id=f"{info.workflow_id}/notice-{delivery[:8]}",
            parent_close_policy=workflow.ParentClosePolicy.ABANDON,
            static_summary=occasion,
        )
