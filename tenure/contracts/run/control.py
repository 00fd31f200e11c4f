"""Commands that people send to a running run, and the replies of the run.

Text lengths are not limited here: the run itself refuses a command that it cannot follow, with a message for the
sender.
"""

from typing import Annotated, Any, Literal, get_args

from pydantic import model_validator

from tenure.contracts.base import Contract
from tenure.contracts.run.budget import BudgetAmounts
from tenure.contracts.run.limits import ModelBudget
from tenure.contracts.run.options import Option

CommandName = Literal["feedback", "pause", "resume", "finish", "cancel", "outline", "budget", "approve", "answer"]
COMMAND_NAMES: tuple[CommandName, ...] = get_args(CommandName)


class OutlineTopic(Contract):
    """A topic of an outline set by a person; as a line: `heading`, `heading | question`, `old => new | question`."""

    heading: str = ""
    """Heading of its section."""
    question: str = ""
    """Question that the section answers; empty to keep the previous one, or for the heading itself."""
    renamed_from: str = ""
    """Previous heading of a renamed topic."""
    earlier_headings: tuple[str, ...] = ()
    """Earlier headings, kept by the run for child workflows that missed a revision."""

    @model_validator(mode="before")
    @classmethod
    def _parse_line(cls, value: Any) -> Any:
        """Accept a line in place of an object."""
        if not isinstance(value, str):
            return value
        name, _, question = value.partition(" | ")
        was, arrow, heading = name.partition(" => ")
        topic = {"heading": heading, "renamed_from": was} if arrow else {"heading": name, "renamed_from": ""}
        return {key: " ".join(text.split()) for key, text in (topic | {"question": question}).items()}


class BudgetBounds(ModelBudget, Contract):
    """New bounds of a run; None for those that stay. The run refuses what is too large."""

    max_searches: Annotated[int | None, Option("Maximum number of searches.", minimum=1)] = None
    max_seconds: Annotated[float | None, Option("Maximum duration in seconds.", above=0)] = None


class RunCommand(Contract):
    """A command to a run."""

    name: CommandName
    text: str = ""
    """Feedback, or the answer to the run's question."""
    topic: str | None = None
    """Topic of the feedback; None for the whole report."""
    outline: tuple[OutlineTopic, ...] = ()
    """Complete new outline."""
    budget: BudgetBounds = BudgetBounds()
    """New bounds."""
    discard: bool = False
    """Whether `cancel` discards what is written."""


class OutlineRevision(Contract):
    """An outline set by a person."""

    number: int
    """Number of the revision, from 1."""
    topics: tuple[OutlineTopic, ...]


class BudgetRevision(Contract):
    """New bounds during the run, from people or by the effort that its question is worth."""

    number: int = 0
    """Number of revisions; grants of earlier ones are void."""
    budget: BudgetBounds = BudgetBounds()
    by_effort: bool = False
    """Whether these are the bounds of the run's effort: a call then reserves its expected usage."""
    unasked: BudgetAmounts = BudgetAmounts()
    """Amounts that each part of the run may use of an effort without a request."""
    left: BudgetAmounts = BudgetAmounts()
    """Amounts of an effort that were not used before its bounds applied."""


class InputRequest(Contract):
    """A question of a run to a person."""

    reporter: str
    """Workflow id of the asking workflow."""
    number: int
    """Number of the question, repeated in the reply."""
    kind: Literal["plan", "clarification"]
    """Whether a plan waits for approval, or something is unclear."""
    text: str
    assumption: str
    """Assumption made without an answer."""
    deadline: str = ""
    """Time until which the run waits, ISO 8601 in UTC; pauses extend it."""
    accepts_feedback: bool = False
    """Whether feedback is a reply, which rejects what waits for approval."""


class InputReply(Contract):
    """Reply to a question of a run."""

    number: int
    feedback: str = ""
    """Answer together with its question, as feedback; empty without an answer or if nothing is to be added."""
    text: str = ""
    """Answer alone."""
    approved: bool = False
    """Whether a person has approved what waited."""
