"""Report the progress of a child workflow to its run.

Every message costs events in two histories and workflow tasks on both sides, so news wait for each other: until a long
step begins, such as a call of a model, and for two seconds during one. Timers cost events as well, so none runs between
long steps. A child sends at most one message every two seconds, fewer if the server or the workers are busy,
and the last news are part of its result. A server accepts a limited number of signals for one run, 10,000 by default. A
run that receives a flood of signals receives none of its children afterwards: they continue without it, and its report
says so.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from temporalio import workflow

from workflows.runtime.control import send_signal

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control.progress import MAX_PAUSE, compute_pause, merge_updates
    from tenure.contracts.research.progress import ProgressUpdate
    from tenure.contracts.research.trace import StoryRecord
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
        self,
        run: str,
        usage: Callable[[], WorkflowUsage],
        drain_records: Callable[[], tuple[StoryRecord, ...]] = tuple,
        holds_budget: Callable[[], bool] = lambda: False,
    ) -> None:
        """Report to a run.

        The functions return what the child has used so far, what it has recorded since the last message, and whether it
        has an unused grant, which other parts may need.
        """
        self._run = run
        self._usage = usage
        self._drain_records = drain_records
        self._holds_budget = holds_budget
        self._waiting: ProgressUpdate | None = None
        self._sent: ProgressUpdate | None = None
        self._long_steps = 0
        self._task: asyncio.Task[None] | None = None
        self._sending = asyncio.Lock()
        # The first long step begins with a message.
        self._last_sent = workflow.now() - MAX_PAUSE
        self._delay = timedelta()
        self.ended_parts: dict[str, WorkflowUsage] = {}
        """Usage of the child's own children that have ended, by their ids."""
        self.expected: BudgetAmounts | None = None
        """Amounts that the calls in progress are expected to use of an effort; None without an effort."""
        self.for_writing: bool | None = None
        """Whether the last of these calls writes the report; None without an effort."""
        self.is_received = True
        """Whether the run has received every message."""

    def report(self, **news: Any) -> None:
        """Report fields of a `ProgressUpdate`, which are sent with everything else that is reported until then."""
        if not self._waiting and all(getattr(self._sent, name, None) == value for name, value in news.items()):
            return  # the run has it from the last message
        self._add(**news)
        if self._long_steps:
            self._send_later(workflow.now())

    @contextmanager
    def track_long_step(self) -> Iterator[None]:
        """Send the news because a step begins that may take long, and those that are reported while it is executed."""
        self._long_steps += 1
        self._send_later(self._last_sent)
        try:
            yield
        finally:
            self._long_steps -= 1

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
        async with self._sending:
            if update := self._take():
                self._last_sent = workflow.now()
                run = workflow.get_external_workflow_handle(self._run)
                self.is_received &= await send_signal(run, "report_progress", self._complete(update))
                self._delay = workflow.now() - self._last_sent

    async def read_unsent(self) -> ProgressUpdate | None:
        """Return the news that were not sent, for a message of another kind; None if there are none."""
        async with self._sending:  # a message that is being sent arrives first
            update = self._take()
        return update and self._complete(update)

    async def finish(self, **news: Any) -> ProgressUpdate | None:
        """Report the end, and return what the result of the child delivers to its run."""
        self._end(**news)
        if self._holds_budget():
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
        self._waiting = merge_updates(self._waiting, update) if self._waiting else update

    def _take(self) -> ProgressUpdate | None:
        """Return the news that were not sent, which count as sent from now on."""
        update, self._waiting = self._waiting, None
        self._sent = update or self._sent
        return update

    def _send_later(self, since: datetime) -> None:
        """Start to send the news some time after a moment, unless that has started."""
        if self._waiting and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._send_in_time(since))

    async def _send_in_time(self, since: datetime) -> None:
        while self._waiting:
            until = since + compute_pause(self._delay)
            if until <= workflow.now():
                await self.send()
                since = self._last_sent
            else:
                await self._wait(until)

    async def _wait(self, until: datetime) -> None:
        """Wait for the time of the next message, unless it is sent earlier; measure how late the wait ends."""
        try:
            await workflow.wait_condition(
                lambda: not self._waiting,
                timeout=until - workflow.now(),
                timeout_summary="until the next progress",
            )
        except TimeoutError:
            self._delay = workflow.now() - until

    def _complete(self, update: ProgressUpdate) -> ProgressUpdate:
        """Return an update with what has been recorded and used, and is expected now."""
        amounts = {"usage": self._usage(), "expected": self.expected, "for_writing": self.for_writing}
        return update.model_copy(update={**amounts, "records": self._drain_records()})
