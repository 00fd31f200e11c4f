"""Looping retrieval: how a task searches, and what every strategy brings back (document 003)."""

from typing import Literal

from pydantic import Field

from tenure.contracts.base import ChunkId, Contract, RunId
from tenure.contracts.evidence.filters import Filter
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.evidence.react import ReactStep

Strategy = Literal["direct", "iterative", "multi_hop", "hierarchical", "contrastive", "memory", "react"]
"""How a task searches: once; in other words until the best passages stay the same; each search with what the one
before has named; broadly and then closer group by group; for, against and beside a position; led by what earlier
research on the same corpora has accepted; or step by step with tools, as what was observed suggests."""

Purpose = Literal["next_hop", "reword", "narrow", "supporting", "contradicting"]
"""What a further query is for."""

Side = Literal["supporting", "contradicting", "neutral"]
"""What a passage says to a position."""

Ending = Literal["complete", "converged", "nothing_new", "bound", "stopped", "astray"]
"""Why a strategy made no further search: it has what it was sent for; its best passages stay the same; nothing came
that it did not have; its searches or steps are used up; a person or a budget said stop; or its model named nothing
that could be done, again and again."""


class Retrieved(Contract):
    """A passage with what led to it."""

    passage: PassageRef
    """The passage, with its scores and ranks in the search that found it first."""
    query: str
    """The query that found it first."""
    round: int = Field(default=1, ge=1)
    """Round or hop of that query, from 1."""
    cluster: int | None = None
    """Group of passages that the query looked into, from 1."""
    side: Side | None = None
    """What it says to the position that was searched about."""
    remembered: bool = False
    """Whether an earlier run has accepted it, and no search of this one found it."""
    score: float = 0.0
    """Fused over all searches of the strategy; comparable within one retrieval only."""


class Retrieval(Contract):
    """What a strategy has found; of the same form for all of them."""

    strategy: Strategy
    """How it searched."""
    passages: tuple[Retrieved, ...] = ()
    """Every passage once, best first."""
    queries: tuple[str, ...] = ()
    """Queries in the order in which they were made."""
    steps: tuple[ReactStep, ...] = ()
    """Thoughts, actions and observations, where it went step by step."""
    answer: str = ""
    """What it has answered then, with numbers of passages; no text of a report."""
    ending: Ending = "complete"
    """Why it made no further one."""


class GroupRequest(Contract):
    """Passages to be grouped by what they are about."""

    passages: tuple[PassageRef, ...]
    """The passages, best first."""
    most: int = Field(default=3, ge=1)
    """Groups at the most."""


class GroupReply(Contract):
    """Groups of passages that resemble each other."""

    groups: tuple[tuple[PassageRef, ...], ...] = ()
    """The groups, the densest first; passages that resemble no others are in none."""


class RecallRequest(Contract):
    """A question to what was accepted before."""

    query: str
    """What is looked for."""
    run: RunId
    """The run that asks."""
    corpora: tuple[str, ...]
    """Corpora in which a remembered passage has to stand still."""
    filters: tuple[Filter, ...] = ()
    """What a remembered passage has to meet besides."""
    min_relevance: float
    """Normalised relevance to the query from which a remembered passage counts."""
    most: int = Field(default=12, ge=1, le=100)
    """Remembered passages at the most."""


class Recalled(Contract):
    """What is remembered of earlier research."""

    known: tuple[ChunkId, ...] = ()
    """Passages that the run itself has accepted already."""
    passages: tuple[PassageRef, ...] = ()
    """What other runs have accepted and is near the query, best first."""
    queries: tuple[str, ...] = ()
    """Queries that found these passages, the one that found most first."""
