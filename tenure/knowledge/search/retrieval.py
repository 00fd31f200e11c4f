"""Answer retrieval requests over one store: searches, term lookup, grouping, and findings of runs."""

import time

from tenure.algorithms.text.passage import Encoder
from tenure.contracts.base import RunId
from tenure.contracts.evidence.passages import SearchReply, SearchRequest
from tenure.contracts.evidence.retrieval import GroupReply, GroupRequest, RecallReply, RecallRequest
from tenure.contracts.research.dossier import Dossier, DossierRequest
from tenure.contracts.research.learning import InheritReply, InheritRequest
from tenure.contracts.research.spiral import AnalysisReply, AnalysisRequest
from tenure.contracts.research.tools import LookupReply, LookupRequest
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.search import findings
from tenure.knowledge.search.dossier import extend_dossier
from tenure.knowledge.search.grouping import group_passages
from tenure.knowledge.search.lookup import count_documents_with_url, find_term
from tenure.knowledge.search.prior_runs import inherit_findings, list_unchanged_runs
from tenure.knowledge.search.recall import MAX_CANDIDATES, recall_findings
from tenure.knowledge.search.reranking import Reranker
from tenure.knowledge.search.search import search
from tenure.knowledge.store.metrics import SearchMetrics
from tenure.knowledge.store.store import Store
from tenure.models.embedding import EmbeddingModel


class Retrieval:
    """Retrieval over the corpora and findings of one store; safe to share between threads."""

    def __init__(
        self,
        store: Store,
        model: EmbeddingModel,
        chunks: ChunkVectors,
        encode: Encoder,
        reranker: Reranker,
        metrics: SearchMetrics | None = None,
    ) -> None:
        self._store, self._model, self._chunks, self._encode = store, model, chunks, encode
        self._reranker, self._metrics = reranker, metrics

    def search(self, request: SearchRequest) -> SearchReply:
        """Return the passages that match a query, best first.

        Raises:
            InvalidSearch: the query or the list of corpora is empty, or a parameter is invalid.
            UnknownCorpus: a corpus was never ingested.
            EmbeddingModelMismatch: the vectors of a corpus come from another model.
            ModelError: the embedding server or the rerank endpoint does not answer.
        """
        started = time.perf_counter()
        reply = self._search(request)
        if self._metrics:
            self._metrics.count_search(request.mode, time.perf_counter() - started)
        return reply

    def _search(self, request: SearchRequest) -> SearchReply:
        return search(self._store, self._model, self._chunks, self._encode, self._reranker, request)

    def find_term(self, request: LookupRequest) -> LookupReply:
        """Return the sentences of some sources that contain a term, or count the documents that contain a URL."""
        if request.kind == "url":
            return count_documents_with_url(self._store, request)
        return find_term(self._store, self._model.dimensions, request)

    def extend_dossier(self, request: DossierRequest) -> Dossier:
        """Return a dossier with further passages, as far as they fit, and with what surrounds the strongest ones."""
        return extend_dossier(self._store, self._model.dimensions, request)

    def group_passages(self, request: GroupRequest) -> GroupReply:
        """Return clusters of similar passages."""
        return group_passages(self._store, self._chunks, request)

    def analyze_candidates(self, request: AnalysisRequest) -> AnalysisReply:
        """Accept or reject the candidates of a research cycle, and store the accepted ones as findings.

        Raises:
            UnknownCorpus: a corpus was never ingested.
        """
        return findings.analyze_candidates(self._store, self._chunks, self._encode, request)

    def recall_findings(self, request: RecallRequest) -> RecallReply:
        """Return passages near a query that earlier runs have accepted.

        Raises:
            InvalidSearch: the query or the list of corpora is empty.
            InvalidFilter: a filter is invalid.
            UnknownCorpus: a corpus was never ingested.
            EmbeddingModelMismatch: the vectors of a corpus come from another model.
        """
        nearest = SearchRequest(
            query=request.query, corpora=request.corpora, k=MAX_CANDIDATES, mode="hybrid", filters=request.filters
        )
        return recall_findings(self._store, self._search(nearest).passages, request)

    def inherit_findings(self, request: InheritRequest) -> InheritReply:
        """Return findings of earlier runs on related questions that are relevant to a new run.

        Raises:
            InvalidFilter: a filter is invalid.
            UnknownCorpus: a corpus was never ingested.
        """
        return inherit_findings(self._store, self._chunks, self._encode, request)

    def list_unchanged_runs(self, request: InheritRequest) -> tuple[RunId, ...]:
        """Return the runs of a request whose queries would find the same again."""
        return list_unchanged_runs(self._store, request)
