"""Requests and replies of the HTTP API; everything else that it transports is a contract of the run."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from tenure.contracts.base import Contract
from tenure.contracts.evidence.corpora import CorpusStats, IngestProgress, StoredPassage
from tenure.contracts.evidence.passages import SearchMode
from tenure.contracts.knowledge.memory import MemoryKind, WritableKind
from tenure.contracts.result.ask import AskReply, Exchange
from tenure.contracts.run.limit_fields import Complexity
from tenure.contracts.run.limits import LIMITS
from tenure.contracts.run.run import Question, RunMode, RunProgress

MAX_PATHS = 50
"""Maximum number of paths, corpora or other names in one request."""

ReportFormat = Literal["md", "html", "pdf", "docx", "json", "bibtex", "csl"]
CitationFormat = Literal["numeric", "author-year"]

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]
PathText = Annotated[str, StringConstraints(min_length=1, max_length=4_096)]


class ApiRequest(BaseModel):
    """Base class of request bodies: an unknown field is an error, and the docstrings of fields are published."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


def _limit(name: str) -> Any:
    """Return the optional field of a limit with its range and description."""
    limit = LIMITS[name]
    return Field(
        default=None,
        ge=limit.minimum,
        gt=limit.above,
        le=limit.maximum,
        max_length=limit.max_length,
        description=limit.description,
    )


class BudgetBody(ApiRequest):
    """Budgets of model calls; null for no limit."""

    max_tokens: int | None = _limit("max_tokens")
    max_cost_usd: float | None = _limit("max_cost_usd")
    max_calls: int | None = _limit("max_calls")


class QuestionBody(BudgetBody):
    """A question and the conditions of its run; null stands for the settings of the home."""

    question: Question
    """Question or task."""
    id: Name | None = None
    """Name of the run; null to make it from the question."""
    docs: tuple[PathText, ...] = Field(default=(), max_length=MAX_PATHS)
    """Absolute paths of files and folders to read."""
    corpora: tuple[Name, ...] = Field(default=(), max_length=MAX_PATHS)
    """Existing corpora to read."""
    databases: tuple[Name, ...] = Field(default=(), max_length=MAX_PATHS)
    """Databases to query."""
    web: bool | None = None
    """Whether the web is read."""
    providers: tuple[Name, ...] = Field(default=(), max_length=MAX_PATHS)
    """Search providers of the web."""
    domains: tuple[Name, ...] = Field(default=(), max_length=MAX_PATHS)
    """Domains to read, or never to read with a leading minus."""
    filters: tuple[Name, ...] = Field(default=(), max_length=MAX_PATHS)
    """Conditions on passages, such as `published>=2020`."""
    memory: bool | None = None
    """Whether memories of earlier runs are used and new ones are kept."""
    effort: Complexity | None = _limit("effort")
    search_mode: SearchMode | None = _limit("search_mode")
    language: str | None = _limit("language")
    max_cycles: int | None = _limit("max_cycles")
    max_sections: int | None = _limit("max_sections")
    max_searches: int | None = _limit("max_searches")
    max_seconds: float | None = _limit("max_seconds")
    approve_plan: bool | None = _limit("approve_plan")
    interactive: bool | None = _limit("interactive")


class StartRequest(QuestionBody):
    """Start of a run: a question, or a task for a program with its files."""

    mode: RunMode = "auto"
    """Path to take."""
    include_secrets: bool = False
    """Whether files that contain keys, passwords or tokens are read as well."""
    files: tuple[PathText, ...] = Field(default=(), max_length=MAX_PATHS)
    """Absolute paths of files that a program reads or changes."""
    tests: tuple[PathText, ...] = Field(default=(), max_length=MAX_PATHS)
    """Absolute paths of files with tests that a program must pass."""


class StartReply(Contract):
    """A started run, ingestion or answer."""

    id: str
    """Workflow id."""
    url: str = ""
    """URL of its page in the web UI of Temporal; empty if unknown."""


class RunRow(Contract):
    """A run in a list."""

    id: str
    """Id."""
    status: str
    """Status."""
    phase: str
    """Phase."""
    mode: str
    """Path taken."""
    owner: str
    """Owner; empty without one."""
    started: str
    """Start time, ISO 8601."""
    archived: bool
    """Whether only the archive has it."""
    question: str
    """Question; empty if it is encrypted for another owner."""


class RunList(Contract):
    """List of runs, newest first."""

    runs: tuple[RunRow, ...]
    """The runs."""


class RunDetails(Contract):
    """Present state of a run."""

    id: str
    """Id."""
    started: str
    """Start time, ISO 8601 in UTC."""
    seen: str
    """Time at which this state was read, ISO 8601 in UTC."""
    ended: str = ""
    """End time, ISO 8601 in UTC; empty for a run that has not ended."""
    question: str
    """Question."""
    status: str
    """Status of the run, or of its workflow on the server."""
    is_running: bool
    """Whether it has not ended."""
    is_completed: bool
    """Whether it has a result."""
    is_archived: bool
    """Whether only the archive has it."""
    seconds: float = 0.0
    """Time since the start; 0 for a run that has ended."""
    progress: RunProgress | None = None
    """The run's own progress; null if no worker answers."""
    ingest: IngestProgress | None = None
    """Progress of a running ingestion; null if there is none."""
    pending_failures: tuple[str, ...] = ()
    """Failures that block the run."""
    streamed_answers: tuple[str, ...] = ()
    """Answers of models that are arriving."""
    draft: str = ""
    """Text of the report that a model is writing, as Markdown with the numbers of passages; empty while none is."""
    note: str = ""
    """Reason why the run does not answer; empty if it does."""
    failure: str = ""
    """Reason why the run failed; empty if it did not."""


class SteerReply(Contract):
    """Effect of a command."""

    effect: str
    """Effect in a sentence."""


class AskBody(BudgetBody):
    """A follow-up question about a run."""

    question: Question
    """The question."""
    new: bool = False
    """Whether a new conversation starts."""
    search_again: bool = False
    """Whether missing evidence is searched for again."""


class RunConversation(Contract):
    """Conversation about a run."""

    is_running: bool = False
    """Whether a question is being answered."""
    exchanges: tuple[Exchange, ...] = ()
    """Latest exchanges, oldest first."""
    latest: AskReply | None = None
    """Answer to the latest question; null while it is being answered."""
    failure: str = ""
    """Reason why the latest question was not answered; empty if it was."""


class ForkBody(BudgetBody):
    """A new run from an earlier cycle of a run."""

    cycle: int = Field(ge=1, le=100)
    """Last cycle to take over."""
    feedback: Annotated[str, StringConstraints(strip_whitespace=True, max_length=4_000)] = ""
    """Feedback for the new run."""
    id: Name | None = None
    """Name of the new run; null to make it from the old one."""
    max_cycles: int | None = _limit("max_cycles")


class IngestBody(ApiRequest):
    """Documents to read into a corpus."""

    paths: tuple[PathText, ...] = Field(min_length=1, max_length=MAX_PATHS)
    """Absolute paths of files and folders."""
    corpus: Name | None = None
    """Name of the corpus; null to make it from the paths."""
    include_secrets: bool = False
    """Whether files that contain keys, passwords or tokens are read as well."""


class SearchBody(ApiRequest):
    """Words to search for in corpora."""

    words: Text
    """Words or a question."""
    corpora: tuple[Name, ...] = Field(default=(), max_length=MAX_PATHS)
    """Corpora to search; empty for all."""
    filters: tuple[Name, ...] = Field(default=(), max_length=MAX_PATHS)
    """Conditions on passages, such as `published>=2020`."""
    search_mode: SearchMode | None = _limit("search_mode")
    limit: int = Field(default=8, ge=1, le=50)
    """Maximum number of passages."""


class PassageList(Contract):
    """Passages that a search found."""

    passages: tuple[StoredPassage, ...] = ()
    """The passages, best first."""


class RunningIngestion(Contract):
    """An ingestion that has not ended."""

    corpus: str
    """Name of the corpus."""
    progress: IngestProgress | None = None
    """Its progress; null before the first report."""


class CorpusList(Contract):
    """Corpora and running ingestions."""

    corpora: tuple[CorpusStats, ...] = ()
    """The corpora."""
    running: tuple[RunningIngestion, ...] = ()
    """Running ingestions."""


class RememberBody(ApiRequest):
    """A text to remember."""

    text: Text
    """The text."""
    kind: WritableKind | None = None
    """Kind of memory; null to choose it by the text."""


class MemoryEntry(Contract):
    """A memory in a list."""

    id: str
    """Id."""
    kind: MemoryKind
    """Kind."""
    text: str
    """Content."""
    since: str
    """Time at which it was stored, ISO 8601."""
    uses: int
    """Number of runs that recalled it."""
    confidence: float
    """Confidence in its truth."""
    note: str = ""
    """Reason for which it is not recalled or counts less; empty for none."""


class MemoryList(Contract):
    """Memories of the owner."""

    memories: tuple[MemoryEntry, ...] = ()
    """The memories."""
    total: int = 0
    """Number of all memories."""


class ForgetBody(ApiRequest):
    """Memories to forget."""

    ids: tuple[Name, ...] = Field(min_length=1, max_length=100)
    """Ids of memories."""


class ForgetAnswer(Contract):
    """Result of forgetting."""

    forgotten: int
    """Number of forgotten memories."""


class ErrorReply(Contract):
    """A request that was refused or failed."""

    error: str
    """Reason in one line."""
