"""Follow-up questions: what is asked of a run's knowledge base after, or while, it writes its report.

A thread is the short-term memory of a conversation. It travels from answer to answer, so that no process has to
live between two questions.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from tenure.contracts.base import Contract, RunId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.result.result import ResultClaim, SourceEntry
from tenure.contracts.run.run import Degraded, Limits, Usage

REMEMBERED = 6
"""Exchanges that a thread keeps; older ones are forgotten."""


class Exchange(Contract):
    """A question and its answer."""

    question: str
    """The question as it was put."""
    asked: str
    """The same so that it stands alone, as it was searched for."""
    answer: str = ""
    """The answer's text without marks, shortened; empty where nothing was found."""
    passages: tuple[PassageRef, ...] = ()
    """Passages that the answer cites."""


class Thread(Contract):
    """What a conversation about a run remembers."""

    exchanges: tuple[Exchange, ...] = ()
    """The latest exchanges, the oldest first."""
    sources: tuple[SourceId, ...] = ()
    """Sources that have a number, in its order: those of the report, then those of the answers."""
    read_web: bool = False
    """Whether pages of the web were read for it, so that they belong to what is searched."""


class AskRequest(Contract):
    """A follow-up question."""

    run: RunId
    """The run it is about."""
    topic: str
    """What the run was asked."""
    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
    """The question."""
    corpora: tuple[str, ...] = Field(min_length=1)
    """Corpora to read."""
    limits: Limits = Limits()
    """Bounds of the answer; the web only where it may be read now."""
    search: bool = False
    """Whether a second search may be made, for what the first has not found."""
    thread: Thread = Thread()
    """What was said before."""


class Answer(Contract):
    """The answer to a follow-up question."""

    run: RunId
    """The run it is about."""
    question: str
    """The question as it was put."""
    asked: str
    """The same so that it stands alone, as it was searched for."""
    status: Literal["answered", "no_evidence"]
    """Whether anything was found that answers it."""
    markdown: str = ""
    """The answer with numeric citation marks."""
    claims: tuple[ResultClaim, ...] = ()
    """Its sentences."""
    sources: tuple[SourceEntry, ...] = ()
    """The sources it cites; one that the report cites has its number from there."""
    usage: Usage = Usage()
    """What the answer used."""
    degraded: tuple[Degraded, ...] = ()
    """Calls in which a twin stood in for the model."""
    notes: tuple[str, ...] = ()
    """What a reader should know about how it came about."""
    thread: Thread = Thread()
    """What is remembered for the next question."""
