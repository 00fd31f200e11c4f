"""Long-term memory across runs: memories, their origin, and the requests that store, search and delete them.

A caller gives the text and the origin of a memory. Its kind, its importance and whether enough independent sources
confirm it are determined when it is stored.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from tenure.contracts.base import Contract, RunId, SourceId
from tenure.contracts.choices import MemoryKind, WritableKind
from tenure.contracts.run.run import QueryType

EpisodeOutcome = Literal["answered", "partial", "no_evidence", "failed"]
"""Result of a run with respect to its question."""

PERMANENT_KINDS: tuple[MemoryKind, ...] = ("long_term", "episodic", "semantic", "procedural", "preference")
"""All kinds except short-term memories."""

UnitInterval = Annotated[float, Field(ge=0, le=1)]
"""A number from 0 to 1."""

MAX_MEMORY_CHARS = 4_000
"""Maximum length of a memory in characters."""

MAX_FACT_CHARS = 400
"""Maximum length of the subject, the relation and the object of a fact in characters."""

MAX_PREFERENCE_CHARS = 500
"""Maximum length of a preference in characters: every run of its owner reads it."""

MAX_PREFERENCES = 20
"""Maximum number of preferences of an owner."""

MEMORY_URI = "memory:"
"""Beginning of the URI of a source that is the memory of a person's statement."""


def is_personal(uri: str) -> bool:
    """Return whether a source is the memory of a person's statement."""
    return uri.startswith(MEMORY_URI)


class MemoryOrigin(Contract):
    """Origin of a memory."""

    run: RunId = RunId("")
    """Run that stored it; empty for a person or a consolidation."""
    sources: tuple[SourceId, ...] = Field(default=(), max_length=200)
    """Stored sources that state it; empty if no source does, as for the course of a run."""
    support: int = Field(default=0, ge=0)
    """Number of independent sources that state it: from different hosts and not copies. Computed when it is stored."""
    corpora: tuple[str, ...] | None = None
    """Corpora that its text comes from, without web pages; a run recalls it only if it may read all of them. For a new
    memory all corpora that its run could read. None if unknown: then no run recalls it, unless it names neither a run
    nor a source."""


class EpisodeDetails(Contract):
    """Course and result of a run."""

    type: Literal["episode"] = "episode"
    question: str = Field(max_length=MAX_MEMORY_CHARS)
    query_type: QueryType = "factual"
    strategy: str = Field(default="", max_length=40)
    outcome: EpisodeOutcome = "answered"
    score: UnitInterval = 0.0
    """Quality of the result."""
    cost_usd: float = Field(default=0.0, ge=0)
    searches: int = Field(default=0, ge=0)
    queries: tuple[str, ...] = Field(default=(), max_length=20)
    """Queries whose results were accepted, most productive first."""


ProcedureTask = Literal["research", "program", "repository"]
"""Kind of run: research on a question, writing a program, or work in a repository."""


class ProcedureDetails(Contract):
    """Advice on how to proceed in a situation."""

    type: Literal["procedure"] = "procedure"
    task: ProcedureTask = "research"
    """Kind of run to which it applies."""
    situation: str = Field(max_length=MAX_MEMORY_CHARS)
    advice: str = Field(max_length=MAX_MEMORY_CHARS)
    repository: str = Field(default="", max_length=MAX_MEMORY_CHARS)
    """Path or URL of the repository to which it applies, for work in one."""
    query_type: QueryType | None = None
    """Type of question to which it applies; None for any."""
    strategy: str = Field(default="", max_length=40)
    successes: int = Field(default=0, ge=0)
    """Number of runs in which it succeeded."""
    failures: int = Field(default=0, ge=0)
    """Number of runs in which it failed."""


class FactDetails(Contract):
    """Relation of two entities; the entity graph of a corpus uses the same keys."""

    type: Literal["fact"] = "fact"
    subject: str = Field(max_length=MAX_FACT_CHARS)
    """Entity, as written."""
    predicate: str = Field(max_length=MAX_FACT_CHARS)
    """Relation of the subject to the object."""
    object: str = Field(max_length=MAX_FACT_CHARS)
    """Entity, as written."""


MemoryDetails = Annotated[EpisodeDetails | ProcedureDetails | FactDetails, Field(discriminator="type")]
"""Structured content of a memory."""


class SourceQuote(Contract):
    """A verbatim quote of a source."""

    source: SourceId
    start: int = Field(ge=0)
    """Offset of its first character in the text of the source."""
    text: str


class MemoryContent(Contract):
    """Content and origin of a memory."""

    origin: MemoryOrigin = MemoryOrigin()
    confidence: UnitInterval = 0.7
    valence: float = Field(default=0.0, ge=-1, le=1)
    """Success of what it describes: -1 failure, 1 success."""
    details: MemoryDetails | None = None


class NewMemory(MemoryContent):
    """A memory to be stored."""

    text: str = Field(min_length=1, max_length=MAX_MEMORY_CHARS)
    """Content, understandable without context."""
    rests_on_sources: bool = False
    """Whether the text rests on the sources of its origin alone; it then comes from their corpora, and not from all
    corpora that the run could read."""
    kind: MemoryKind | None = None
    """Kind of memory; None to derive it from the details or the text."""
    importance: UnitInterval | None = None
    """Importance; None to derive it from the content."""
    quotes: tuple[SourceQuote, ...] = Field(default=(), max_length=20)
    """Quotes that state a fact; the passages that contain them get it in the graph of their corpora."""


class Memory(MemoryContent):
    """A stored memory."""

    id: str
    """Hash of owner, run and text; storing the same memory twice leaves one."""
    kind: MemoryKind
    owner: str = ""
    """Owner; memories are recalled only for their owner."""
    text: str
    created_at: datetime
    """Time at which it was first stored, or edited by a person."""
    importance: UnitInterval = 0.5
    use_count: int = Field(default=0, ge=0)
    """Number of runs that recalled it."""
    last_used_at: datetime | None = None
    """Time of the last recall."""
    unconfirmed: bool = False
    """Whether it comes from web pages and waits for a second independent source; it is not recalled until then."""
    merged_count: int = Field(default=1, ge=1)
    """Number of memories merged into it."""
    contradicted_by: str = ""
    """Id of a better supported memory that contradicts it; its score is then halved."""


class RememberRequest(Contract):
    """Memories to store."""

    memories: tuple[NewMemory, ...] = Field(max_length=200)
    owner: str = ""
    now: datetime
    """Present time, from the workflow."""


class RememberReply(Contract):
    """Result of storing memories."""

    memories: tuple[str, ...] = ()
    """Ids of the memories in the order of the request; equal for memories with the same content."""
    kinds: tuple[MemoryKind, ...] = ()
    unconfirmed: int = 0
    """Number of memories that wait for a second source."""


class MemorySearchRequest(Contract):
    """A search of memories."""

    query: str = Field(min_length=1)
    owner: str = ""
    kinds: tuple[MemoryKind, ...] = PERMANENT_KINDS
    limit: int = Field(default=10, ge=1, le=100)
    min_relevance: UnitInterval = 0.25
    """Minimum normalised relevance of a memory."""
    corpora: tuple[str, ...] = ()
    """Corpora that may be read: only memories are recalled that come from these corpora, from the web or from no run,
    and the entity graph of these corpora extends the query to related entities and facts about them."""
    unrestricted: bool = False
    """Whether memories of all corpora are returned, for a person who inspects the memories of an owner."""
    without_runs: tuple[RunId, ...] = ()
    """Runs whose memories are left out."""
    now: datetime
    """Present time, from the workflow."""
    used_by: str = ""
    """Id of the user of the memories, such as a run; each counts one use. Empty to count none."""
    include_strategies: bool = False
    """Whether to return statistics of retrieval strategies over all episodes of the owner."""
    include_preferences: bool = False
    """Whether to return all preferences of the owner, whatever the query."""


class ScoredMemory(Contract):
    """A recalled memory with its score."""

    memory: Memory
    score: float
    """Product of relevance, freshness, importance, confidence and use, by which memories are ranked."""
    relevance: float
    """Normalised relevance to the query."""


class StrategyRecord(Contract):
    """Results of one retrieval strategy for one type of question."""

    query_type: QueryType
    strategy: str
    episodes: int
    """Number of runs."""
    score: float
    """Sum of their scores."""
    searches: int = 0
    """Sum of their searches."""


class MemorySearchReply(Contract):
    """Memories found by a search."""

    memories: tuple[ScoredMemory, ...] = ()
    """Memories, best first."""
    strategies: tuple[StrategyRecord, ...] = ()
    """Statistics of retrieval strategies, if requested."""
    preferences: tuple[Memory, ...] = ()
    """Preferences of the owner, oldest first, if requested."""


class WriteMemoryRequest(Contract):
    """A memory that a person writes, or a new text for a stored memory."""

    text: str = Field(min_length=1, max_length=MAX_MEMORY_CHARS)
    """Content, understandable without context."""
    kind: WritableKind | None = None
    """Kind of a new memory; None to derive it from the fact or the text."""
    fact: FactDetails | None = None
    """Relation that the text states; None to extract it from a semantic memory's text."""
    replaces: str = ""
    """Id of the memory whose text is replaced; its kind stays. Empty for a new memory."""
    owner: str = ""
    now: datetime


WriteProblem = Literal["", "duplicate", "unknown", "episode", "too_many", "too_long"]
"""Reason for which nothing was written: the text is stored already, no memory has the id, an episode cannot be edited,
the owner has the maximum number of preferences, or the text is too long for a preference."""


class WriteMemoryReply(Contract):
    """Result of writing a memory."""

    memory: Memory | None = None
    """The stored memory, or the one that already has this text."""
    problem: WriteProblem = ""
    """Reason for which nothing was written; empty on success."""


class ForgetRequest(Contract):
    """Memories to delete; all given conditions must hold, and at least one is required."""

    owner: str = ""
    ids: tuple[str, ...] = Field(default=(), max_length=1000)
    run: str = ""
    """Memories that this run stored."""
    source: str = ""
    """Memories supported by this source alone; other memories lose it as support."""
    kinds: tuple[MemoryKind, ...] = ()
    """Memories of these kinds."""
    all_memories: bool = False
    """All memories of the owner."""


class ForgetReply(Contract):
    """Result of deleting memories."""

    forgotten: int = 0


class MemoriesRequest(Contract):
    """Request for a page of an owner's memories."""

    owner: str = ""
    kinds: tuple[MemoryKind, ...] = ()
    """Kinds to list; empty for all."""
    after: str = ""
    """Id after which the page starts."""
    limit: int = Field(default=200, ge=1, le=500)
    """Maximum number of memories; fewer are returned if they are long."""


class MemoriesReply(Contract):
    """A page of memories, ordered by id."""

    memories: tuple[Memory, ...] = ()
    total: int = 0
    """Number of the owner's memories of these kinds."""


class MemoryRequest(Contract):
    """Actions of the `memory` command; every given action is performed."""

    page: MemoriesRequest | None = None
    search: MemorySearchRequest | None = None
    forget: ForgetRequest | None = None
    write: WriteMemoryRequest | None = None


class MemoryReply(Contract):
    """Results of the actions."""

    page: MemoriesReply = MemoriesReply()
    found: MemorySearchReply = MemorySearchReply()
    forgotten: ForgetReply = ForgetReply()
    written: WriteMemoryReply = WriteMemoryReply()


ConsolidationStep = Literal["embed", "promote", "compare", "abstract", "forget"]
"""Recompute vectors of an outdated embedding model; make useful short-term memories permanent; merge equal memories and
resolve contradictions; derive procedures from episodes; delete memories by policy."""


class ConsolidationRequest(Contract):
    """Request to perform one step of a consolidation."""

    step: ConsolidationStep
    now: datetime
    """Present time, from the workflow."""
