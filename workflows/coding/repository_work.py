"""State of the work in a repository, which the phases share."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from temporalio import workflow

from workflows.coding.repository_preparation import Preparation
from workflows.runtime.clients import ActivityClients
from workflows.runtime.control import ControllableWorkflow, send_signal

with workflow.unsafe.imports_passed_through():
    from tenure.algorithms.coding.engineer_news import describe_tests
    from tenure.contracts.coding.engineering import RepositoryRequest, RepositoryState
    from tenure.contracts.coding.repositories import ChangeSoFar, Patch, RepositoryStep, Workspace
    from tenure.contracts.research.fork import RepositoryCheckpoint
    from tenure.contracts.research.report import ReportDraft
    from tenure.contracts.run.run import Feedback
    from tenure.contracts.sandbox import SandboxSelfTest

MAX_STEPS_KEPT: Final = 300
"""Steps that the report keeps, each with up to 700 characters."""


class RepositoryWork(ControllableWorkflow):
    """Base of the workflow: its request, its state, and its results so far."""

    def __init__(self, request: RepositoryRequest) -> None:
        """Start from the request, or from the state of an earlier history."""
        super().__init__(request.control, part=f"attempt {request.attempt}" if request.attempt else "repository")
        self.request = request
        self.state: RepositoryState | None = request.state
        self.checkpoints = {request.state.answers: request.state} if request.state and request.state.turns else {}
        """State after each answer of this history and its actions; they share what they have in common."""
        self.clients = ActivityClients(self, request.limits, question=request.question, run=request.run)
        if request.state:
            self.clients.record.usage = request.state.usage
            self.clients.record.fallbacks = list(request.state.fallbacks)
            self.clients.lease.restore(request.state.unused_budget, request.state.budget_requests)
        self.feedback_items = list(request.feedback)
        self.answered: list[str] = []
        """Feedback that was the reply to a question, which the model reads as its result."""
        self.cancelled = False
        self.is_delegated = False
        """Whether attempts in child workflows do the work."""
        self.main: asyncio.Task[None] | None = None
        self.checking: asyncio.Task[SandboxSelfTest | None] | None = None
        self.preparation: Preparation | None = None
        self.patch: Patch | None = None
        self.attempts: tuple[ReportDraft, ...] = ()
        """Results of the concurrent attempts; empty if there is one alone."""
        self.places: tuple[str, ...] = ()
        self.end_reason = ""
        self.failure = ""
        self.problem = ""
        """Reason why no worker can work in a repository; empty if one can."""

    async def add_feedback(self, feedback: Feedback) -> None:
        """Store feedback, and forward it to the attempts."""
        await super().add_feedback(feedback)
        for child in list(self.children.values()):
            await send_signal(child, "feedback", feedback)

    def count_question(self) -> int:
        """Return the number of the next question to a person."""
        number = self.get_state().questions + 1
        self.update(questions=number)
        return number

    @property
    def prepared(self) -> Preparation:
        """Preparation of the repository, which is open."""
        assert self.preparation is not None, "the repository is open"
        return self.preparation

    def keep_preparation(self) -> None:
        """Add to the state what has been prepared."""
        prepared, state = self.prepared, self.get_state()
        notes = tuple(dict.fromkeys((*state.notes, *prepared.notes)))
        before = describe_tests(prepared.baseline).splitlines()[0] if prepared.baseline else ""
        self.update(
            environment=prepared.environment,
            problem=prepared.problem,
            baseline=prepared.baseline,
            checks=prepared.checks,
            notes=notes,
            progress=state.progress.model_copy(update={"before": before}),
        )

    def record_steps(self, workspace: Workspace, change: ChangeSoFar, steps: Sequence[RepositoryStep]) -> None:
        """Add steps to those of the report, and the state of the files after them."""
        state = self.get_state()
        progress = {
            "files": tuple(file.path for file in change.files),
            "added": change.added,
            "removed": change.removed,
            "steps": state.progress.steps + len(steps),
        }
        self.update(
            workspace=workspace,
            change=change,
            steps=(*state.steps, *steps)[-MAX_STEPS_KEPT:],
            progress=state.progress.model_copy(update=progress),
        )

    def build_checkpoint(self, answer: int) -> RepositoryCheckpoint:
        """Return the work after an answer, or after the last one for 0, as the beginning of a fork."""
        if not self.checkpoints or self.preparation is None or not self.preparation.is_complete:
            return RepositoryCheckpoint()
        first, last = min(self.checkpoints), max(self.checkpoints)
        if (state := self.checkpoints.get(answer or last)) is None:
            return RepositoryCheckpoint(first=first, last=last)
        fresh = RepositoryState(opened=state.opened, workspace=state.workspace)
        own = ("verifications", "report", "is_plan_approved", "fallbacks", "usage", "unused_budget", "questions")
        prepared = {name: getattr(self.preparation, name) for name in ("environment", "problem", "baseline", "checks")}
        start = {name: getattr(fresh, name) for name in (*own, "budget_requests")} | prepared
        start["progress"] = state.progress.model_copy(update={"attempt": 0})
        feedback = tuple(self.feedback_items[: state.read_feedback])
        continued = {"state": state.model_copy(update=start), "feedback": feedback, "attempt": 0}
        return RepositoryCheckpoint(first=first, last=last, request=self.request.model_copy(update=continued))

    def get_state(self) -> RepositoryState:
        """Return the state, after the repository was opened."""
        assert self.state is not None, "the repository is open"
        return self.state

    def update(self, **changes: Any) -> None:
        """Replace fields of the state."""
        state = self.get_state()
        assert changes.keys() <= RepositoryState.model_fields.keys(), changes
        self.state = state.model_copy(update=changes)
        if self.state.answers in self.checkpoints:
            self.checkpoints[self.state.answers] = self.state
