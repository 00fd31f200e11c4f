"""Access the knowledge base: one object for each concern, over one store and one embedding model."""

from collections.abc import Callable, Collection, Iterable, Mapping

from tenure.contracts.evidence.corpora import CacheStats, StoreStats, VectorIndex
from tenure.contracts.knowledge.memory_policy import MemoryPolicy
from tenure.knowledge.answers import DEFAULT_ANSWER_LIMITS, AnswerCache, AnswerCipher, AnswerLimits
from tenure.knowledge.corpora import Corpora
from tenure.knowledge.embeddings.cache import CachedSentenceEncoder, EmbeddingCache
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.graph.knowledge_graph import KnowledgeGraph
from tenure.knowledge.ingestion.reading_budget import DEFAULT_INGEST_SECONDS
from tenure.knowledge.ingestion.results import StoredResults
from tenure.knowledge.maintenance import Maintenance
from tenure.knowledge.memory.memories import Memories
from tenure.knowledge.pages.cache import PageCache
from tenure.knowledge.runs import ArchivedRuns
from tenure.knowledge.search.reranking import Reranker
from tenure.knowledge.search.retrieval import Retrieval
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.metrics import SearchMetrics
from tenure.knowledge.store.store import Store
from tenure.knowledge.tables.queries import TableQueries
from tenure.models.embedding import EmbeddingModel
from tenure.models.reranking import RerankModel
from tenure.sources.tables.sql_engine import SqlLimits


class KnowledgeBase:
    """Documents, memories and cached web pages of one store; safe to share between threads.

    Attributes:
        corpora: ingestion, embedding and deletion of corpora; access to sources and passages.
        retrieval: searches, and the findings that runs accept.
        graph: entities and the relations between them.
        tables: SQL over tables of corpora and over databases.
        results: results of programs and tools, stored as citable sources.
        memories: memories of owners.
        pages: cache of fetched web pages.
        runs: archive of finished runs.
        answers: cache of the answers of models.
        maintenance: compaction, indexes and removal of old versions.
        encoder: sentence and token vectors, as the roles use them.
    """

    def __init__(
        self,
        uri: str,
        embedding: EmbeddingModel,
        chunk_tokens: int = 200,
        *,
        vector_index: VectorIndex = "auto",
        metrics: SearchMetrics | None = None,
        sql_limits: SqlLimits | None = None,
        databases: Mapping[str, str] | None = None,
        rerank_model: RerankModel | None = None,
        cold_start_chunks: int | None = None,
        ingest_seconds: float = DEFAULT_INGEST_SECONDS,
        page_cache_bytes: int | None = None,
        answer_limits: AnswerLimits = DEFAULT_ANSWER_LIMITS,
        answer_cipher: AnswerCipher | None = None,
        domain_authority: Mapping[str, float] | None = None,
        memory_policy: MemoryPolicy | None = None,
        readable_files: Callable[[Iterable[str], str], Collection[str]] | None = None,
    ) -> None:
        """Connect to a folder or object store; create the folder if it does not exist.

        Args:
            uri: path of a folder, or URI of an object store.
            embedding: model that computes the vectors.
            chunk_tokens: target length of a chunk, in tokens.
            vector_index: family of the vector index.
            metrics: counters of searches and cache hits; None counts nothing.
            sql_limits: limits of a query over tables.
            databases: connection URIs of PostgreSQL databases, by name.
            rerank_model: model that scores candidates of searches that ask for it.
            cold_start_chunks: missing vectors up to which an ingestion computes them itself; None for no limit.
            ingest_seconds: computing time that one ingestion may spend on slow files, in seconds.
            page_cache_bytes: size to which maintenance trims the page cache, in bytes; None for no limit.
            answer_limits: size and age to which maintenance trims the cache of answers.
            answer_cipher: encryption of the cached answers; None for plain text.
            domain_authority: authority of web domains, from 0 to 1.
            memory_policy: rules by which memories decay, merge and are deleted.
            readable_files: function that selects the files that queries over tables may open for an owner; None for all
                files.
        """
        self._store = store = Store(uri, vector_index)
        self._metrics = metrics
        cache = EmbeddingCache(store, embedding, metrics)
        chunks = ChunkVectors(store, embedding, cache)
        self.encoder = CachedSentenceEncoder(embedding)
        encode = self.encoder.encode
        self.corpora = Corpora(
            store,
            embedding,
            cache,
            chunk_tokens,
            cold_start_chunks,
            domain_authority or {},
            metrics,
            ingest_seconds=ingest_seconds,
        )
        self.retrieval = Retrieval(store, embedding, chunks, encode, Reranker(embedding, rerank_model), metrics)
        self.graph = KnowledgeGraph(store, embedding.dimensions)
        self.results = StoredResults(store, embedding, cache, encode, chunk_tokens)
        self.tables = TableQueries(
            *(store, embedding, cache, encode, self.results, sql_limits or SqlLimits(), databases or {}),
            readable_files,
        )
        self.memories = Memories(store, embedding, encode, memory_policy or MemoryPolicy())
        self.pages = PageCache(store)
        self.runs = ArchivedRuns(store)
        self.answers = AnswerCache(store, answer_limits.max_age, answer_cipher)
        self.maintenance = Maintenance(store, page_cache_bytes, answer_limits=answer_limits)

    def load_store_stats(self) -> StoreStats:
        """Return the size of each table, and the counts of searches and cache hits on this machine."""
        return StoreStats(
            tables=catalogue.summarize_tables(self._store),
            queries=self._metrics.load_search_stats() if self._metrics else (),
            cache=self._metrics.load_cache_stats() if self._metrics else CacheStats(),
        )

    def close(self) -> None:
        """Stop the processes that parse web pages."""
        self.corpora.close()
