"""Answer retrieval requests over one store: searches, term lookup, grouping, and findings of runs."""

import time
from collections import Counter

from tenure.algorithms.retrieval.relevance import cluster_vectors
from tenure.algorithms.text.passage import Encoder
from tenure.contracts.base import ChunkId, RunId
from tenure.contracts.evidence.passages import PassageRef, SearchReply, SearchRequest
from tenure.contracts.evidence.retrieval import GroupRequest, RecallReply, RecallRequest
from tenure.contracts.research.dossier import Dossier, DossierRequest
from tenure.contracts.research.learning import InheritReply, InheritRequest
from tenure.contracts.research.spiral import AnalysisReply, AnalysisRequest
from tenure.contracts.research.tools import LookupReply, LookupRequest
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.search import findings
from tenure.knowledge.search.dossier import extend_dossier
from tenure.knowledge.search.lookup import count_documents_with_url, find_term
from tenure.knowledge.search.prior_runs import inherit_findings, list_unchanged_runs
from tenure.knowledge.search.reranking import Reranker
from tenure.knowledge.search.search import search
from tenure.knowledge.store.metrics import SearchMetrics
from tenure.knowledge.store.schema import FINDINGS
from tenure.knowledge.store.store import Store
from tenure.models.embedding import EmbeddingModel

MIN_GROUP_SIMILARITY = 0.5
"""Minimum cosine between a passage and the centre of its group."""
MIN_GROUP_SIZE = 2
MAX_CANDIDATES = 100
"""Best passages of a query that are looked up among the findings."""
_MAX_QUERIES = 5
"""Maximum number of queries of earlier runs that are returned."""


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

    def group_passages(self, request: GroupRequest) -> tuple[tuple[PassageRef, ...], ...]:
        """Cluster passages around the densest ones; omit passages that are similar to no other or are deleted."""
        by_chunk = {passage.chunk: passage for passage in request.passages}
        rows = self._store.read_rows_in(self._chunks.table, ["id", "vector"], "id", list(by_chunk))
        positions = {chunk: number for number, chunk in enumerate(rows["id"].to_pylist())}
        stored = [passage for passage in by_chunk.values() if passage.chunk in positions]
        vectors = self._chunks.load_vectors(rows)[[positions[passage.chunk] for passage in stored]]
        groups = cluster_vectors(vectors, MIN_GROUP_SIMILARITY, MIN_GROUP_SIZE, request.max_groups)
        return tuple(tuple(stored[member] for member in sorted(members)) for members in groups)

    def analyze_candidates(self, request: AnalysisRequest) -> AnalysisReply:
        """Accept or reject the candidates of a research cycle, and store the accepted ones as findings."""
        return findings.analyze_candidates(self._store, self._chunks, self._encode, request)

    def recall_findings(self, request: RecallRequest) -> RecallReply:
        """Look up which passages near a query all other runs have accepted, and which queries found them.

        Passages are ordered by the number of runs that accepted them, queries by the number of passages they found.
        """
        nearest = SearchRequest(
            query=request.query, corpora=request.corpora, k=MAX_CANDIDATES, mode="hybrid", filters=request.filters
        )
        near = self._search(nearest).passages
        rows = self._store.read_rows_in(
            FINDINGS, ["run", "chunk", "query"], "chunk", [passage.chunk for passage in near]
        ).to_pylist()
        of_run = {row["chunk"] for row in rows if row["run"] == request.run}
        relevant = {p.chunk: p for p in near if p.relevance >= request.min_relevance and p.chunk not in of_run}
        others = [row for row in rows if row["run"] != request.run and row["chunk"] in relevant]
        runs, queries = (Counter(row[name] for row in others) for name in ("chunk", "query"))
        accepted = sorted(runs, key=lambda chunk: (-runs[chunk], -relevant[chunk].relevance, chunk))
        return RecallReply(
            known=tuple(ChunkId(chunk) for chunk in sorted(of_run)),
            passages=tuple(relevant[chunk] for chunk in accepted[: request.limit]),
            queries=tuple(sorted(queries, key=lambda query: (-queries[query], query))[:_MAX_QUERIES]),
        )

    def inherit_findings(self, request: InheritRequest) -> InheritReply:
        """Return findings of earlier runs on related questions that are relevant to a new run."""
        return inherit_findings(self._store, self._chunks, self._encode, request)

    def list_unchanged_runs(self, request: InheritRequest) -> tuple[RunId, ...]:
        """Return the runs of a request whose queries would find the same again."""
        return list_unchanged_runs(self._store, request)
