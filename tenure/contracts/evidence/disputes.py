"""Disputes between sources: contradictory statements, evidence for and against a position, and their outcomes."""

from typing import Literal

from tenure.contracts.base import Contract, SourceId
from tenure.contracts.evidence.passages import Citation, PassageRef

DisputeSide = Literal["a", "b"]
"""Side of a dispute: the first or the second statement; for a position, for it or against it."""

DisputeStatus = Literal["resolved", "disputed", "not_searched"]
"""Result of the search for a primary or newer source: it decides the dispute, does not decide it, or was not made."""


class SideOfDispute(Contract):
    """Side that a source takes in a dispute, with what speaks for the source."""

    side: DisputeSide
    """Side that it takes: the first or the second statement; for a position, for it (a) or against it (b)."""
    published: str = ""
    """Publication date as the source states it; empty if unknown."""
    primary: str = ""
    """Reason to regard it as a primary source; empty if none is known."""
    found: bool = False
    """Whether the search for a primary or newer source found it."""


class DisputeSource(SideOfDispute):
    """A source that takes a side in a dispute."""

    citation: Citation


class DisputeSources(Contract):
    """Passages that take a side in a dispute."""

    found: tuple[DisputeSource, ...] = ()
    """One entry for each such passage."""


class DisputeDecision(Contract):
    """Decision of a dispute after the search for a primary or newer source."""

    status: DisputeStatus
    """Whether the dispute is resolved, still disputed, or was not searched for."""
    side: DisputeSide | None = None
    """Side of the primary or newer source; null if the dispute is not resolved."""
    reason: str
    """Reason, in sentences for readers."""
    query: str = ""
    """Query of the search; empty if there was none."""


class DisputeOutcome(DisputeDecision):
    """Decision of a dispute with the sources of both sides."""

    sources: tuple[DisputeSource, ...] = ()
    """Sources of both sides, those that the search found last."""


class Contradiction(Contract):
    """Two statements of different sources that cannot both be true."""

    a: Citation
    b: Citation
    severity: Literal["low", "medium", "high"]
    about: str = ""
    outcome: DisputeOutcome | None = None
    """Outcome of the dispute; None if the run ended before."""


class SidedPassage(Contract):
    """A passage for or against a position."""

    passage: PassageRef
    citation: Citation


class PositionEvidence(Contract):
    """Evidence that contrastive search found for and against a position."""

    position: str
    """The position, which may be worded as a question."""
    topic: str = ""
    """Heading of the topic that the task served."""
    supporting: tuple[SidedPassage, ...] = ()
    """Passages for the position, best first."""
    contradicting: tuple[SidedPassage, ...] = ()
    """Passages against the position, best first."""
    neutral: int = 0
    """Number of passages that take no side."""
    outcome: DisputeOutcome | None = None
    """Outcome of the dispute; None if only one side was found or the run ended before."""

    @property
    def is_disputed(self) -> bool:
        """Whether there is evidence on both sides."""
        return bool(self.supporting and self.contradicting)


class SourceStanding(Contract):
    """Date and origin of a source."""

    source: SourceId
    title: str
    """Title, or the URI of a source without one."""
    published: str = ""
    """Publication date as the source states it; empty if unknown."""
    primary: str = ""
    """Reason to regard it as a primary source; empty if none is known."""
