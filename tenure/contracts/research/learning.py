"""Learning: what a run takes over from earlier ones, and what it leaves to later ones."""

from datetime import datetime

from pydantic import Field

from tenure.contracts.base import Contract, RunId
from tenure.contracts.evidence.filters import Filter
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.evidence.retrieval import Strategy
from tenure.contracts.knowledge.memory import StrategyRecord
from tenure.contracts.run.run import QueryType


class Related(Contract):
    """An earlier run on a related question."""

    run: RunId
    """The run."""
    question: str
    """What it was asked; empty where only a fact is known of it."""
    at: datetime
    """When it ended."""
    relevance: float
    """How near its question, or that fact, is to the present question."""


class KnownFact(Contract):
    """What an earlier run has found supported. It is no evidence, and has to be found and cited anew."""

    text: str
    """The statement."""
    run: RunId
    """The run that has left it; empty where no run has."""
    relevance: float
    """How near it is to the present question."""
    support: int = 0
    """Sources that say it independently of each other."""


class InheritRequest(Contract):
    """What of related runs may a run begin with?"""

    runs: tuple[Related, ...] = Field(max_length=20)
    """The runs, the nearest first."""
    question: str
    """The question of the run that begins."""
    corpora: tuple[str, ...]
    """Corpora in which a passage has to stand still."""
    filters: tuple[Filter, ...] = ()
    """What a passage has to meet besides."""
    min_relevance: float
    """Normalised relevance that the best passage needs to the question, or nothing is left."""
    most: int = Field(default=24, ge=1, le=100)
    """Passages at the most."""


class Inheritance(Contract):
    """A passage that an earlier run has accepted."""

    passage: PassageRef
    """The passage, with its relevance to the present question."""
    query: str
    """The query that found it then."""
    run: RunId
    """The run."""


class Inherited(Contract):
    """What related runs leave."""

    passages: tuple[Inheritance, ...] = ()
    """Passages that still stand, most relevant first."""
    unchanged: tuple[RunId, ...] = ()
    """Runs since whose end no document of the corpora has come or changed: their queries would find the same again."""


class Experience(Contract):
    """What a run begins with beside its question."""

    related: tuple[Related, ...] = ()
    """Earlier runs on related questions."""
    passages: tuple[Inheritance, ...] = ()
    """Passages they have accepted, and that are evidence for the present question as well."""
    queries: tuple[str, ...] = ()
    """Queries they have made, which would find the same again."""
    records: tuple[StrategyRecord, ...] = ()
    """How strategies did in earlier runs."""
    advice: tuple[str, ...] = ()
    """What earlier runs have learned about going on."""
    facts: tuple[KnownFact, ...] = ()
    """What earlier runs have found on it, the best first."""


class Practised(Contract):
    """How a strategy did in a run."""

    kind: QueryType
    """The type of the tasks' queries."""
    strategy: Strategy
    """The strategy."""
    tasks: int = 0
    """Tasks that searched so."""
    searches: int = 0
    """Searches they made."""
    accepted: int = 0
    """Passages of theirs that were accepted."""
    score: float = 0.0
    """Sum of how well each task went, from 0 to 1."""
