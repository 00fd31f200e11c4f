"""Report the progress of a child workflow to its run.

Every message costs events in two histories and workflow tasks on both sides, so news wait for each other. They are sent
when a slow step begins, such as a call of a model, and otherwise at most every few seconds; the last ones are part of
the child's result. A server accepts a limited number of signals for one run, 10,000 by default. A run that receives a
flood of signals receives none of its children afterwards: they continue without it, and its report says so.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from temporalio import workflow

from workflows.runtime.control import send_signal

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control.progress import merge_updates
    from tenure.contracts.research.progress import ProgressUpdate
    from tenure.contracts.run.budget import BudgetAmounts
    from tenure.contracts.run.run import WorkflowUsage


UNHEARD = (
    "The run received more signals than its server accepts for one run. The progress and the usage of its parts after "
    "that are not counted, and their budgets could not be extended."
)
"""Note of a report whose run does not receive its children any more."""

PAUSE_BETWEEN_MESSAGES = timedelta(seconds=2)
"""Time after the last message from which news are sent at once."""


class ProgressReporter:
    """Reporter of one child workflow."""

    def __init__(self, run: str, usage: Callable[[], WorkflowUsage]) -> None:
        """Report to a run.

        Args:
            run: workflow id of the run.
            usage: returns everything that the child has used so far.
        """
        self._run = run
        self._usage = usage
        self._waiting: list[ProgressUpdate] = []
        self._sending: asyncio.Task[None] | None = None
        self._last_sent = workflow.now()
        self.is_heard = True
        """Whether the run has received every message."""

    def report(self, **news: Any) -> None:
        """Report fields of a `ProgressUpdate`; they are sent together with what is reported until the next message."""
        self._add(ProgressUpdate(reporter=workflow.info().workflow_id, **news))
        if workflow.now() - self._last_sent >= PAUSE_BETWEEN_MESSAGES:
            self.send()

    def report_end_of(self, child: ProgressUpdate | None) -> None:
        """Report the last progress of a child that has ended."""
        if child is not None:
            self.report(parts=(*child.parts, child.model_copy(update={"parts": ()})))

    def expect(self, amounts: BudgetAmounts, *, for_writing: bool) -> None:
        """Announce what the calls that begin now are expected to use."""
        self._add(ProgressUpdate(reporter=workflow.info().workflow_id, expected=amounts, for_writing=for_writing))

    def send(self) -> None:
        """Begin to send what was reported."""
        if self._waiting and (self._sending is None or self._sending.done()):
            self._sending = asyncio.create_task(self._send())

    async def send_first(self) -> None:
        """Begin to send what was reported before a step that takes long, and have it in the history before the step."""
        self.send()
        await asyncio.sleep(0)

    async def send_all(self) -> None:
        """Send what was reported, and wait until the run has received it."""
        self.send()
        if self._sending is not None:
            await self._sending

    async def take(self) -> ProgressUpdate | None:
        """Return what was reported and not sent, for a message of another kind; None if there is nothing."""
        if self._sending is not None:
            await self._sending
        while len(self._waiting) > 1:
            await self._signal(self._waiting.pop(0))
        return self._waiting.pop().model_copy(update={"usage": self._usage()}) if self._waiting else None

    async def finish(self, **news: Any) -> ProgressUpdate | None:
        """Report the end, and return what the result of the child delivers to its run."""
        self._add(ProgressUpdate(reporter=workflow.info().workflow_id, ended=True, **news))
        return await self.take()

    async def fail(self, **news: Any) -> None:
        """Report the end of a child without a result: the run must know its costs, to free the rest of its budget."""
        self._add(ProgressUpdate(reporter=workflow.info().workflow_id, ended=True, **news))
        await self.send_all()

    def _add(self, update: ProgressUpdate) -> None:
        merged = merge_updates(self._waiting[-1], update) if self._waiting else None
        if merged is None:
            self._waiting.append(update)
        else:
            self._waiting[-1] = merged

    async def _send(self) -> None:
        while self._waiting:
            await self._signal(self._waiting.pop(0))

    async def _signal(self, update: ProgressUpdate) -> None:
        self._last_sent = workflow.now()
        told = update.model_copy(update={"usage": self._usage()})
        run = workflow.get_external_workflow_handle(self._run)
        self.is_heard &= await send_signal(run, "report_progress", told)
