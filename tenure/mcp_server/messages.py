"""Arguments of the tools, and their structured results."""

from collections.abc import Collection
from typing import Any

from pydantic import Field, create_model

from tenure.contracts.base import Contract
from tenure.contracts.result.ask import AskReply
from tenure.contracts.run.control import BudgetBounds, CommandName, InputRequest, OutlineTopic
from tenure.contracts.run.limits import ModelBudget
from tenure.contracts.run.run import Question
from tenure.runs.messages import OperationRequest, RunLabel, RunRow, StartRequest
from tenure.runs.options import AskOptions, Name

DEFAULT_WAIT_SECONDS = 50.0
"""Time that a call waits for the end of a run, below the usual minute after which clients give up."""

MAX_WAIT_SECONDS = 3_600.0


class Waiting(OperationRequest):
    """Arguments of a call that may wait."""

    wait_seconds: float = Field(default=DEFAULT_WAIT_SECONDS, ge=0, le=MAX_WAIT_SECONDS)
    """Time to wait for the result; the run continues without the call, and `status` returns its result later."""


class Starting(Waiting):
    """Arguments of a call that starts a run."""

    new: bool = False
    """Whether another run starts although the same request is running; without it, a repeated call joins that run."""


def _derive_arguments(name: str, offered: Collection[str]) -> type[Starting]:
    """Return the arguments of a tool that starts a run: fields of the request, with their words and bounds."""
    fields: dict[str, Any] = {
        field: (details.annotation, details) for field, details in StartRequest.model_fields.items() if field in offered
    }
    return create_model(name, __base__=Starting, __doc__=f"Arguments of `{name}`.", **fields)


_PROGRAM = {"files", "tests", "candidates", "max_code_attempts", "repo", "revision", "setup", "test", "approve"}

# A model chooses the arguments, so files with secrets are never read, and no setup has the network; a person allows
# that on the command line.
ResearchArguments = _derive_arguments(
    "research", StartRequest.model_fields.keys() - _PROGRAM - {"mode", "include_secrets", "allow_setup"}
)
CodeArguments = _derive_arguments("code", {"question", "id", "docs", *_PROGRAM, *ModelBudget.__annotations__})


class AskArguments(AskOptions, Waiting):
    """Arguments of `ask`."""

    run: Name
    """Id of the run."""
    question: Question | None = None
    """Follow-up question; null to return the answer to the latest question."""


class StatusArguments(OperationRequest):
    """Arguments of `status`."""

    run: Name | None = None
    """Id of the run; null to list runs."""
    wait_seconds: float = Field(default=0.0, ge=0, le=MAX_WAIT_SECONDS)
    """Time to wait for the end of the run."""
    words: str = Field(default="", max_length=1_000)
    """For a list: words of the ids and questions of the runs."""
    limit: int = Field(default=20, ge=1, le=200)
    """For a list: maximum number of runs."""


class SteerArguments(OperationRequest):
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


class LabelArguments(RunLabel):
    """Arguments of `label`."""

    run: Name
    """Id of the run."""


class LabelReply(Contract):
    """Title and tags of a run."""

    run: str
    """Id of the run."""
    title: str
    """Title; empty for the question."""
    tags: tuple[str, ...]
    """Words by which the list is searched."""


class RunReply(Contract):
    """State of a run."""

    id: str
    question: str
    status: str
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
