"""The conversation of a model that works in a repository: its actions, their results, and the state of the work."""

from typing import Literal

from pydantic import Field

from tenure.contracts.base import Contract
from tenure.contracts.coding.repositories import (
    ChangeSoFar,
    CheckReport,
    Environment,
    OpenedRepository,
    ProjectTestReport,
    Proof,
    Replacement,
    RepositoryStep,
    Workspace,
)
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.repository_task import RepositoryProgress, RepositoryTask
from tenure.contracts.run.budget import BudgetAmounts
from tenure.contracts.run.run import FallbackRecord, Feedback, PartRequest, WorkflowUsage

EngineerActionKind = Literal[
    "search", "grep", "symbol", "read", "list", "edit", "write", "delete", "run", "ask", "plan", "done", "invalid"
]
"""Kind of an action; `invalid` for one that cannot be read."""


class EngineerAction(Contract):
    """An action of the model."""

    kind: EngineerActionKind
    subject: str = ""
    """Its first line without the keyword, such as a path, a query or a command."""
    text: str = ""
    """Content of a file, command of several lines, question, plan, commit message, or reason why it is invalid."""
    pattern: str = ""
    """Glob pattern of the files that are searched."""
    first: int | None = None
    """First line to read; None for the beginning."""
    last: int | None = None
    """Last line to read; None for as many as fit."""
    replacements: tuple[Replacement, ...] = ()
    cause: str = ""
    """Cause of the fault, of an action `done`."""
    change: str = ""
    """Changes with their reasons, of an action `done`."""
    lesson: str = ""
    """Advice for later work in the repository, of an action `done`."""


class ConversationTurn(Contract):
    """An answer of the model, and the message with the results of its actions."""

    answer: str
    results: str
    summary: str = ""
    """The turn in a few lines, which replace it when the conversation has become long."""


class RepositoryState(Contract):
    """State of the work, with which it continues in a new history."""

    opened: OpenedRepository
    workspace: Workspace
    environment: Environment = Environment()
    problem: str = ""
    """Reason why no command can be run; empty if they can."""
    beginning: str = ""
    """Remarks on commands and tests that were known at the first answer."""
    map: str = ""
    """Map at the first answer; both stay, so that the beginning of the conversation does."""
    baseline: ProjectTestReport | None = None
    """Results of the tests of the commit; None if they have not run."""
    checks: CheckReport | None = None
    """Results of its linters and type checkers; None if they have not run."""
    summary: str = ""
    """Summary of turns that are left out of the conversation."""
    turns: tuple[ConversationTurn, ...] = ()
    answers: int = 0
    """Number of answers of the model."""
    change: ChangeSoFar = ChangeSoFar()
    """Change of the latest state."""
    steps: tuple[RepositoryStep, ...] = ()
    progress: RepositoryProgress = RepositoryProgress()
    read_feedback: int = 0
    """Number of pieces of feedback that the model has read."""
    verifications: int = 0
    proof: Proof | None = None
    """Proof of the patch `proved_patch`."""
    proved_patch: str = ""
    report: EngineerAction | None = None
    """Latest action `done`."""
    is_plan_approved: bool = False
    notes: tuple[str, ...] = ()
    fallbacks: tuple[FallbackRecord, ...] = ()
    usage: WorkflowUsage = WorkflowUsage()
    unused_budget: BudgetAmounts = BudgetAmounts()
    budget_requests: int = 0
    """Number of the last budget request of the earlier history."""
    questions: int = Field(default=0, ge=0)
    """Number of questions to people so far."""


class RepositoryRequest(PartRequest):
    """Start of the work in a repository."""

    task: RepositoryTask
    evidence: tuple[PassageRef, ...] = ()
    """Passages of documents, if a person has given any."""
    lessons: tuple[str, ...] = ()
    feedback: tuple[Feedback, ...] = ()
    preferences: tuple[str, ...] = ()
    attempt: int = Field(default=0, ge=0)
    """Number of the attempt among several concurrent ones; 0 for the work as a whole."""
    state: RepositoryState | None = None
    """State of an earlier history, or of the work as a whole when the attempt started; None at the start."""
