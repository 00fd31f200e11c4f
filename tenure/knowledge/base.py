"""The knowledge base: the one class the rest of Tenure deals with."""

import time
from collections.abc import Callable, Mapping, Sequence

from tenure.algorithms.text.passage import Passage, TokenEncoder, Vectors
from tenure.contracts.base import SourceId
from tenure.contracts.evidence.computing import ComputationReply, ComputationRequest, TableFileReply, TableFileRequest
from tenure.contracts.evidence.corpora import (
    CacheStats,
    CorpusStats,
    EmbedReport,
    EmbedRequest,
    IngestProgress,
    IngestReport,
    IngestRequest,
    StoreStats,
    VectorIndex,
)
from tenure.contracts.evidence.passages import PassageRef, SearchReply, SearchRequest
from tenure.contracts.evidence.retrieval import GroupReply, GroupRequest, Recalled, RecallRequest
from tenure.contracts.evidence.tables import QueryReply, QueryRequest, TablesReply, TablesRequest
from tenure.contracts.evidence.web import ReadPagesReply, ReadPagesRequest, WebAccount, WebScope
from tenure.contracts.knowledge.graph import RelatedReply, RelatedRequest, RelationsKept, UnreadReply, UnreadRequest
from tenure.contracts.knowledge.maintenance import MaintenanceProgress, MaintenanceStep, StepReport
from tenure.contracts.knowledge.memory import (
    ConsolidationProgress,
    ConsolidationRequest,
    ConsolidationStepReport,
    MemoryPolicy,
)
from tenure.contracts.research.fork import Forked, ForkRequest
from tenure.contracts.research.learning import Inherited, InheritRequest
from tenure.contracts.research.spiral import Analysis, AnalysisRequest
from tenure.contracts.research.tools import LookupReply, LookupRequest
from tenure.contracts.run.role_calls import Turn
from tenure.knowledge.embeddings.background import BackgroundModel
from tenure.knowledge.embeddings.cache import EmbeddingCache, SentenceVectors
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.embeddings.embedding import Embedding
from tenure.knowledge.graph import graph, statements
from tenure.knowledge.graph.related import related
from tenure.knowledge.ingestion.corpus_writer import CorpusWriter, recipe
from tenure.knowledge.ingestion.ingest import Ingestion, never
from tenure.knowledge.ingestion.readers import Readers
from tenure.knowledge.ingestion.results import Results
from tenure.knowledge.ingestion.web_pages import Intake
from tenure.knowledge.maintenance import maintain
from tenure.knowledge.memory import conversations
from tenure.knowledge.memory.consolidation import Consolidation
from tenure.knowledge.memory.memories import Memories, forget_sources
from tenure.knowledge.pages import readings
from tenure.knowledge.pages.cache import PageCache
from tenure.knowledge.search import findings
from tenure.knowledge.search.forking import fork
from tenure.knowledge.search.grouping import group
from tenure.knowledge.search.lookup import lookup
from tenure.knowledge.search.prior_runs import inherit
from tenure.knowledge.search.recall import NEAR, recall
from tenure.knowledge.search.reranking import SecondStage
from tenure.knowledge.search.search import search
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.catalogue import SourceRecord
from tenure.knowledge.store.metrics import Meter
from tenure.knowledge.store.store import Store
from tenure.knowledge.tables.queries import Structured
from tenure.models.embedding import EmbeddingModel, TokenReading
from tenure.models.reranking import RerankModel
from tenure.roles.base import Message
from tenure.roles.retrieval.relation_extractor import RelationExtractorOutput
from tenure.sources.document.document import Document
from tenure.sources.tables.sql_engine import Limits

PAGE_READERS = 2
"""Processes that read pages of the web; they stay, since each takes half a second to start."""


class KnowledgeBase:
    """Documents, chunks and vectors at one address; safe to share between threads."""

    def __init__(
        self,
        uri: str,
        embedding: EmbeddingModel,
        chunk_tokens: int = 200,
        *,
        vector_index: VectorIndex = "auto",
        meter: Meter | None = None,
        sql: Limits | None = None,
        databases: Mapping[str, str] | None = None,
        rerank: RerankModel | None = None,
        cold_start: int | None = None,
        page_bytes: int | None = None,
        authority: Mapping[str, float] | None = None,
        memory: MemoryPolicy | None = None,
    ) -> None:
        """Connect to a folder or object store; it is made where there is none.

        Args:
            uri: where it is.
            embedding: what makes its vectors.
            chunk_tokens: target length of a chunk.
            vector_index: family of the vector index.
            meter: what counts searches; without one nothing is counted.
            sql: what a query over tables may use.
            databases: addresses of PostgreSQL databases that may be asked, by name.
            rerank: what scores candidates, where a search asks for it.
            cold_start: chunks up to which an ingestion makes all vectors by itself; None for any number.
            page_bytes: size of the pages of the web that maintenance leaves; None for any.
            authority: what domains of the web are worth, from 0 to 1.
            memory: how memories age, join and go.
        """
        self._store = Store(uri, vector_index)
        self._model = embedding
        self._meter = meter
        self._page_bytes = page_bytes
        self._cache = EmbeddingCache(self._store, embedding, meter)
        self._chunks = ChunkVectors(self._store, embedding, self._cache)
        self._chunk_tokens, self._cold_start = chunk_tokens, cold_start
        self._authority = authority or {}
        self._page_readers = Readers(recipe(embedding, chunk_tokens), PAGE_READERS)
        self._sentences = SentenceVectors(embedding)
        self._second = SecondStage(embedding, rerank)
        self._policy = memory or MemoryPolicy()
        self.memories = Memories(self._store, embedding, self.encode, self._policy)
        self._results = Results(self._store, embedding, self._cache, self.encode, chunk_tokens)
        self._structured = Structured(
            self._store, embedding, self._cache, self.encode, self._results, sql or Limits(), databases or {}
        )

    def ingest(
        self,
        request: IngestRequest,
        report: Callable[[IngestProgress], None],
        cancelled: Callable[[], bool] = never,
    ) -> IngestReport:
        """Bring a corpus into the state of the given files and folders.

        Repeating it, also after an interruption, leads to the same rows. Where more vectors are missing than an
        ingestion makes by itself, they are left to `embed`. `report` is called at least every other second;
        `cancelled` is asked as often.

        Raises:
            FileNotFoundError: a path does not exist.
            EmbeddingModelMismatch: documents outside the paths were embedded with another model.
            IngestCancelled: `cancelled` said so.
            EmbeddingCancelled: it said so when everything was read.
        """
        return Ingestion(
            self._store, self._model, self._cache, self._chunk_tokens, request, report, cancelled, self._cold_start
        ).run()

    def embed(
        self,
        request: EmbedRequest,
        report: Callable[[IngestProgress], None],
        cancelled: Callable[[], bool] = never,
    ) -> EmbedReport:
        """Make the vectors that a corpus lacks; what an interruption leaves, the next call makes.

        It gives way to whatever else this process does.

        Raises:
            UnknownCorpus: the corpus was never ingested.
            EmbeddingModelMismatch: its vectors come from another model.
            EmbeddingCancelled: `cancelled` said so.
        """
        model = BackgroundModel(self._model)
        cache = EmbeddingCache(self._store, model, self._meter)
        return Embedding(self._store, model, cache, request.corpus, report, cancelled).run()

    def read_pages(
        self,
        request: ReadPagesRequest,
        report: Callable[[IngestProgress], None],
        cancelled: Callable[[], bool] = never,
    ) -> ReadPagesReply:
        """Read pages of the page cache into a corpus, which is made where there is none.

        Raises:
            EmbeddingModelMismatch: the corpus was embedded with another model.
            EmbeddingCancelled: `cancelled` said so.
        """
        writer = self._writer(request.corpus, report, cancelled)
        return Intake(self._store, writer, self._page_readers, self._authority, request, report).run()

    def fork(
        self,
        request: ForkRequest,
        report: Callable[[IngestProgress], None],
        cancelled: Callable[[], bool] = never,
    ) -> Forked:
        """Give a fork what its origin knew after a cycle; repeating it leaves the same rows.

        Raises:
            UnknownCorpus: the origin's pages of the web are gone.
            EmbeddingModelMismatch: they were embedded with another model.
        """
        writer = self._writer(WebScope(run=request.run).corpus, report, cancelled)
        return fork(self._store, writer, self._model, request)

    def web_account(self, corpus: str) -> WebAccount:
        """Return what a run has read of the web."""
        return readings.account(self._store, corpus)

    def close(self) -> None:
        """End the processes that read pages."""
        self._page_readers.close()

    def search(self, request: SearchRequest) -> SearchReply:
        """Find passages, best first.

        Raises:
            InvalidSearch: nothing to look for, or nowhere to look.
            UnknownCorpus: a corpus was never ingested.
            EmbeddingModelMismatch: a corpus's vectors come from another model.
            ModelError: the embedding server or the rerank endpoint did not answer.
        """
        started = time.perf_counter()
        reply = search(self._store, self._model, self._chunks, self.encode, self._second, request)
        if self._meter:
            self._meter.searched(request.strategy, time.perf_counter() - started)
        return reply

    def tables(self, request: TablesRequest) -> TablesReply:
        """Return the tables that a question may be about.

        Raises:
            UnknownDatabase: a database is not in the settings.
        """
        return self._structured.tables(request)

    def query(self, request: QueryRequest) -> QueryReply:
        """Run one SELECT over tables; the reply says what is wrong with one that cannot run.

        Raises:
            UnknownDatabase: a database is not in the settings.
        """
        return self._structured.query(request)

    def table_file(self, request: TableFileRequest) -> TableFileReply:
        """Return the result of one SELECT as a file; the reply says what is wrong with one that cannot be had.

        Raises:
            UnknownDatabase: a database is not in the settings.
        """
        return self._structured.table_file(request)

    def keep_computation(self, request: ComputationRequest) -> ComputationReply:
        """Keep what a program printed as a source, for which the reply has the passages of its figures.

        Raises:
            UnknownDatabase: a database is not in the settings.
        """
        return self._structured.keep_computation(request)

    def keep_result(self, corpus: str, uri: str, document: Document, about: str) -> tuple[PassageRef, ...]:
        """Keep what a tool has brought as a source beside a corpus; return its first passages.

        Args:
            corpus: the corpus that it goes with.
            uri: what tells it from other results.
            document: what was brought.
            about: what its relevance is measured on.
        """
        return self._results.keep(corpus, uri, document, about)

    def lookup(self, request: LookupRequest) -> LookupReply:
        """Find a term to the letter in some sources."""
        return lookup(self._store, self._model.dimensions, request)

    def passages(self, refs: Sequence[PassageRef]) -> tuple[Passage, ...]:
        """Return the passages behind references, in their order, with their relevance.

        Raises:
            UnknownChunk: one of them is not stored.
        """
        return catalogue.passages(self._store, self._model.dimensions, refs)

    def analyze(self, request: AnalysisRequest) -> Analysis:
        """Judge what a cycle of research has found, and keep what is accepted.

        Raises:
            UnknownCorpus: a corpus was never ingested.
        """
        return findings.analyze(self._store, self._chunks, self.encode, request)

    def group(self, request: GroupRequest) -> GroupReply:
        """Group passages by what they are about."""
        return group(self._store, self._chunks, request)

    def recall(self, request: RecallRequest) -> Recalled:
        """Return what earlier research has accepted near a query.

        Raises:
            InvalidSearch: nothing to look for, or nowhere to look.
            InvalidFilter: a filter cannot be applied.
            UnknownCorpus: a corpus was never ingested.
            EmbeddingModelMismatch: a corpus's vectors come from another model.
        """
        nearest = SearchRequest(
            query=request.query, corpora=request.corpora, k=NEAR, strategy="hybrid", filters=request.filters
        )
        near = search(self._store, self._model, self._chunks, self.encode, self._second, nearest).passages
        return recall(self._store, near, request)

    def inherit(self, request: InheritRequest) -> Inherited:
        """Return what earlier runs on related questions leave to a run.

        Raises:
            InvalidFilter: a filter cannot be applied.
            UnknownCorpus: a corpus was never ingested.
        """
        return inherit(self._store, self._chunks, self.encode, request)

    def related(self, request: RelatedRequest) -> RelatedReply:
        """Return what an entity is related to, with the sentences that prove it.

        Raises:
            InvalidSearch: there is nothing to look for in the entity.
            UnknownCorpus: a corpus was never ingested.
        """
        return related(self._store, self._model.dimensions, request)

    def unread(self, request: UnreadRequest) -> UnreadReply:
        """Return passages whose relations no model has read.

        Raises:
            UnknownCorpus: the corpus was never ingested.
        """
        return statements.unread(self._store, self._model.dimensions, request)

    def keep_relations(self, model: str, passages: Sequence[Passage], output: RelationExtractorOutput) -> RelationsKept:
        """Keep which relations a model has read in passages, as far as they hold them; `model` is empty for none."""
        return statements.keep(self._store, model, passages, output)

    def refresh_relations(self, corpus: str) -> None:
        """Bring the relations of a corpus into the state of what was read."""
        graph.refresh_relations(self._store, corpus)

    def said(self, role: str, turn: Turn) -> tuple[Message, ...]:
        """Return what a role and its model have said before a turn of their conversation."""
        return conversations.said(self._store, role, turn)

    def keep_turn(self, role: str, turn: Turn, messages: Sequence[Message], *, anew: bool) -> None:
        """Keep what a turn of a conversation has said; `anew` where it did not go on from the turns before."""
        conversations.keep(self._store, role, turn, messages, anew=anew)

    def sources(self, ids: Sequence[SourceId]) -> dict[SourceId, SourceRecord]:
        """Return stored sources with their full texts; ids of sources that are gone are absent."""
        return catalogue.sources(self._store, ids)

    def corpora(self) -> tuple[CorpusStats, ...]:
        """Return what each corpus holds, in alphabetical order."""
        return catalogue.stats(self._store)

    def stats(self) -> StoreStats:
        """Return what the knowledge base as a whole holds, and what the meter of this home has counted."""
        return StoreStats(
            tables=catalogue.tables(self._store),
            queries=self._meter.queries() if self._meter else (),
            cache=self._meter.cache() if self._meter else CacheStats(),
        )

    def maintain(
        self,
        step: MaintenanceStep,
        report: Callable[[MaintenanceProgress], None],
        cancelled: Callable[[], bool] = never,
    ) -> StepReport:
        """Do one step of maintenance to every table.

        Raises:
            MaintenanceCancelled: `cancelled` said so.
        """
        return maintain(self._store, step, report, cancelled, page_bytes=self._page_bytes)

    def consolidate(
        self,
        request: ConsolidationRequest,
        report: Callable[[ConsolidationProgress], None],
        cancelled: Callable[[], bool] = never,
    ) -> ConsolidationStepReport:
        """Do one step of a consolidation of memories.

        Raises:
            ConsolidationCancelled: `cancelled` said so.
        """
        return Consolidation(self._store, self._model, self.encode, self._policy, request, report, cancelled).run()

    @property
    def pages(self) -> PageCache:
        """The pages of the web that were fetched."""
        return PageCache(self._store)

    def drop(self, corpus: str) -> bool:
        """Forget a corpus, and what is remembered from it alone; tell whether it was there."""
        forget_sources(self._store, catalogue.source_ids(self._store, corpus))
        return catalogue.drop_corpus(self._store, corpus)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text, recently used ones from memory."""
        return self._sentences.encode(texts)

    @property
    def tokens(self) -> TokenEncoder | None:
        """What reads texts token by token; None where the embedding model is a server's."""
        return self._model.read_tokens if isinstance(self._model, TokenReading) else None

    def _writer(
        self, corpus: str, report: Callable[[IngestProgress], None], cancelled: Callable[[], bool]
    ) -> CorpusWriter:
        return CorpusWriter(
            self._store,
            self._model,
            self._cache,
            self._chunk_tokens,
            corpus,
            self._cold_start,
            report,
            cancelled,
        )
