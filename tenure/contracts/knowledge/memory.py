"""Memory: what is kept from run to run, where it comes from, and how it is asked for (document 003, memory systems).

Whoever remembers says what and where from; what kind of memory that is, how much it matters and whether enough
sources stand behind it is found out where memories are kept.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from tenure.contracts.base import Contract, RunId, SourceId
from tenure.contracts.run.run import QueryType

MemoryKind = Literal["short_term", "long_term", "episodic", "semantic", "procedural"]
"""What holds for a while; what holds; how a run went; what entities have to do with each other; how to go about
something."""

Outcome = Literal["answered", "partial", "no_evidence", "failed"]
"""How a run ended, for the question it was asked."""

LASTING: tuple[MemoryKind, ...] = ("long_term", "episodic", "semantic", "procedural")
"""Every kind but the one that is only for a while."""

Unit = Annotated[float, Field(ge=0, le=1)]
"""A share, from 0 to 1."""

LONGEST = 4_000
"""Characters of a memory."""


class Origin(Contract):
    """Where a memory comes from."""

    run: RunId = RunId("")
    """The run that remembered it; empty for a person or for a consolidation."""
    sources: tuple[SourceId, ...] = Field(default=(), max_length=200)
    """Stored sources that say it; empty for what no source says, as how a run went."""
    support: int = Field(default=0, ge=0)
    """Sources that say it independently of each other: of different hosts, and no copies. Counted where it is kept."""


class Episode(Contract):
    """How a run went."""

    is_a: Literal["episode"] = "episode"
    """What this is."""
    question: str = Field(max_length=LONGEST)
    """What was asked."""
    query_type: QueryType = "factual"
    """What kind of question it was."""
    strategy: str = Field(default="", max_length=40)
    """How was searched."""
    outcome: Outcome = "answered"
    """How it ended."""
    score: Unit = 0.0
    """How good that was."""
    cost_usd: float = Field(default=0.0, ge=0)
    """What it cost."""
    searches: int = Field(default=0, ge=0)
    """How many searches it took."""
    queries: tuple[str, ...] = Field(default=(), max_length=20)
    """Queries that found what was accepted, the best first."""


class Procedure(Contract):
    """How to go about something."""

    is_a: Literal["procedure"] = "procedure"
    """What this is."""
    situation: str = Field(max_length=LONGEST)
    """When it applies."""
    advice: str = Field(max_length=LONGEST)
    """What to do then."""
    query_type: QueryType | None = None
    """Kind of question that it is for; None for any."""
    strategy: str = Field(default="", max_length=40)
    """How to search, where it says that."""
    successes: int = Field(default=0, ge=0)
    """How often it went well."""
    failures: int = Field(default=0, ge=0)
    """How often it did not."""


class Fact(Contract):
    """What two entities have to do with each other; the graph of a corpus knows them by the same keys."""

    is_a: Literal["fact"] = "fact"
    """What this is."""
    subject: str = Field(max_length=400)
    """An entity, as it is written."""
    predicate: str = Field(max_length=400)
    """What the subject does to the object or is for it."""
    object: str = Field(max_length=400)
    """Another entity."""


Details = Annotated[Episode | Procedure | Fact, Field(discriminator="is_a")]
"""What is known of a memory besides its words."""


class Impression(Contract):
    """Something to be remembered."""

    text: str = Field(min_length=1, max_length=LONGEST)
    """What it is, in words that stand on their own."""
    kind: MemoryKind | None = None
    """What kind of memory; None for what its details or its words say."""
    origin: Origin = Origin()
    """Where it comes from."""
    confidence: Unit = 0.7
    """How sure it is."""
    importance: Unit | None = None
    """How much it matters; None for what can be told from it."""
    valence: float = Field(default=0.0, ge=-1, le=1)
    """How it went: -1 badly, 1 well."""
    details: Details | None = None
    """What is known besides the words."""


class Memory(Contract):
    """Something that is remembered."""

    id: str
    """Hash of owner, run and words: remembering the same again leaves one memory."""
    kind: MemoryKind
    """What kind it is."""
    owner: str = ""
    """Whose it is; nobody else is reminded of it."""
    text: str
    """What it is."""
    made: datetime
    """Since when it is remembered."""
    origin: Origin = Origin()
    """Where it comes from."""
    confidence: Unit = 0.7
    """How sure it is."""
    importance: Unit = 0.5
    """How much it matters."""
    uses: int = Field(default=0, ge=0)
    """How often a run was reminded of it."""
    last_used: datetime | None = None
    """When that was the last time."""
    valence: float = Field(default=0.0, ge=-1, le=1)
    """How it went: -1 badly, 1 well."""
    awaiting: bool = False
    """Whether it comes from pages of the web and waits for another one that says it; nobody is reminded of it then."""
    merged: int = Field(default=1, ge=1)
    """How many memories it was made of."""
    disputed: str = ""
    """A memory that says otherwise and has more behind it; this one then counts less."""
    details: Details | None = None
    """What is known besides the words."""


class RememberRequest(Contract):
    """Keep some impressions."""

    impressions: tuple[Impression, ...] = Field(max_length=200)
    """What is to be kept."""
    owner: str = ""
    """Whose they are."""
    now: datetime
    """The present time, of the workflow."""


class RememberReply(Contract):
    """What became of impressions."""

    memories: tuple[str, ...] = ()
    """Ids of the memories, in order; of two impressions that say the same, the same."""
    kinds: tuple[MemoryKind, ...] = ()
    """What kind each became."""
    promoted: int = 0
    """How many were taken for lasting though they were said for a while only."""
    awaiting: int = 0
    """How many wait for a second source."""


class Recollecting(Contract):
    """What is remembered about this?"""

    query: str = Field(min_length=1)
    """What it is about."""
    owner: str = ""
    """Who wants to know."""
    kinds: tuple[MemoryKind, ...] = LASTING
    """Kinds of memories to look through."""
    most: int = Field(default=10, ge=1, le=100)
    """Memories wanted."""
    min_relevance: Unit = 0.25
    """Normalised relevance that a memory needs."""
    corpora: tuple[str, ...] = ()
    """Corpora whose graph leads from what the query names to what stands beside it, and to facts about that."""
    now: datetime
    """The present time, of the workflow."""
    occasion: str = ""
    """What asks, as a run's id: a use is counted once for each. Empty where nothing is counted."""
    statistics: bool = False
    """Whether to tell how strategies did in all episodes of the owner."""


class Recollected(Contract):
    """A memory that came to mind, and why."""

    memory: Memory
    """The memory."""
    score: float
    """By which it is ranked: the product of what follows."""
    relevance: float
    """Normalised relevance to the query."""
    freshness: float
    """What time has left of it."""
    weight: float
    """What its importance and sureness make of it."""
    practice: float
    """What its use makes of it."""


class StrategyRecord(Contract):
    """How one way of searching did with one kind of question."""

    query_type: QueryType
    """The kind of question."""
    strategy: str
    """How was searched."""
    episodes: int
    """Runs that did so."""
    score: float
    """Sum of their scores."""
    searches: int = 0
    """Sum of their searches."""


class Recollection(Contract):
    """What is remembered."""

    memories: tuple[Recollected, ...] = ()
    """Memories, the best first."""
    strategies: tuple[StrategyRecord, ...] = ()
    """How strategies did, where that was asked for."""


class ForgetRequest(Contract):
    """Forget some memories; what is given has to hold together, and something has to be given."""

    owner: str = ""
    """Whose memories."""
    ids: tuple[str, ...] = Field(default=(), max_length=1000)
    """These memories."""
    run: str = ""
    """Those that this run remembered."""
    source: str = ""
    """Those that this source alone says; from others it is taken away as support."""
    kinds: tuple[MemoryKind, ...] = ()
    """Those of these kinds."""
    everything: bool = False
    """All of the owner."""


class ForgetReply(Contract):
    """What was forgotten."""

    forgotten: int = 0
    """How many memories."""


class MemoriesRequest(Contract):
    """A page of an owner's memories."""

    owner: str = ""
    """Whose."""
    kinds: tuple[MemoryKind, ...] = ()
    """Kinds wanted; empty for all."""
    after: str = ""
    """Id after which the page begins."""
    most: int = Field(default=200, ge=1, le=500)
    """Memories on it at the most; of long ones there are fewer."""


class MemoriesReply(Contract):
    """A page of memories, in the order of their ids."""

    memories: tuple[Memory, ...] = ()
    """The memories."""
    of: int = 0
    """How many the owner has of these kinds."""


class MemoryRequest(Contract):
    """What a person wants with memories; what is given is done."""

    page: MemoriesRequest | None = None
    """Show a page of them."""
    search: Recollecting | None = None
    """Search them."""
    forget: ForgetRequest | None = None
    """Forget some."""


class MemoryReply(Contract):
    """What came of it."""

    page: MemoriesReply = MemoriesReply()
    """The page."""
    found: Recollection = Recollection()
    """What was found."""
    forgot: ForgetReply = ForgetReply()
    """What was forgotten."""


ConsolidationStep = Literal["embed", "promote", "compare", "abstract", "forget"]
"""Make anew the vectors that come from another embedding model; keep for good what was for a while and proved useful;
join what says the same, and decide between what contradicts; draw from episodes how to go about things; forget by
policy."""


class MemoryPolicy(Contract):
    """How memories age, join and go."""

    half_life_days: float = Field(default=90.0, gt=0, le=36_500)
    """Days after which a memory that nobody used has half its freshness; episodes have a third of them."""
    short_term_hours: float = Field(default=24.0, gt=0, le=8_760)
    """Hours for which a short-term memory stays."""
    waiting_days: float = Field(default=30.0, gt=0, le=3_650)
    """Days for which what one page says waits for a second one."""
    same: float = Field(default=0.94, ge=0.8, le=1)
    """Cosine from which two memories may say the same."""
    forget_below: float = Field(default=0.02, ge=0, le=1)
    """Strength below which a memory goes: its importance times its freshness."""
    most: int = Field(default=100_000, ge=100, le=10_000_000)
    """Memories of one owner; of more, the weakest go."""


class ConsolidationRequest(Contract):
    """Do one step of a consolidation."""

    step: ConsolidationStep
    """Which."""
    now: datetime
    """The present time, of the workflow."""


class ConsolidationProgress(Contract):
    """How far a step is; travels in heartbeats."""

    step: ConsolidationStep
    """What is being done."""
    done: int = 0
    """Memories looked at."""
    total: int = 0
    """Memories to look at."""


class ConsolidationStepReport(Contract):
    """What came of a step."""

    step: ConsolidationStep
    """What was done."""
    looked_at: int = 0
    """Memories it looked at."""
    changed: int = 0
    """Memories that were written anew, made or forgotten."""
    seconds: float = 0.0
    """Wall time."""


class ConsolidationReport(Contract):
    """What came of a consolidation."""

    steps: tuple[ConsolidationStepReport, ...] = ()
    """Its steps in order."""
