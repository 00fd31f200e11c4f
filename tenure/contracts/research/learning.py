"""Experience of earlier runs that a run starts from, and the outcomes that it leaves to later ones."""

from datetime import datetime

from pydantic import Field

from tenure.contracts.base import Contract, RunId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.evidence.retrieval import EarlierPassages, RetrievalStrategy
from tenure.contracts.knowledge.memory import MemorySearchRequest, StrategyRecord
from tenure.contracts.run.run import QueryType


class RelatedRun(Contract):
    """An earlier run on a related question."""

    run: RunId
    question: str
    """Its question; empty if only a fact of it is known."""
    ended_at: datetime
    relevance: float
    """Relevance of its question, or of that fact, to the present question."""


class KnownFact(Contract):
    """A statement that an earlier run found supported. It is not evidence: it must be found and cited again."""

    text: str
    run: RunId
    """Run that stored it; empty if it comes from no run."""
    relevance: float
    """Relevance to the present question."""
    support: int = 0
    """Number of independent sources that state it."""
    corpora: tuple[str, ...] = ()
    """Corpora that it comes from; empty for the web, or for a fact of no run."""


class PersonalPassage(Contract):
    """Statement of a person that was remembered: evidence, cited as such."""

    text: str
    passage: PassageRef
    """The statement as a passage, with its relevance to the present question."""


class InheritRequest(EarlierPassages):
    """Request for the passages of related runs that a new run can start with."""

    runs: tuple[RelatedRun, ...] = Field(default=(), max_length=20)
    """Related runs, most relevant first."""
    question: str


class InheritedPassage(Contract):
    """A passage that an earlier run accepted."""

    passage: PassageRef
    """Passage, with its relevance to the present question."""
    query: str
    """Query that found it."""
    run: RunId


class InheritReply(Contract):
    """Passages inherited from related runs."""

    passages: tuple[InheritedPassage, ...] = ()
    """Passages that still exist, most relevant first."""
    unchanged: tuple[RunId, ...] = ()
    """Runs since whose end no document of the corpora was added or changed, so that their queries would find the same.
    """


class ExperienceRequest(Contract):
    """Request for the knowledge of earlier runs with which a run starts."""

    run: RunId
    memories: MemorySearchRequest
    """Search of its owner's memories for its question, whatever their kind."""
    findings: InheritRequest | None = None
    """Passages of related runs that it may use, without the runs; None if it reads no corpus."""
    inherits: bool = True
    """Whether it starts with these passages instead of searching for them again."""
    repeats_queries: bool = True
    """Whether the queries of earlier runs find the same again, as long as no document changes."""
    personal_corpus: str = ""
    """Corpus to whose results the statements of its owner are added; empty to use none of them."""
    reuses_answers: bool = False
    """Whether a model answers its prompts, and identical ones from a cache."""


class Experience(Contract):
    """Knowledge of earlier runs with which a run starts."""

    repeated: tuple[RunId, ...] = ()
    """Earlier runs on the same question and the same documents, whose memories are left out."""
    related: tuple[RelatedRun, ...] = ()
    passages: tuple[InheritedPassage, ...] = ()
    """Passages they accepted that are evidence for the present question, too."""
    queries: tuple[str, ...] = ()
    """Their queries that would find the same again."""
    records: tuple[StrategyRecord, ...] = ()
    """Results of retrieval strategies in earlier runs."""
    advice: tuple[str, ...] = ()
    """Procedures learned from earlier runs, for a program its lessons; most relevant first."""
    facts: tuple[KnownFact, ...] = ()
    """Facts that earlier runs found, best first."""
    personal: tuple[PersonalPassage, ...] = ()
    """Facts and procedures that the owner has stated, best first."""
    preferences: tuple[str, ...] = ()
    """Preferences of the owner of the run, oldest first."""


class StrategyOutcome(Contract):
    """Results of a retrieval strategy in a run."""

    query_type: QueryType
    strategy: RetrievalStrategy
    tasks: int = 0
    """Number of tasks that used it."""
    searches: int = 0
    accepted: int = 0
    """Number of their passages that were accepted."""
    score: float = 0.0
    """Sum of the tasks' scores, each from 0 to 1."""
