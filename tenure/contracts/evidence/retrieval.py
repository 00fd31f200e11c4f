"""Retrieval strategies of research tasks, and their results."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from tenure.contracts.base import ChunkId, Contract, RunId
from tenure.contracts.evidence.filters import Filter
from tenure.contracts.evidence.passages import Citation, PassageRef

RetrievalStrategy = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
"""Retrieval strategy of a task: `direct` once; `iterative` with reworded queries until the best passages no longer
change; `multi_hop` with names that earlier results mention; `hierarchical` broadly and then within groups of passages;
`contrastive` for, against and neutral to a position; `memory` guided by passages that earlier research on the same
corpora accepted; `react` step by step with tools."""

QueryPurpose = Literal["next_hop", "reword", "narrow", "supporting", "contradicting"]
"""Purpose of a follow-up query."""

PassageStance = Literal["supporting", "contradicting", "neutral"]
"""Stance of a passage towards a position."""


class PassageSide(Contract):
    """Side that one passage of a batch takes."""

    passage: int
    """Number of the passage, from 1."""
    side: PassageStance
    citation: Citation | None = None
    """Sentence that takes the side; None for a neutral passage."""


class PassageSides(Contract):
    """Sides that the passages of a batch take."""

    stances: tuple[PassageSide, ...] = ()
    """One entry for each passage that was judged."""


class RetrievedPassage(Contract):
    """A passage with the query that found it."""

    passage: PassageRef
    """Passage with its scores and ranks in the search that found it first."""
    query: str
    """Query that found it first."""
    is_cited: bool = False
    """Whether an answer or a comparison that a step asked for cites it."""


class GroupRequest(Contract):
    """Passages to be clustered by subject."""

    passages: tuple[PassageRef, ...]
    """Passages, best first."""
    max_groups: int = Field(default=3, ge=1)


class EarlierPassages(Contract):
    """Passages of earlier runs that may be used."""

    corpora: tuple[str, ...]
    """Corpora that must still contain a passage."""
    filters: tuple[Filter, ...] = ()
    """Conditions that a passage must meet."""
    min_relevance: float
    """Minimum normalised relevance of the best passage to the query; otherwise none is used."""
    limit: int = Field(default=24, ge=1, le=100)


class RecallRequest(EarlierPassages):
    """Request for passages that earlier research accepted."""

    query: str
    run: RunId


class RecallReply(Contract):
    """Passages that earlier research accepted."""

    known: tuple[ChunkId, ...] = ()
    """Chunks that this run has already accepted."""
    passages: tuple[PassageRef, ...] = ()
    """Passages that other runs accepted and that are relevant to the query, best first."""
    queries: tuple[str, ...] = ()
    """Queries that found these passages, the most productive first."""
