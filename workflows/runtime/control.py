"""Control running workflows: pause, resume, finish and feedback, forwarded from a run to its child workflows.

A pause holds back the next activity and does not stop a running one; a finish lets running work end and starts nothing
new. Commands are forwarded to children as a state, not as a command: a child that starts late or receives two signals
in the wrong order still arrives at the state of the run.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from temporalio import workflow
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import FailureError, is_cancelled_exception

from workflows.runtime.story_log import StoryLog

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.control.steering import apply_bounds, find_feedback_excess
    from tenure.contracts.run.budget import BudgetGrant
    from tenure.contracts.run.control import InputReply, OutlineRevision
    from tenure.contracts.run.run import ControlState, Feedback, PartRequest, RunLimits


class ControllableWorkflow:
    """Base of workflows that people can pause, finish and give feedback to."""

    def __init__(self, control: ControlState | None = None, *, part: str = "run") -> None:
        """Start with the control state of the run, or with the initial one, as a part of the run."""
        self.log = StoryLog(part)
        self.control = control or ControlState()
        """Commands given to the run so far, and the state of its budgets."""
        self.grants: dict[int, BudgetGrant] = {}
        self.input_replies: dict[int, InputReply] = {}
        self.feedback_items: list[Feedback] = []
        self.children: dict[str, workflow.ChildWorkflowHandle[Any, Any]] = {}
        # Held during the signals to children, so that the last signal carries the newest state.
        self._forwarding = asyncio.Lock()

    @property
    def is_paused(self) -> bool:
        """Whether the run is paused."""
        return self.control.paused

    @property
    def is_finishing(self) -> bool:
        """Whether nothing new is started."""
        return self.control.finishing

    def apply_budget_revision(self, limits: RunLimits) -> RunLimits:
        """Return limits with the changes that people have made to the budget."""
        return apply_bounds(limits, self.control.budget_revision.budget)

    def find_pending_outline(self, applied: int) -> OutlineRevision | None:
        """Return the outline that a person has set after the applied one; None if there is none."""
        outline = self.control.outline
        return outline if outline and outline.number > applied else None

    def change_control(self, **changes: Any) -> ControlState:
        """Change fields of the control state and return the new state."""
        assert changes.keys() <= ControlState.model_fields.keys(), f"unknown fields in {', '.join(changes)}"
        self.control = self.control.model_copy(update=changes)
        return self.control

    async def wait_while_paused(self) -> None:
        """Wait until the run is not paused."""
        await workflow.wait_condition(lambda: not self.is_paused)

    @workflow.signal(description="Give feedback to this part of the run alone.")
    async def feedback(self, feedback: Feedback) -> None:
        """Accept feedback."""
        await self.add_feedback(feedback)

    @workflow.signal
    async def update_control(self, control: ControlState) -> None:
        """Apply the parent's control state and forward it to child workflows; sent by workflows only."""
        self.control = control
        self.handle_control_change()
        await self.forward_control()

    @workflow.signal
    def receive_budget_grant(self, grant: BudgetGrant) -> None:
        """Receive the run's answer to a budget request; sent by workflows only."""
        self.grants[grant.number] = grant

    @workflow.signal
    def receive_input_reply(self, reply: InputReply) -> None:
        """Receive the reply to an input request; sent by workflows only."""
        self.input_replies[reply.number] = reply

    def handle_control_change(self) -> None:
        """React to a new control state; overridden by the run, which displays it."""

    async def add_feedback(self, feedback: Feedback) -> None:
        """Store feedback once and within the limits of a run; a parent of readers of feedback also forwards it."""
        if reason := find_feedback_excess(self.feedback_items, feedback.text):
            workflow.logger.warning("dropped feedback to %s: %s", workflow.info().workflow_id, reason)
        elif feedback not in self.feedback_items:
            self.feedback_items.append(feedback)

    @asynccontextmanager
    async def run_child(
        self, run: Any, request: PartRequest, child_id: str, summary: str, feedback_count: int | None = None
    ) -> AsyncIterator[workflow.ChildWorkflowHandle[Any, Any]]:
        """Start a child workflow and forward control states to it, also those that it missed while it was started.

        The same applies to feedback beyond the items that its request has; None if a later request brings it.
        """
        child = await workflow.start_child_workflow(
            run,
            request,
            id=child_id,
            static_summary=summary[:200],
            # After a reset of this workflow to a time before the start, the former child is still running.
            id_reuse_policy=WorkflowIDReusePolicy.TERMINATE_IF_RUNNING,
        )
        self.children[child_id] = child
        missed = [] if feedback_count is None else self.feedback_items[feedback_count:]
        try:
            if request.control != self.control:
                await self.forward_control()
            for feedback in missed:
                await send_signal(child, "feedback", feedback)
            yield child
        finally:
            del self.children[child_id]

    async def forward_control(self) -> None:
        """Send the control state to all children."""
        async with self._forwarding:
            for child in list(self.children.values()):
                await send_signal(child, "update_control", self.control)


async def send_signal(
    handle: workflow.ChildWorkflowHandle[Any, Any] | workflow.ExternalWorkflowHandle[Any], signal: str, *args: Any
) -> bool:
    """Signal a workflow and return whether it received the signal: it may have ended, or its server refuses it."""
    try:
        await handle.signal(signal, args=args)
    except FailureError as error:
        if is_cancelled_exception(error):
            raise
        workflow.logger.info("workflow %s did not receive signal %s: %s", handle.id, signal, error)
        return False
    return True
