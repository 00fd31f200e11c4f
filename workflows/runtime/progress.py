"""Report the progress of a child workflow to its run.

Every message costs events in two histories and workflow tasks on both sides, so news wait for each other: a child sends
at most one message every two seconds, fewer if the server or the workers are busy, and the last news are part of its
result. A server accepts a limited number of signals for one run, 10,000 by default. A run that receives a flood of
signals receives none of its children afterwards: they continue without it, and its report says so.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from temporalio import workflow

from workflows.runtime.control import send_signal

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control.progress import compute_pause, merge_updates
    from tenure.contracts.research.progress import ProgressUpdate
    from tenure.contracts.run.budget import BudgetAmounts
    from tenure.contracts.run.run import WorkflowUsage


UNHEARD = (
    "The run received more signals than its server accepts for one run. The progress and the usage of its parts after "
    "that are not counted, and their budgets could not be extended."
)
"""Note of a report whose run does not receive its children any more."""


class ProgressReporter:
    """Reporter of one child workflow."""

    def __init__(
        self, run: str, usage: Callable[[], WorkflowUsage], is_limited: Callable[[], bool] = lambda: False
    ) -> None:
        """Report to a run.

        Args:
            run: workflow id of the run.
            usage: returns everything that the child has used so far.
            is_limited: returns whether people limit the run, so that other parts need what the child leaves unused.
        """
        self._run = run
        self._usage = usage
        self._is_limited = is_limited
        self._waiting: list[ProgressUpdate] = []
        self._task: asyncio.Task[None] | None = None
        self._is_asleep = False
        self._sending = asyncio.Lock()
        self._last_sent = workflow.now()
        self._delay = timedelta()
        self.ended_parts: dict[str, WorkflowUsage] = {}
        """Usage of the child's own children that have ended, by their ids."""
        self.expected: BudgetAmounts | None = None
        """Amounts that the calls in progress are expected to use of an effort; None without an effort."""
        self.is_received = True
        """Whether the run has received every message."""

    def report(self, **news: Any) -> None:
        """Report fields of a `ProgressUpdate`, which are sent with everything else that is reported until then."""
        self._add(**news)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._send_later())

    def report_end_of(self, child: ProgressUpdate | None) -> None:
        """Report the last progress of a child that has ended."""
        if child is not None:
            for part in (*child.parts, child):
                self.ended_parts[part.reporter] = part.usage or WorkflowUsage()
            # The topics of the child are newer than those that wait here.
            self.report(
                parts=(*child.parts, child.model_copy(update={"parts": ()})),
                topics=child.topics,
                is_full_outline=child.is_full_outline,
            )

    async def send(self) -> None:
        """Send immediately what was reported, and wait until the run has received it."""
        self._stop_waiting()
        await self._send()

    async def wait_until_received(self) -> None:
        """Wait until the run has received what is being sent, so that the news of a new child arrive after it."""
        async with self._sending:
            return

    async def read_unsent(self) -> ProgressUpdate | None:
        """Return the news that were not sent, for a message of another kind; None if there are none."""
        self._stop_waiting()
        async with self._sending:
            while len(self._waiting) > 1:
                await self._signal(self._waiting.pop(0))
        return self._add_amounts(self._waiting.pop()) if self._waiting else None

    async def finish(self, **news: Any) -> ProgressUpdate | None:
        """Report the end, and return what the result of the child delivers to its run."""
        self._end(**news)
        if self._is_limited():
            await self.send()
        return await self.read_unsent()

    async def fail(self, **news: Any) -> None:
        """Report the end of a child without a result: the run must know its costs, to free the rest of its budget."""
        self._end(**news)
        await self.send()

    def _end(self, **news: Any) -> None:
        self.expected = None
        self._add(ended=True, **news)

    def _add(self, **news: Any) -> None:
        update = ProgressUpdate(reporter=workflow.info().workflow_id, **news)
        merged = merge_updates(self._waiting[-1], update) if self._waiting else None
        if merged is None:
            self._waiting.append(update)
        else:
            self._waiting[-1] = merged

    async def _send_later(self) -> None:
        while self._waiting:
            until = self._last_sent + compute_pause(self._delay)
            if until > workflow.now():
                await self._sleep(until)
            else:
                await self._send()

    async def _sleep(self, until: datetime) -> None:
        """Wait for the next message, and measure how late the wait ends."""
        self._is_asleep = True
        await workflow.sleep(until - workflow.now(), summary="until the next progress")
        self._is_asleep = False
        self._delay = workflow.now() - until

    def _stop_waiting(self) -> None:
        """End the wait for the next message."""
        if self._task is not None and self._is_asleep:
            self._task.cancel()
            self._task, self._is_asleep = None, False

    async def _send(self) -> None:
        """Send what is waiting, after what is being sent."""
        async with self._sending:
            waiting, self._waiting = self._waiting, []
            for update in waiting:
                await self._signal(update)

    async def _signal(self, update: ProgressUpdate) -> None:
        self._last_sent = workflow.now()
        run = workflow.get_external_workflow_handle(self._run)
        self.is_received &= await send_signal(run, "report_progress", self._add_amounts(update))
        self._delay = workflow.now() - self._last_sent

    def _add_amounts(self, update: ProgressUpdate) -> ProgressUpdate:
        """Return an update with what has been used and is expected now."""
        return update.model_copy(update={"usage": self._usage(), "expected": self.expected})
