"""Runs: their request, their limits, their control state and their progress."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from tenure.contracts.base import Contract, RunId, SourceId
from tenure.contracts.choices import RunMode, RunStatus
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.filters import Filter
from tenure.contracts.evidence.web import WebScope
from tenure.contracts.repository_task import RepositoryProgress, RepositoryTask
from tenure.contracts.run.budget import BudgetResource, Price
from tenure.contracts.run.control import BudgetRevision, InputRequest, OutlineRevision
from tenure.contracts.run.limit_fields import LimitFields
from tenure.contracts.run.role_calls import SavedUsage, TokenCounts
from tenure.contracts.sandbox import InputFile

TaskMode = Literal["UNDEFINED", "RESEARCH", "CODE"]
QueryType = Literal[
    "factual", "analytical", "comparative", "procedural", "evaluative", "hypothetical", "causal", "temporal"
]
"""Type of answer that a question asks for."""
RunPhase = Literal[
    "ingest",
    "retrieve",
    "route",
    "outline",
    "research",
    "reason",
    "specify",
    "generate",
    "test",
    "prepare",
    "locate",
    "change",
    "verify",
    "write",
    "reflect",
    "refine",
    "compose",
    "assemble",
    "done",
]
SectionPhase = Literal[
    "waiting", "retrieving", "drafting", "reviewing", "rewriting", "done", "no_evidence", "skipped", "failed"
]

PlanStepKind = Literal["search", "read", "analyze", "compare", "calculate"]
"""Type of a step of a research plan: search all sources, read further in one source, ask one document a question,
compare two documents, or calculate with figures that earlier steps found."""
StepStatus = Literal["pending", "in_progress", "completed", "failed", "skipped"]


class RunLimits(LimitFields, Contract):
    """Limits of a run.

    The client fills them from settings and the command line, since a workflow reads no settings.
    """

    filters: tuple[Filter, ...] = ()
    """Conditions on every passage that the run reads, besides those of a search itself."""
    web: WebScope | None = None
    """Readable part of the web; None for no access."""
    mcp: tuple[str, ...] = ()
    """Names of the MCP servers in the worker's settings whose tools it may call."""
    chat_model: str = ""
    """Chat model of the run in place of that of the settings; empty for that."""
    has_model: bool = False
    """Whether a chat model is configured, so that the effort is chosen by what its calls cost."""
    max_call_output: int = Field(default=4096, ge=256)
    """Answer tokens reserved for one call, and their maximum if tokens or cost are limited."""
    highest_price: Price | None = None
    """Highest prices of all models that may answer, by which cost is reserved."""

    def copy_for_cycle(self, cycle: int) -> "RunLimits":
        """Return the limits for a research cycle, by which web pages are stored separately."""
        web = self.web and self.web.model_copy(update={"cycle": cycle})
        return self.model_copy(update={"web": web})

    @property
    def has_model_budget(self) -> bool:
        """Whether tokens, cost or model calls are limited."""
        return any(limit is not None for limit in (self.max_tokens, self.max_cost_usd, self.max_calls))


MAX_QUESTION_CHARACTERS = 20_000
"""Maximum length of a question, which workflows analyze: a workflow task has eight seconds."""
Question = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_QUESTION_CHARACTERS)]
"""Question or task of a person."""


class RunRequest(Contract):
    """Start of a run."""

    question: Question
    """Question or task of the person."""
    mode: RunMode = "auto"
    """Path to take; `auto` lets the router decide."""
    ingest: tuple[IngestRequest, ...] = ()
    """Corpora to update first."""
    corpora: tuple[str, ...] = ()
    databases: tuple[str, ...] = ()
    """Databases to query, by their names in the worker's settings."""
    files: tuple[InputFile, ...] = ()
    """Files that a program uses or that are to be repaired."""
    tests: tuple[InputFile, ...] = ()
    """Tests that a program must pass."""
    repository: RepositoryTask | None = None
    """Repository to work in; None for a program of its own."""
    limits: RunLimits = RunLimits()
    scheduled: bool = False
    """Whether the question is asked repeatedly, so that the report lists changes since the previous one."""
    notifications: str | None = None
    """URL of the run's page up to the run id, for notifications; empty if unknown, and None for no notifications."""
    memory: bool = False
    """Whether the run recalls and stores memories."""

    @property
    def earlier_feedback(self) -> "tuple[Feedback, ...]":
        """Feedback that a fork takes over, with that for the fork; empty for other runs."""
        return ()


class ControlState(Contract):
    """State of a run as controlled by people and budgets."""

    paused: bool = False
    """Whether no new step starts."""
    finishing: bool = False
    """Whether running steps end and the run delivers what it has."""
    running_low: bool = False
    """Whether most of a budget is used."""
    exhausted: BudgetResource | None = None
    """Exhausted budget, if the run finishes because of it."""
    deadline_exceeded: bool = False
    """Whether the time limit including its grace period has passed, so that no model is awaited any more."""
    outline: OutlineRevision | None = None
    """Last outline set by a person; None if there is none."""
    budget_revision: BudgetRevision = BudgetRevision()
    """Bounds changed by people."""


class PartRequest(Contract):
    """Start of a child workflow of a run."""

    run: RunId
    """Workflow id of the run, which receives progress updates."""
    question: str
    corpora: tuple[str, ...] = ()
    databases: tuple[str, ...] = ()
    limits: RunLimits
    control: ControlState = ControlState()


class Feedback(Contract):
    """Feedback of a person to a run."""

    text: str = Field(min_length=1, max_length=4_000)
    topic: str | None = None
    """Topic of the outline that it concerns; None for the whole report."""


class FeedbackRecord(Contract):
    """Feedback and its outcome."""

    text: str
    """Text of the feedback."""
    topic: str | None = None
    """Topic that it names."""
    at: str
    """Time of arrival, ISO 8601 in UTC."""
    outcome: str = "received"
    """Result of the feedback, in one sentence."""


class CallUsage(TokenCounts):
    """Usage of role calls."""

    calls: int = 0
    """Number of finished role calls, fallbacks included."""
    model_calls: int = 0
    """Number of billed model answers, repeated and unusable ones included."""
    cost_usd: float | None = None
    """Cost in US dollars; null if a model that answered has no known price."""


class RoleUsage(CallUsage):
    """Usage of one role."""

    streamed: int = 0
    """Number of streamed answers."""
    first_token_seconds: float | None = None
    """Mean time to the first token of streamed answers."""
    models: tuple[str, ...] = ()
    """Models that answered; `offline` for the fallback."""


class Usage(CallUsage):
    """Usage of a run."""

    searches: int = 0
    """Number of searches of the knowledge base."""
    embedded_share: float = 1.0
    """Smallest share of searched chunks that had a vector at the start of a search."""
    searches_without_links: int = 0
    """Number of searches along links that found none to follow."""
    untranslated: tuple[str, ...] = ()
    """Languages of passages, ISO 639-1, that were searched with the words of queries in another language."""
    pages: int = 0
    """Number of web pages fetched."""
    seconds: float = 0.0
    """Wall time from start to end, pauses included."""
    critical_path: int = 0
    """Longest chain of model answers in which each was asked for after the one before had arrived."""
    by_role: dict[str, RoleUsage] = {}
    """Usage by role."""
    saved: SavedUsage = SavedUsage()
    """Usage that cached answers saved."""
    exposed_calls: int = 0
    """Number of role calls whose prompt contained instructions of an unknown author (prompt injection)."""
    suspicious_sources: tuple[SourceId, ...] = ()
    """Sources of such instructions, as far as they are passages; at most 50."""


class WorkflowUsage(Usage):
    """Usage of one workflow of a run, with the times of its model answers."""

    call_spans: tuple[tuple[int, int], ...] = ()
    """Start and end of the answers that can be part of a longest chain, in milliseconds since 1970."""


class FallbackRecord(Contract):
    """Calls of a role that were answered by its fallback instead of the model."""

    role: str
    """Name of the role."""
    reason: str
    """Reason for the use of the fallback."""
    times: int = Field(default=1, ge=1)
    """Number of calls."""


class TopicProgress(Contract):
    """Progress of a topic of the outline."""

    topic: str
    phase: SectionPhase = "waiting"
    claims: int = 0
    """Number of claims in the current draft."""
    sources: int = 0
    """Number of sources cited in the current draft."""
    coverage: float = 0.0
    """Coverage of the topic, 0 to 1."""
    round: int = 0
    """Number of finished review rounds."""


class StepProgress(Contract):
    """Progress of a step of a research plan."""

    id: str
    kind: PlanStepKind = "search"
    query: str
    """Query or task of the step, with inserted names."""
    status: StepStatus = "pending"
    depends_on: tuple[str, ...] = ()
    """Steps whose results it needs."""
    inserted: tuple[str, ...] = ()
    """Names of earlier results in the query, each with its source."""
    alternative: str = ""
    """Query that is tried once if the step fails; empty for none."""
    note: str = ""
    """Reason for its failure or for skipping it, or use of its alternative."""


class RunProgress(Contract):
    """Answer of the `progress` query: small, and available at any time, also after the end."""

    id: RunId
    question: str
    mode: TaskMode = "UNDEFINED"
    phase: RunPhase = "ingest"
    status: RunStatus = "running"
    cycle: int = 0
    """Number of research cycles started."""
    revision: int = 0
    """Number of report revisions so far."""
    topics: tuple[TopicProgress, ...] = ()
    steps: tuple[StepProgress, ...] = ()
    """Steps of the current research plan."""
    tests_passed: int = 0
    """Number of tests that the best program so far passes."""
    tests: int = 0
    """Number of tests it must pass."""
    repository: RepositoryProgress | None = None
    """Progress of the work in a repository."""
    usage: Usage = Usage()
    feedback: tuple[FeedbackRecord, ...] = ()
    last: str = ""
    """Latest event, in words."""
    budget: tuple[str, ...] = ()
    """Usage of each limit, in words; empty for a run without limits."""
    input_request: InputRequest | None = None
    """Question to a person that the run waits for; None if it waits for nothing."""
    refused_signals: tuple[str, ...] = ()
    """Signals that were refused, with the reasons."""
    error: str = ""
    """Reason for the failure, if it failed."""
