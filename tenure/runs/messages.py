"""Requests of the operations, which every face parses into, and their replies."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from tenure.contracts.base import Contract
from tenure.contracts.choices import CitationStyle, ListedStatus, MemoryKind, ReportFormat, ReportProofs, WritableKind
from tenure.contracts.coding.repositories import ChangeSoFar
from tenure.contracts.evidence.corpora import CorpusDocument, CorpusStats, IngestProgress, IngestReport, StoredPassage
from tenure.contracts.knowledge.memory import MAX_FACT_CHARS, MAX_MEMORY_CHARS
from tenure.contracts.result.ask import AskReply, Exchange
from tenure.contracts.run.limits import StartLimits
from tenure.contracts.run.run import Question, RunProgress
from tenure.runs.errors import InvalidRequest
from tenure.runs.options import (
    AskOptions,
    BackfillOptions,
    BatchOptions,
    EntityOptions,
    ForkOptions,
    Name,
    Paths,
    RunOptions,
    ScheduleOptions,
    SearchOptions,
    SecretOptions,
    TableOptions,
    Text,
    TurnOptions,
)

R = TypeVar("R", bound=BaseModel)


class OperationRequest(BaseModel):
    """Base class of requests: an unknown field is an error, null stands for a field that is not given."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        return {name: value for name, value in values.items() if value is not None}


def validate_request(kind: type[R], values: Any) -> R:
    """Return a request from its values.

    Raises:
        InvalidRequest: a value does not fit.
    """
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise InvalidRequest.explain(error) from error


class StartRequest(RunOptions, OperationRequest):
    """Start of a run: a question, or a task for a program with its files."""

    question: Question
    """Question or task."""


class BatchBody(BatchOptions, OperationRequest):
    """Conditions of the runs of a batch."""


class ScheduleBody(ScheduleOptions, RunOptions, OperationRequest):
    """A question that is asked on a schedule."""

    question: Question
    """Question or task."""


class BackfillBody(BackfillOptions, OperationRequest):
    """Missed times of a schedule."""

    begin: datetime
    """First moment, by default in UTC."""
    end: datetime | None = None
    """Last moment; null for now."""


def derive_start(body: RunOptions, **values: Any) -> StartRequest:
    """Return the start of a run with the given options of another request, and further values.

    Raises:
        InvalidRequest: a value does not fit.
    """
    inherited = body.model_dump(include=set(StartRequest.model_fields), exclude_unset=True)
    return validate_request(StartRequest, inherited | values)


class ScheduledQuestion(Contract):
    """A question that is asked on a schedule."""

    id: str
    """Name of the schedule."""
    question: str
    paused: bool
    next: datetime | None = None
    """Next time; null if there is none."""
    upcoming: tuple[datetime, ...] = ()
    """Next times."""
    last: datetime | None = None
    """Last time; null before the first one."""
    last_run: str = ""
    """Id of the last run; empty before the first one."""
    latest_runs: tuple[str, ...] = ()
    """Ids of the latest runs, newest first."""
    runs: int = 0
    """Number of its runs."""


class StartReply(Contract):
    """A started run, ingestion or answer."""

    id: str
    """Workflow id."""
    url: str = ""
    """URL of its page in the web UI of Temporal; empty if unknown."""
    notes: tuple[str, ...] = ()
    """Notes for the person, such as files that were left out."""


Tag = Annotated[str, StringConstraints(pattern=r"^[^\s,#][^\s,]{0,39}$")]
"""Word of at most 40 characters, such as "physics"; the list writes it as "#physics"."""


class RunLabel(OperationRequest):
    """Title and tags that a person gives to a run; those that are not given stay."""

    title: Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)] = ""
    """Title; empty for the question."""
    tags: Annotated[tuple[Tag, ...], Field(max_length=10)] = ()
    """Words by which the list is searched."""


class DeletedRun(Contract):
    """A run that was deleted."""

    workflows: tuple[str, ...]
    """Ids of its workflows."""


class RunRow(Contract):
    """A run in a list."""

    id: str
    status: str
    phase: str
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
    label: RunLabel = RunLabel()
    """Title and tags that a person gave to it."""


class RunFilter(OperationRequest):
    """Choice among runs."""

    words: str = ""
    """Words of their ids, questions, titles and tags."""
    status: ListedStatus | Literal[""] = ""
    """Their status; empty for any."""
    owner: str = ""
    """Their owner; empty for any."""
    limit: Annotated[int, Field(ge=1, le=1_000)] = 50
    """Maximum number of runs."""


class RunList(Contract):
    """List of runs, newest first."""

    runs: tuple[RunRow, ...] = ()
    notes: tuple[str, ...] = ()
    """Reasons for which runs may be missing."""


class RunDetails(Contract):
    """Present state of a run."""

    id: str
    started: str
    """Start time, ISO 8601 in UTC."""
    seen: str
    """Time at which this state was read, ISO 8601 in UTC."""
    ended: str = ""
    """End time, ISO 8601 in UTC; empty for a run that has not ended."""
    question: str
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
    change: ChangeSoFar | None = None
    """Change of a repository so far; null without one, and for a run that has ended."""
    pending_failures: tuple[str, ...] = ()
    """Failures that block the run."""
    streamed_answers: tuple[str, ...] = ()
    """Answers of models that are arriving."""
    setups: tuple[str, ...] = ()
    """Set-ups of a repository that run."""
    draft: str = ""
    """Text of the report that a model is writing, as Markdown with the numbers of passages; empty while none is."""
    note: str = ""
    """Reason why the run does not answer; empty if it does."""
    failure: str = ""
    """Reason why the run failed; empty if it did not."""


class ReportQuery(OperationRequest):
    """Form of a report."""

    format: ReportFormat = "json"
    """Format of the report."""
    citations: CitationStyle = "numeric"
    """Format of citation marks."""
    proofs: ReportProofs = "full"
    """Quotes and records in the report; references and JSON have all of them."""


class SourceRange(OperationRequest):
    """Part of a source."""

    start: Annotated[int, Field(ge=0, le=10**12)]
    """Offset of the first character."""
    end: Annotated[int, Field(ge=1, le=10**12)]
    """Offset after the last character."""


class RunPair(OperationRequest):
    """Two runs to compare."""

    a: Name
    """Id of the first run."""
    b: Name
    """Id of the second run."""


class SteerReply(Contract):
    """Effect of a command."""

    effect: str
    """Effect in a sentence."""


class AskBody(AskOptions, OperationRequest):
    """A follow-up question about a run."""

    question: Question
    """The question."""


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
    has_documents: bool = True
    """Whether the run has read documents or the web, so that they can be searched again."""


class ForkBody(ForkOptions, OperationRequest):
    """A new run from an earlier cycle or answer of a run."""


class RepeatBody(TurnOptions, StartLimits, OperationRequest):
    """A run that is asked again; conditions that are not given are those of that run."""

    question: Question | None = None
    """Question or task; null for that of the run."""


class IngestBody(SecretOptions, OperationRequest):
    """Documents to read into a corpus."""

    paths: Annotated[Paths, Field(min_length=1)]
    """Absolute paths of files and folders."""
    corpus: Name | None = None
    """Name of the corpus; null to make it from the paths."""


class SearchBody(SearchOptions, OperationRequest):
    """Words to search for in corpora."""

    words: Text
    """Words or a question."""


class SqlBody(TableOptions, OperationRequest):
    """A query over tables."""

    sql: Text
    """SELECT statement."""


class EntityBody(EntityOptions, OperationRequest):
    """An entity to look up in the graph of a corpus."""

    corpus: Name
    """Name of the corpus."""
    entity: Name
    """Name of the entity."""


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
    running: tuple[RunningIngestion, ...] = ()
    unread: tuple[str, ...] = ()
    """Names of corpora whose uploaded documents were not read yet."""


class CorpusDetails(Contract):
    """State of a corpus."""

    corpus: str
    stats: CorpusStats | None = None
    """Size; null if nothing was read yet."""
    paths: tuple[str, ...] = ()
    """Files and folders that it was made from, as far as this home knows them."""
    documents: tuple[CorpusDocument, ...] = ()
    """A page of its documents, by title."""
    documents_total: int = 0
    """Number of all documents that match."""
    is_reading: bool = False
    """Whether an ingestion is running."""
    report: IngestReport | None = None
    """Report of the latest ingestion that was started for the corpus itself; runs report what they skip themselves."""
    failure: str = ""
    """Reason why that ingestion failed; empty if it did not."""
    watch_seconds: float | None = None
    """Interval at which it is read again; null if it is not watched."""


class DocumentFilter(OperationRequest):
    """Choice among the documents of a corpus."""

    words: str = ""
    """Words of their titles and paths; empty for all."""
    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """Page of fifty documents, from 1."""


class UploadReply(Contract):
    """Documents that were uploaded, and the ingestion that reads them."""

    corpus: str
    """Name of their corpus."""
    files: tuple[str, ...]
    """Paths of the documents in the corpus."""
    left_out: tuple[str, ...] = ()
    """Names of hidden files, which are not stored."""
    id: str
    """Workflow id of the ingestion."""


class DropReply(Contract):
    """A corpus that was deleted."""

    corpus: str
    """Its name."""
    notes: tuple[str, ...] = ()
    """Notes for the person, about the watching of the corpus."""


MemoryText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_MEMORY_CHARS)]
FactPart = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_FACT_CHARS)]


class RememberBody(OperationRequest):
    """A text to remember, or the new text of a memory."""

    text: MemoryText
    """The text."""
    kind: WritableKind | None = None
    """Kind of memory; null to choose it by the text."""
    subject: FactPart | None = None
    """Subject of the fact that the text states; a fact has a subject, a relation and an object."""
    relation: FactPart | None = None
    """Relation of subject and object."""
    object: FactPart | None = None
    """Object of the fact."""
    replaces: Name | None = None
    """Id of the memory whose text it replaces; null for a new memory."""
    owner: str = ""
    """Owner of the memory; empty for runs without an owner."""

    @model_validator(mode="after")
    def _check_fact(self) -> Self:
        parts = {name: getattr(self, name) for name in ("subject", "relation", "object")}
        missing = [name for name, value in parts.items() if value is None]
        if missing and len(missing) < len(parts):
            raise ValueError(f"a fact has a subject, a relation and an object: {' and '.join(missing)} missing")
        if not missing and self.kind not in (None, "semantic"):
            raise ValueError(f"a fact is of the kind semantic, not {self.kind}")
        if self.replaces is not None and (self.kind is not None or not missing):
            raise ValueError("an edited memory keeps its kind: forget it, and add it with another one")
        return self


class MemoryFilter(OperationRequest):
    """Choice among the memories of an owner."""

    words: str = ""
    """Words that they match; empty for the latest memories."""
    kinds: Sequence[MemoryKind] = ()
    """Their kinds; empty for all."""
    owner: str = ""
    """Their owner; empty for runs without an owner."""
    after: str = ""
    """Id of the memory after which the list continues; empty for its beginning."""
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    """Maximum number of memories."""


class ForgetBody(OperationRequest):
    """Memories to forget: by their ids, or those to which everything else applies."""

    ids: Annotated[Sequence[Name], Field(max_length=100)] = ()
    """Ids of memories."""
    run: str = ""
    """Run that stored them."""
    source: str = ""
    """Only source that supports them."""
    kinds: Sequence[MemoryKind] = ()
    """Their kinds."""
    all_memories: bool = False
    """Whether all memories of the owner are forgotten."""
    owner: str = ""
    """Their owner; empty for runs without an owner."""

    @model_validator(mode="after")
    def _check_choice(self) -> Self:
        if not (self.ids or self.run or self.source or self.kinds or self.all_memories):
            raise ValueError("name the memories to forget")
        return self


class ErrorReply(Contract):
    """A request that was refused or failed."""

    error: str
    """Reason in one line."""
