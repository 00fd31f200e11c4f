"""A run: what was asked, under which limits, how far it is."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from tenure.contracts.base import Contract, RunId
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.filters import Filter
from tenure.contracts.evidence.reasoning import ReasoningChoice
from tenure.contracts.evidence.rerank import Rerank
from tenure.contracts.evidence.retrieval import Strategy
from tenure.contracts.evidence.web import WebScope
from tenure.contracts.run.budget import Price, Resource
from tenure.contracts.run.control import Allotment, Outline, Question
from tenure.contracts.run.notifications import Notices
from tenure.contracts.sandbox import GivenFile

Mode = Literal["auto", "research", "code"]
TaskMode = Literal["UNDEFINED", "RESEARCH", "CODE"]
Complexity = Literal["simple", "moderate", "complex"]
QueryType = Literal[
    "factual", "analytical", "comparative", "procedural", "evaluative", "hypothetical", "causal", "temporal"
]
"""The kind of answer that a question wants (document 003, "Query Type Classifier")."""
Phase = Literal[
    "ingest",
    "retrieve",
    "route",
    "outline",
    "research",
    "reason",
    "specify",
    "generate",
    "test",
    "write",
    "reflect",
    "refine",
    "compose",
    "assemble",
    "done",
]
Status = Literal[
    "running",
    "waiting",
    "paused",
    "done",
    "finished_early",
    "cancelled",
    "no_evidence",
    "failing_tests",
    "unsupported",
    "failed",
]
SectionPhase = Literal[
    "waiting", "retrieving", "drafting", "reviewing", "rewriting", "done", "no_evidence", "skipped", "failed"
]


class Limits(Contract):
    """What bounds a run; the client fills it from settings and flags, since a workflow reads no settings."""

    max_sections: int = Field(default=6, ge=1, le=12)
    """Sections of a report at the most; the question's complexity may ask for fewer."""
    language: str = Field(default="", max_length=40)
    """Language of the report; empty for that of the question."""
    max_reflexions: int = Field(default=2, ge=0, le=10)
    """Review-and-rewrite rounds of one section (document 002, Def. 6.2)."""
    max_revisions: int = Field(default=2, ge=0, le=10)
    """R_max: generations of the report as a whole (document 000 §2.3)."""
    evaluation_bar: float = Field(default=0.6, ge=0, le=1)
    """Overall score of the self-evaluation below which a report is refined once more."""
    passages_per_section: int = Field(default=14, ge=1, le=60)
    """k of context selection (document 002, Def. 6.1)."""
    max_per_source: int = Field(default=5, ge=1)
    """Passages of one source in a section's context."""
    min_relevance: float = Field(default=0.3, ge=0, le=1)
    """Normalised relevance that the best passage of a search needs, or nothing was found; others need 65 % of it."""
    filters: tuple[Filter, ...] = ()
    """Conditions on every passage that the run reads, besides what a search asks for itself."""
    web: WebScope | None = None
    """What of the web it may read; None for nothing."""
    mcp: tuple[str, ...] = ()
    """Servers of the Model Context Protocol whose tools it may call, by their names in the settings of the worker."""
    rerank: Rerank = Rerank()
    """The second stage of every search that asks for none of its own."""
    rerank_listwise: bool = False
    """Whether the chat model puts what a search has found into order."""
    parallel_sections: int = Field(default=4, ge=1, le=12)
    """Sections written at the same time."""
    effort: Complexity | None = None
    """How much work the question gets; None for what the router makes of it."""
    max_cycles: int | None = Field(default=None, ge=1, le=100)
    """Cycles of research at the most; None for what the effort suggests."""
    subagents: int | None = Field(default=None, ge=1, le=8)
    """Searches of one cycle; None for what the effort suggests."""
    strategy: Strategy | None = None
    """How every task searches; None for what its query suggests."""
    reasoning: ReasoningChoice | None = None
    """How it is reasoned from what was found; None for what the kind of question suggests."""
    reasoning_samples: int = Field(default=3, ge=2, le=9)
    """Lines of thought that vote where they do."""
    thought_breadth: int = Field(default=3, ge=1, le=6)
    """Thoughts of a tree that are proposed and followed at each level."""
    thought_depth: int = Field(default=2, ge=1, le=4)
    """Levels of such a tree."""
    min_novelty: float = Field(default=0.1, ge=0, le=1)
    """τ_n: novelty below which a passage says nothing that the run does not have (DESIGN §5)."""
    max_attempts: int = Field(default=5, ge=1, le=20)
    """R_max of the coding path: generations of a program (document 000 §2.3)."""
    candidates: int = Field(default=1, ge=1, le=8)
    """Programs that are written side by side in a generation."""
    program_seconds: float = Field(default=20.0, gt=0, le=3600)
    """Time by the clock that a program or its tests may take in the sandbox."""
    program_memory_mib: int = Field(default=512, ge=64)
    """Memory that they may take."""
    repair_seconds: float = Field(default=60.0, ge=0, le=3600)
    """How long a small edit is searched for that makes failing tests pass; 0 for no search."""
    sandbox_wait: float = Field(default=60.0, gt=0)
    """Seconds for which a worker that can run programs is waited for."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Prompt and answer tokens of the whole run; None for any number, as with the other budgets."""
    max_cost_usd: float | None = Field(default=None, gt=0)
    """US dollars."""
    max_calls: int | None = Field(default=None, ge=1)
    """Answers of the model, re-asks included; twins are not counted."""
    max_searches: int | None = Field(default=None, ge=1)
    """Searches in the knowledge base."""
    max_seconds: float | None = Field(default=None, gt=0)
    """Time at work from the start; pauses, and waiting for a person, are not counted."""
    grace_seconds: float = Field(default=60.0, ge=0)
    """What calls under way and the writing up may take beyond it, before the twins take over."""
    approve_plan: bool = False
    """Whether the outline waits for a person's approval before the research begins."""
    interactive: bool = False
    """Whether the research waits for the answers to its questions to people."""
    answer_seconds: float = Field(default=86_400.0, gt=0)
    """How long a person is waited for before the run goes on with what it has said it would assume."""
    long_history: int = Field(default=4_000, ge=1)
    """Events after which research goes on in a new history, where the server has not asked for it before."""
    call_output: int = Field(default=4096, ge=256)
    """Answer tokens that are reserved for one call, and its cap where tokens or money are limited."""
    dearest: Price | None = None
    """Prices by which money is reserved: the highest of all models that may answer."""

    def in_cycle(self, cycle: int) -> "Limits":
        """Return the limits of what belongs to a cycle of research, by which pages of the web are kept apart."""
        web = self.web and self.web.model_copy(update={"cycle": cycle})
        return self.model_copy(update={"web": web})

    @property
    def meters_calls(self) -> bool:
        """Whether model calls draw from a budget."""
        return any(limit is not None for limit in (self.max_tokens, self.max_cost_usd, self.max_calls))


class RunRequest(Contract):
    """Start of a run."""

    question: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
    """What the person asked."""
    mode: Mode = "auto"
    """Which path to take; `auto` lets the router decide."""
    ingest: tuple[IngestRequest, ...] = ()
    """Corpora to bring up to date first."""
    corpora: tuple[str, ...] = ()
    """Corpora to read."""
    databases: tuple[str, ...] = ()
    """Databases to ask, by their names in the settings of the worker."""
    files: tuple[GivenFile, ...] = ()
    """Files that a program works with or that are to be repaired."""
    tests: tuple[GivenFile, ...] = ()
    """Tests that a program has to pass."""
    limits: Limits = Limits()
    """Bounds of the run."""
    standing: bool = False
    """Whether it is asked again and again, and a report tells what it brings over the one before."""
    notices: Notices | None = None
    """That people outside are told when it waits and when it ends; None for not telling them."""
    memory: bool = False
    """Whether it learns from earlier runs, and leaves what it has learned to later ones."""


class Stance(Contract):
    """What people asked of a run so far."""

    paused: bool = False
    """Nothing new starts."""
    finishing: bool = False
    """What has begun ends, and what there is gets delivered."""
    scarce: bool = False
    """Whether most of a budget is used."""
    spent: Resource | None = None
    """The budget that is used up, where that is why the run finishes."""
    overdue: bool = False
    """Whether the time is up for good: no model is waited for any more."""
    outline: Outline | None = None
    """The outline that a person has set, the last one; None where nobody has."""
    allotment: Allotment = Allotment()
    """The bounds that a person has changed."""


class Feedback(Contract):
    """A person's word to a running run."""

    text: str = Field(min_length=1, max_length=4_000)
    """What they said."""
    topic: str | None = None
    """The outline topic it is about; None for the whole report."""


class Handled(Contract):
    """A piece of feedback and what was done with it."""

    text: str
    """What the person said."""
    topic: str | None = None
    """The topic it named."""
    at: str
    """When it arrived, ISO 8601 in UTC."""
    outcome: str = "received"
    """What was done with it, in one sentence."""


class RoleUsage(Contract):
    """Calls and tokens of one role."""

    model_calls: int = 0
    """Answers of the model that were paid, re-asks included."""
    tokens_cached: int = 0
    """Prompt tokens that the server had in its cache."""
    cost_usd: float | None = None
    """Money spent; None where a model that answered has no known price."""
    streamed: int = 0
    """Answers that were streamed."""
    first_token_seconds: float | None = None
    """Mean time to the first token of the streamed ones."""

    calls: int = 0
    """Finished calls, the twin's included."""
    tokens_in: int = 0
    """Prompt tokens as the server reported them."""
    tokens_out: int = 0
    """Completion tokens as the server reported them."""
    models: tuple[str, ...] = ()
    """Models that answered, `offline` for the twin."""


class Usage(Contract):
    """What a run used."""

    calls: int = 0
    """Finished role calls, twins included."""
    tokens_in: int = 0
    """Prompt tokens."""
    tokens_out: int = 0
    """Completion tokens."""
    model_calls: int = 0
    """Answers of the model that were paid, re-asks and unusable ones included."""
    tokens_cached: int = 0
    """Prompt tokens that the server had in its cache."""
    cost_usd: float | None = None
    """Money spent; None where a model that answered has no known price."""
    searches: int = 0
    """Searches in the knowledge base."""
    embedded_share: float = 1.0
    """Least share of the searched chunks that had a vector when one of the searches began."""
    pages: int = 0
    """Web pages fetched."""
    seconds: float = 0.0
    """Wall time from start to end, pauses included."""
    by_role: dict[str, RoleUsage] = {}
    """The same per role."""


class Degraded(Contract):
    """Calls in which the twin stood in for the model."""

    role: str
    """The role."""
    reason: str
    """Why the model's answer could not be used."""
    times: int = Field(default=1, ge=1)
    """How many calls."""


class TopicProgress(Contract):
    """How far one outline topic is."""

    topic: str
    """Heading of the section."""
    phase: SectionPhase = "waiting"
    """What is being done."""
    claims: int = 0
    """Claims in the current draft."""
    sources: int = 0
    """Sources cited in the current draft."""
    coverage: float = 0.0
    """Coverage c_j of the topic (DESIGN §5), 0 to 1."""
    round: int = 0
    """Reflexion rounds done."""


class Progress(Contract):
    """Answer of the `progress` query: small, and true at any time, also after the end."""

    id: RunId
    """The run."""
    question: str
    """What was asked."""
    mode: TaskMode = "UNDEFINED"
    """Which path it took."""
    phase: Phase = "ingest"
    """What is being done."""
    status: Status = "running"
    """How it stands."""
    cycle: int = 0
    """Cycles of research begun."""
    revision: int = 0
    """R_n: generations of the report so far."""
    topics: tuple[TopicProgress, ...] = ()
    """The outline's topics."""
    tests_passed: int = 0
    """Tests that the best program so far passes."""
    tests: int = 0
    """Tests it has to pass."""
    usage: Usage = Usage()
    """What was used so far."""
    feedback: tuple[Handled, ...] = ()
    """What people said."""
    last: str = ""
    """The last thing that happened, in words."""
    budget: tuple[str, ...] = ()
    """How much of each limit is used, in words; empty for a run without limits."""
    waiting: Question | None = None
    """What it waits for a person to say; None where it waits for nobody."""
    refused: tuple[str, ...] = ()
    """Signals that could not be followed, and why."""
    error: str = ""
    """Why it failed, where it did."""
