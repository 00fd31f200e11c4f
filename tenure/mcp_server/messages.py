"""Arguments of the tools, and their structured results."""

from pydantic import Field

from tenure.contracts.base import Contract
from tenure.contracts.result.ask import AskReply
from tenure.contracts.run.control import BudgetBounds, CommandName, InputRequest, OutlineTopic
from tenure.contracts.run.run import Question
from tenure.site.messages import (
    MAX_PATHS,
    ApiRequest,
    BudgetBody,
    Name,
    PathText,
    QuestionBody,
    RunRow,
)
from tenure.site.service import MAX_LISTED

DEFAULT_WAIT_SECONDS = 50.0
"""Time that a call waits for the end of a run, below the usual minute after which clients give up."""

MAX_WAIT_SECONDS = 3_600.0


class Waiting(ApiRequest):
    """Arguments of a call that may wait."""

    wait_seconds: float = Field(default=DEFAULT_WAIT_SECONDS, ge=0, le=MAX_WAIT_SECONDS)
    """Time to wait for the result; the run continues without the call, and `status` returns its result later."""


class Starting(Waiting):
    """Arguments of a call that starts a run."""

    new: bool = False
    """Whether another run starts although the same request is running; without it, a repeated call joins that run."""


class ResearchArguments(QuestionBody, Starting):
    """Arguments of `research`.

    A model chooses them, so files with secrets are never read; a person names them on the command line.
    """


class CodeArguments(BudgetBody, Starting):
    """Arguments of `code`."""

    question: Question
    """Task: the program to write or to repair."""
    id: Name | None = None
    """Name of the run; null to make it from the task."""
    files: tuple[PathText, ...] = Field(default=(), max_length=MAX_PATHS)
    """Absolute paths of files that the program reads, or that are to be repaired."""
    tests: tuple[PathText, ...] = Field(default=(), max_length=MAX_PATHS)
    """Absolute paths of files with tests that the program must pass."""
    docs: tuple[PathText, ...] = Field(default=(), max_length=MAX_PATHS)
    """Absolute paths of documents to read first."""


class AskArguments(BudgetBody, Waiting):
    """Arguments of `ask`."""

    run: Name
    """Id of the run."""
    question: Question | None = None
    """Follow-up question; null to return the answer to the latest question."""
    search_again: bool = False
    """Whether missing evidence is searched for again."""
    new: bool = False
    """Whether a new conversation starts."""


class StatusArguments(ApiRequest):
    """Arguments of `status`."""

    run: Name | None = None
    """Id of the run; null to list runs."""
    wait_seconds: float = Field(default=0.0, ge=0, le=MAX_WAIT_SECONDS)
    """Time to wait for the end of the run."""
    words: str = Field(default="", max_length=1_000)
    """For a list: words of the ids and questions of the runs."""
    limit: int = Field(default=20, ge=1, le=MAX_LISTED)
    """For a list: maximum number of runs."""


class SteerArguments(ApiRequest):
    """Arguments of `steer`."""

    run: Name
    """Id of the run."""
    command: CommandName
    """Command: `finish` writes the report with the available results, `cancel` keeps only finished sections."""
    text: str = Field(default="", max_length=20_000)
    """Text of `feedback` and `answer`."""
    topic: str | None = None
    """With `feedback`: heading of the section that it concerns; null for the whole report."""
    outline: tuple[OutlineTopic, ...] = ()
    """With `outline`: all topics of the report."""
    budget: BudgetBounds = BudgetBounds()
    """With `budget`: new limits."""
    discard: bool = False
    """With `cancel`: whether finished sections are discarded."""


class RunReply(Contract):
    """State of a run."""

    id: str
    """Id."""
    question: str
    """Question."""
    status: str
    """Status."""
    state: str
    """Activity or end of the run in one line."""
    is_running: bool
    """Whether it has not ended."""
    waits_for: InputRequest | None = None
    """Question to a person that the run waits for; null if it waits for nothing."""
    report: str = ""
    """URI of the resource with the report; empty before the end, and without a report."""
    url: str = ""
    """URL of the run in the web UI of Temporal; empty if unknown."""


class StatusReply(Contract):
    """Result of `status`: a run, or a list."""

    run: RunReply | None = None
    """The run; null for a list."""
    runs: tuple[RunRow, ...] = ()
    """Latest runs, newest first; empty for a single run."""


class AnswerReply(Contract):
    """Result of `ask`."""

    run: str
    """Id of the run."""
    is_running: bool
    """Whether the question is still being answered."""
    answer: AskReply | None = None
    """The answer; null while it is being written, and without a question."""


class SteerResult(Contract):
    """Result of `steer`."""

    run: str
    """Id of the run."""
    effect: str
    """Effect of the command in a sentence."""
