"""Base of the parts of a run that deliver what they have when a person cancels them or a step fails permanently."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, ChildWorkflowError, is_cancelled_exception

from workflows.runtime.control import ControllableWorkflow
from workflows.runtime.failures import describe_failure

with workflow.unsafe.imports_passed_through():
    from tenure.contracts.run.run import ControlState


class PartialResultWorkflow(ControllableWorkflow):
    """Base of workflows whose phases can end early with a result."""

    def __init__(self, control: ControlState | None, *, part: str) -> None:
        """Start with the control state of the run, as a part of it."""
        super().__init__(control, part=part)
        self.cancelled = False
        """Whether a person cancelled the run."""
        self.failure = ""
        """Description of the step that failed permanently; empty if none did."""
        self._phases: asyncio.Task[None] | None = None

    @property
    def has_result(self) -> bool:
        """Whether there is something to deliver after a failure."""
        raise NotImplementedError

    async def run_phases(self, phases: Coroutine[Any, Any, None]) -> None:
        """Run the phases to their end, to a person's cancel or to a permanent failure after which there is a result.

        Raises:
            BaseException: a step failed before there was a result, or the workflow was cancelled from outside.
        """
        self._phases = asyncio.create_task(phases)
        if self.cancelled:
            self._phases.cancel()
        try:
            await self._phases
        except (asyncio.CancelledError, ActivityError, ChildWorkflowError) as error:
            # A cancelled activity or child that was awaited directly raises an error of its own type.
            if not (self.cancelled and is_cancelled_exception(error)):
                self.record_failure(error)

    def record_failure(self, error: BaseException) -> None:
        """Record a permanent failure, so that the result so far is delivered; raise it again without a result."""
        if is_cancelled_exception(error) or not self.has_result:
            raise error
        self.failure = describe_failure(error)

    @workflow.signal(description="Stop immediately and deliver what there is.")
    async def cancel(self, *ignored: Any) -> None:
        """Cancel all work that is in progress; the result so far is delivered."""
        self.cancelled = True
        self.change_control(paused=False, finishing=True)
        if self._phases is not None:
            self._phases.cancel()
