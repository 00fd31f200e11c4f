"""Batches: many questions with shared settings, each answered by a run of its own."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from tenure.contracts.base import Contract, RunId
from tenure.contracts.result.result import ResultStatus
from tenure.contracts.run.limits import BudgetFields
from tenure.contracts.run.run import Question, RunRequest

ItemStatus = Literal["waiting", "running"] | ResultStatus
"""Status of a question of a batch; after its end the status of its report."""

STATUSES_WITH_REPORT: frozenset[ItemStatus] = frozenset({"done", "finished_early"})
"""Statuses of questions whose report contains findings."""

ANSWERED_STATUSES: frozenset[ItemStatus] = STATUSES_WITH_REPORT | {"no_evidence", "failing_tests", "unsupported"}
"""Statuses of questions that a repeated batch does not ask again."""


class BatchItem(BudgetFields, Contract):
    """A question of a batch with its own limits; omitted limits are those of the batch."""

    key: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,60}$")]
    """Suffix of the run id after the name of the batch."""
    question: Question


class BatchOutcome(Contract):
    """Outcome of a question of a batch."""

    key: str
    run: RunId
    question: str
    """The question, shortened."""
    status: ItemStatus
    title: str = ""
    note: str = ""
    """Reason for a missing report, or the verdict on a change of a repository and its files."""
    tokens: int = 0
    """Prompt and completion tokens used."""
    cost_usd: float | None = None
    """Cost in US dollars; None if unknown."""
    seconds: float = 0.0
    """Time from start to end."""


class BatchRequest(Contract):
    """Start of a batch."""

    shared: RunRequest
    """Request shared by all runs; its question is replaced, and its documents are ingested once."""
    items: tuple[BatchItem, ...]
    max_parallel: int = Field(default=4, ge=1, le=50)
    earlier_outcomes: tuple[BatchOutcome, ...] = ()
    """Outcomes of an earlier execution; answered questions are not asked again."""


class BatchReport(Contract):
    """State of a batch, at any time and at its end."""

    outcomes: tuple[BatchOutcome, ...]
    """Outcomes in the order of the questions."""
    cancelled: bool = False
