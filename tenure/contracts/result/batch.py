"""A batch: many questions that are asked alike, each of them a run of its own."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from tenure.contracts.base import Contract, RunId
from tenure.contracts.result.result import ResultStatus
from tenure.contracts.run.run import RunRequest

ItemStatus = Literal["waiting", "running"] | ResultStatus
"""How a question of a batch stands; the last ones are those of its report."""

PROVED: frozenset[ItemStatus] = frozenset({"done", "finished_early"})
"""What has a report that holds something."""

ANSWERED: frozenset[ItemStatus] = PROVED | {"no_evidence", "failing_tests", "unsupported"}
"""What is not asked again when a batch is started once more."""


class BatchItem(Contract):
    """A question of a batch, and what bounds it alone; a limit that is left out is that of the batch."""

    key: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,60}$")]
    """What its run is called behind the name of the batch."""
    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
    """What is asked."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Prompt and answer tokens."""
    max_cost_usd: float | None = Field(default=None, gt=0)
    """US dollars."""
    max_calls: int | None = Field(default=None, ge=1)
    """Answers of the model."""
    max_searches: int | None = Field(default=None, ge=1)
    """Searches in the knowledge base."""
    max_seconds: float | None = Field(default=None, gt=0)
    """Time until it is written up."""


class BatchOutcome(Contract):
    """What became of a question of a batch."""

    key: str
    """The question's key."""
    run: RunId
    """Its run."""
    question: str
    """What was asked, shortened."""
    status: ItemStatus
    """How it stands."""
    title: str = ""
    """Title of its report."""
    note: str = ""
    """Why it has none, where it failed."""
    tokens: int = 0
    """Prompt and answer tokens used."""
    cost_usd: float | None = None
    """Money spent; None where that is not known."""
    seconds: float = 0.0
    """Time from its start to its end."""


class BatchRequest(Contract):
    """Start of a batch."""

    shared: RunRequest
    """What the runs have in common; its question is replaced, and its documents are read once for all of them."""
    items: tuple[BatchItem, ...]
    """The questions."""
    parallel: int = Field(default=4, ge=1, le=50)
    """Runs at the same time."""
    known: tuple[BatchOutcome, ...] = ()
    """What became of questions before; they are not asked again."""


class BatchReport(Contract):
    """How a batch stands, at any time and at its end."""

    outcomes: tuple[BatchOutcome, ...]
    """The questions, in the order in which they were given."""
    cancelled: bool = False
    """Whether somebody stopped it."""
