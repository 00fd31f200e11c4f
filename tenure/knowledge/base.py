"""Access the knowledge base: one object for each concern, over one store and one embedding model."""

from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from typing import Final

from tenure.contracts.evidence.corpora import CacheStats, IngestRequest, StoreStats
from tenure.knowledge.answers import AnswerCache, AnswerCipher
from tenure.knowledge.code.index import CodeIndex
from tenure.knowledge.corpora import Corpora
from tenure.knowledge.embeddings.cache import CachedSentenceEncoder, EmbeddingCache
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.graph.related import KnowledgeGraph
from tenure.knowledge.ingestion.corpus_writer import build_recipe
from tenure.knowledge.ingestion.results import StoredResults
from tenure.knowledge.ingestion.transcription import Transcription
from tenure.knowledge.maintenance import Maintenance
from tenure.knowledge.memory.memories import Memories
from tenure.knowledge.pages.cache import PageCache
from tenure.knowledge.patches import StoredPatches
from tenure.knowledge.pictures import Pictures
from tenure.knowledge.runs import ArchivedRuns
from tenure.knowledge.search.reranking import Reranker
from tenure.knowledge.search.retrieval import Retrieval
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.metrics import SearchMetrics
from tenure.knowledge.store.store import Store
from tenure.knowledge.tables.queries import TableQueries
from tenure.models.embedding import EmbeddingModel
from tenure.models.reranking import RerankModel
from tenure.models.transcription import TranscriptionModel
from tenure.settings.knowledge import KnowledgeSettings

_DEFAULTS: Final = KnowledgeSettings(cold_start_chunks=100_000)
"""Settings of a base without a worker: an ingestion computes all vectors itself."""


class KnowledgeBase:
    """Documents, memories and cached web pages of one store; safe to share between threads."""

    def __init__(
        self,
        uri: str,
        embedding: EmbeddingModel,
        settings: KnowledgeSettings = _DEFAULTS,
        *,
        metrics: SearchMetrics | None = None,
        rerank_model: RerankModel | None = None,
        transcription_model: TranscriptionModel | None = None,
        answer_cipher: AnswerCipher | None = None,
        readable_files: Callable[[Iterable[str], str], Collection[str]] | None = None,
    ) -> None:
        """Connect to a folder or object store; create the folder if it does not exist.

        The location in `settings` is not used. `rerank_model` scores candidates of searches that ask for it,
        `transcription_model` reads recordings, and `readable_files` selects the files that queries over tables may open
        for an owner.
        """
        self._store = store = Store(uri, settings.vector_index)
        self._metrics = metrics
        cache = EmbeddingCache(store, embedding, metrics)
        chunks = ChunkVectors(store, embedding, cache)
        self.encoder = CachedSentenceEncoder(embedding)
        encode = self.encoder.encode
        self.answers = AnswerCache(store, timedelta(days=settings.answer_cache_days), answer_cipher)

        def transcribe(request: IngestRequest) -> Transcription | None:
            if transcription_model is None:
                return None
            recipe = build_recipe(embedding, settings.chunk_tokens)
            return Transcription(
                *(transcription_model, self.answers, request.corpus, settings, recipe),
                max_usd=request.max_transcription_usd,
                paid_seconds=request.transcribed_seconds,
            )

        self.corpora = Corpora(store, embedding, cache, settings, metrics, transcribe)
        self.retrieval = Retrieval(store, embedding, chunks, encode, Reranker(rerank_model), metrics)
        self.graph = KnowledgeGraph(store, embedding.dimensions)
        self.results = StoredResults(store, embedding, cache, encode, settings.chunk_tokens)
        self.tables = TableQueries(store, embedding, cache, encode, self.results, settings, readable_files)
        self.pictures = Pictures(self.corpora, self.results, encode)
        self.memories = Memories(store, embedding, encode, settings.memory_policy)
        self.pages = PageCache(store)
        self.runs = ArchivedRuns(store)
        self.code = CodeIndex(store)
        self.patches = StoredPatches(store, answer_cipher)
        self.maintenance = Maintenance(store, settings)

    def load_store_stats(self) -> StoreStats:
        """Return the size of each table, and the counts of searches and cache hits on this machine."""
        return StoreStats(
            tables=catalogue.summarize_tables(self._store),
            queries=self._metrics.load_search_stats() if self._metrics else (),
            cache=self._metrics.load_cache_stats() if self._metrics else CacheStats(),
        )

    def close(self) -> None:
        """Stop the processes that parse web pages and source code."""
        self.corpora.close()
        self.code.close()
