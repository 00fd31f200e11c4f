"""Ingest, search, query, remember and maintain the knowledge base."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, Final

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.errors import PAGE_REFUSED, PATH_MISSING, PATH_REFUSED, is_last_attempt, translate_errors
from activities.heartbeat import HeartbeatThread
from activities.passages import load_existing_passages
from tenure.algorithms.claims.claim_pairs import find_contradictions
from tenure.algorithms.claims.disputes import find_primary_reason
from tenure.contracts.base import SourceId
from tenure.contracts.evidence.computing import ComputationRequest, TableFileReply, TableFileRequest
from tenure.contracts.evidence.corpora import (
    MAX_REFERENCES,
    CorpusDocument,
    CorpusReply,
    CorpusRequest,
    EmbedReport,
    IngestProgress,
    IngestReport,
    IngestRequest,
    QuestionEmbedRequest,
)
from tenure.contracts.evidence.disputes import Contradiction, SourceStanding
from tenure.contracts.evidence.passages import (
    FailedSearch,
    PassageRef,
    SearchBatchReply,
    SearchReply,
    SearchRequest,
)
from tenure.contracts.evidence.retrieval import GroupRequest, RecallReply, RecallRequest
from tenure.contracts.evidence.tables import QueryReply, QueryRequest, TableInfo, TablesRequest
from tenure.contracts.evidence.web import PageTextRequest, ReadPagesReply, ReadPagesRequest
from tenure.contracts.knowledge.graph import RelatedReply, RelatedRequest
from tenure.contracts.knowledge.maintenance import MaintenanceStep, UpkeepProgress, UpkeepReport
from tenure.contracts.knowledge.memory import (
    ConsolidationRequest,
    ForgetReply,
    ForgetRequest,
    MemoriesReply,
    MemoriesRequest,
    MemorySearchReply,
    MemorySearchRequest,
    RememberReply,
    RememberRequest,
    WriteMemoryReply,
    WriteMemoryRequest,
)
from tenure.contracts.research.dossier import Dossier, DossierRequest
from tenure.contracts.research.fork import ForkReply, ForkRequest
from tenure.contracts.research.learning import Experience, ExperienceRequest
from tenure.contracts.research.pictures import PictureRef, PicturesRequest, StorePicturesRequest
from tenure.contracts.research.spiral import AnalysisReply, AnalysisRequest
from tenure.contracts.result.ask import ResultTextsRequest, get_change_corpus
from tenure.document_roots import DocumentRoots, PathRefused, RootsError
from tenure.knowledge.excerpts import read_stored_passages
from tenure.knowledge.experience import recall_experience
from tenure.sources.document.document import Unreadable

if TYPE_CHECKING:
    from tenure.knowledge.base import KnowledgeBase

MAX_RESULT_PASSAGES: Final = 24
"""Passages on the result of a run that answer a question: about 6,000 tokens, which is all of a change of 100 lines."""

MAX_SEARCH_THREADS: Final = 4
"""Searches of a batch that are executed at the same time."""


class KnowledgeActivities:
    """Activities on one knowledge base; synchronous, executed in the worker's threads."""

    def __init__(self, knowledge: "KnowledgeBase", roots: DocumentRoots) -> None:
        """Use `knowledge`, and read files inside `roots` only."""
        self._knowledge, self._roots = knowledge, roots

    @activity.defn
    def ingest_corpus(self, request: IngestRequest) -> IngestReport:
        """Update a corpus to the state of its files; the heartbeat's details are an `IngestProgress`."""
        try:
            paths = self._roots.resolve(request.paths, request.corpus)
        except (PathRefused, RootsError) as error:
            raise ApplicationError(str(error), type=PATH_REFUSED, non_retryable=True) from error
        paid = _read_transcribed_seconds()
        request = request.model_copy(update={"paths": tuple(map(str, paths)), "transcribed_seconds": paid})

        def add_paid(progress: IngestProgress) -> IngestProgress:
            return progress.model_copy(update={"transcribed_seconds": paid + progress.transcribed_seconds})

        with translate_errors(), HeartbeatThread(add_paid(IngestProgress())) as heartbeat:
            try:
                report = self._knowledge.corpora.ingest(
                    request, lambda progress: heartbeat.update(add_paid(progress)), activity.is_cancelled
                )
                return report.model_copy(update={"transcribed_seconds": paid + report.transcribed_seconds})
            except FileNotFoundError as error:
                raise ApplicationError(str(error), type=PATH_MISSING, non_retryable=True) from error

    @activity.defn
    def embed_corpus(self, corpus: str) -> EmbedReport:
        """Compute the vectors that a corpus lacks; the heartbeat's details are an `IngestProgress`."""
        with translate_errors(), HeartbeatThread(IngestProgress(stage="embedding")) as heartbeat:
            return self._knowledge.corpora.embed(corpus, heartbeat.update, activity.is_cancelled)

    @activity.defn
    def embed_for_question(self, request: QuestionEmbedRequest) -> EmbedReport:
        """Compute the vectors that a question needs first; the heartbeat's details are an `IngestProgress`."""
        with translate_errors(), HeartbeatThread(IngestProgress(stage="embedding")) as heartbeat:
            return self._knowledge.corpora.embed_for_question(request, heartbeat.update, activity.is_cancelled)

    @activity.defn
    def read_pages(self, request: ReadPagesRequest) -> ReadPagesReply:
        """Read fetched pages into a run's corpus."""
        with translate_errors(), HeartbeatThread(IngestProgress()) as heartbeat:
            return self._knowledge.corpora.read_pages(request, heartbeat.update, activity.is_cancelled)

    @activity.defn
    def read_page_text(self, request: PageTextRequest) -> str:
        """Return title and text of a page in the page cache.

        Raises:
            ApplicationError: it has no text, or too much.
        """
        with translate_errors(), HeartbeatThread():
            try:
                page = self._knowledge.corpora.read_page_text(request.url)
            except Unreadable as error:
                raise ApplicationError(f"{request.url} {error}", type=PAGE_REFUSED, non_retryable=True) from error
        text = page.text if page.text.startswith(page.title) else f"{page.title}\n\n{page.text}"
        if len(text) > request.max_characters:
            problem = f"{request.url} has {len(text):,} characters of text, more than {request.max_characters:,}"
            raise ApplicationError(problem, type=PAGE_REFUSED, non_retryable=True)
        return text

    @activity.defn
    def fork_corpus(self, request: ForkRequest) -> ForkReply:
        """Copy the knowledge of another run after one of its cycles."""
        with translate_errors(), HeartbeatThread(IngestProgress()) as heartbeat:
            return self._knowledge.corpora.fork(request, heartbeat.update, activity.is_cancelled)

    @activity.defn
    def search_passages(self, searches: tuple[SearchRequest, ...]) -> SearchBatchReply:
        """Search for passages; a search that fails permanently loses only its own result."""
        with HeartbeatThread(), ThreadPoolExecutor(MAX_SEARCH_THREADS, "search") as threads:
            running = [threads.submit(copy_context().run, self._search, search) for search in searches]
            return _build_reply([search.result() for search in running])

    def _search(self, request: SearchRequest) -> SearchReply | Exception:
        try:
            with translate_errors():
                return self._knowledge.retrieval.search(request)
        except Exception as error:
            return error

    @activity.defn
    def analyze_candidates(self, request: AnalysisRequest) -> AnalysisReply:
        """Accept or reject the passages found in a research cycle."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.retrieval.analyze_candidates(request)

    @activity.defn
    def extend_dossier(self, request: DossierRequest) -> Dossier:
        """Add passages to the dossier of a report."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.retrieval.extend_dossier(request)

    @activity.defn
    def find_pictures(self, request: PicturesRequest) -> tuple[PictureRef, ...]:
        """Return the pictures of documents that passages contain or name."""
        with translate_errors(), HeartbeatThread():
            passages = load_existing_passages(self._knowledge, request.passages)
            return self._knowledge.pictures.find_pictures(passages, request.question, request.limit)

    @activity.defn
    def store_picture_readings(self, request: StorePicturesRequest) -> tuple[PassageRef, ...]:
        """Store readings of pictures so that they can be cited."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.pictures.store_readings(request)

    @activity.defn
    def find_contradictions(self, refs: tuple[PassageRef, ...]) -> tuple[Contradiction, ...]:
        """Find statements of passages that say the same with another value."""
        with translate_errors(), HeartbeatThread():
            passages = load_existing_passages(self._knowledge, refs)
            return find_contradictions(passages, self._knowledge.encoder.encode)

    @activity.defn
    def compare_sources(self, sources: tuple[SourceId, ...]) -> tuple[SourceStanding, ...]:
        """Return the dates of sources, and which of them are primary."""
        with translate_errors(), HeartbeatThread():
            stored = self._knowledge.corpora.load_sources(sources)
        return tuple(
            SourceStanding(
                source=id,
                title=record.title or record.uri,
                published=record.published,
                primary=find_primary_reason(record.title, record.uri),
            )
            for id in dict.fromkeys(sources)
            if (record := stored.get(id))
        )

    @activity.defn
    def group_passages(self, request: GroupRequest) -> tuple[tuple[PassageRef, ...], ...]:
        """Group passages by subject."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.retrieval.group_passages(request)

    @activity.defn
    def recall_findings(self, request: RecallRequest) -> RecallReply:
        """Return the findings of earlier research on these corpora."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.retrieval.recall_findings(request)

    @activity.defn
    def manage_corpora(self, request: CorpusRequest) -> CorpusReply:
        """List, describe, search or drop corpora, list their documents, or read stored passages."""
        with translate_errors():
            if request.action == "search" and request.search is not None:
                passages = self._knowledge.retrieval.search(request.search).passages
                request = CorpusRequest(action="read", passages=passages[:MAX_REFERENCES])
            if request.action == "read":
                return CorpusReply(passages=read_stored_passages(self._knowledge.corpora, request))
        with translate_errors():
            dropped = request.action == "drop" and self._knowledge.corpora.drop(request.corpus or "")
            there = self._knowledge.corpora.load_stats()
            store = self._knowledge.load_store_stats() if request.action == "stats" else None
            documents: tuple[CorpusDocument, ...] = ()
            total = 0
            if request.action == "documents" and request.corpus is not None:
                documents, total = self._knowledge.corpora.list_documents(request.corpus, request.documents)
        if request.action in ("stats", "documents") and request.corpus is not None:
            there = tuple(corpus for corpus in there if corpus.corpus == request.corpus)
        return CorpusReply(corpora=there, dropped=dropped, store=store, documents=documents, documents_total=total)

    @activity.defn
    def find_relations(self, request: RelatedRequest) -> RelatedReply:
        """Return the relations of an entity in the graph."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.graph.find_relations(request)

    @activity.defn
    def find_tables(self, request: TablesRequest) -> tuple[TableInfo, ...]:
        """Return the tables that a question may be about."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.tables.list_tables(request)

    @activity.defn
    def query_tables(self, request: QueryRequest) -> QueryReply:
        """Run one SELECT and store its result."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.tables.query(request)

    @activity.defn
    def export_query(self, request: TableFileRequest) -> TableFileReply:
        """Run one SELECT and return its result as a file."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.tables.export_result(request)

    @activity.defn
    def store_computation(self, request: ComputationRequest) -> tuple[PassageRef, ...]:
        """Store the output of a program so that it can be cited."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.tables.store_computation(request)

    @activity.defn
    def store_result_texts(self, request: ResultTextsRequest) -> tuple[PassageRef, ...]:
        """Store texts on the result of a run so that they can be cited; return the passages nearest to a question."""
        texts = {f"run:{request.run}/{text.title}": text for text in request.texts}
        with translate_errors(), HeartbeatThread():
            passages = self._knowledge.results.store_texts(get_change_corpus(request.run), texts, request.question)
        return passages[:MAX_RESULT_PASSAGES]

    @activity.defn
    def maintain_tables(self, step: MaintenanceStep) -> UpkeepReport:
        """Execute one step of a maintenance; the heartbeat's details are a `UpkeepProgress`."""
        with translate_errors(), HeartbeatThread(UpkeepProgress(step=step)) as heartbeat:
            return self._knowledge.maintenance.run_step(step, heartbeat.update, activity.is_cancelled)

    @activity.defn
    def store_memories(self, request: RememberRequest) -> RememberReply:
        """Store memories."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.memories.remember(request)

    @activity.defn
    def write_memory(self, request: WriteMemoryRequest) -> WriteMemoryReply:
        """Store a memory that a person has written, or replace the text of a stored one."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.memories.write(request)

    @activity.defn
    def search_memories(self, request: MemorySearchRequest) -> MemorySearchReply:
        """Return the memories nearest to a query."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.memories.recall(request)

    @activity.defn
    def recall_experience(self, request: ExperienceRequest) -> Experience:
        """Return the knowledge of earlier runs with which a run starts."""
        with translate_errors(), HeartbeatThread():
            knowledge = self._knowledge
            return recall_experience(knowledge.memories, knowledge.retrieval, knowledge.results, request)

    @activity.defn
    def list_memories(self, request: MemoriesRequest) -> MemoriesReply:
        """Return one page of memories."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.memories.list_page(request)

    @activity.defn
    def consolidate_memories(self, request: ConsolidationRequest) -> UpkeepReport:
        """Execute one step of a consolidation; the heartbeat's details are a `UpkeepProgress`."""
        with translate_errors(), HeartbeatThread(UpkeepProgress(step=request.step)) as heartbeat:
            return self._knowledge.memories.consolidate(request, heartbeat.update, activity.is_cancelled)

    @activity.defn
    def forget_memories(self, request: ForgetRequest) -> ForgetReply:
        """Delete memories."""
        with translate_errors(), HeartbeatThread():
            return self._knowledge.memories.forget(request)


def _read_transcribed_seconds() -> float:
    """Return the length of the recordings that earlier attempts of this ingestion have paid for."""
    details = activity.info().heartbeat_details
    return IngestProgress.model_validate(details[0]).transcribed_seconds if details else 0.0


def _build_reply(outcomes: Sequence[SearchReply | Exception]) -> SearchBatchReply:
    """Return the results of a batch in which at least one search has succeeded.

    Raises:
        Exception: the first error that another attempt may not have, else the first one if all searches failed.
    """
    errors = [error for error in outcomes if isinstance(error, Exception)]
    passing = [error for error in errors if not (isinstance(error, ApplicationError) and error.non_retryable)]
    if passing and not is_last_attempt():
        raise passing[0]
    if len(errors) == len(outcomes):
        raise errors[0]
    replies = (_describe_error(outcome) if isinstance(outcome, Exception) else outcome for outcome in outcomes)
    return SearchBatchReply(replies=tuple(replies))


def _describe_error(error: Exception) -> FailedSearch:
    if isinstance(error, ApplicationError):
        return FailedSearch(type=error.type or "", message=error.message)
    return FailedSearch(type=type(error).__name__, message=str(error))
