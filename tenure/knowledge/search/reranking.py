"""Rerank the best candidates of a search; the formula is in `algorithms/retrieval/reranking.py`."""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from tenure.algorithms.retrieval.reranking import (
    blend_reranker_scores,
    compute_authority_factor,
    compute_recency_factor,
    order_candidates,
)
from tenure.contracts.evidence.rerank import RerankOptions
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.store.errors import InvalidSearch
from tenure.knowledge.store.store import Store
from tenure.models.reranking import RerankModel

_COLUMNS = ["id", "uri", "kind", "published", "search_text", "vector"]


class Reranker:
    """Second stage of a search; safe to share between threads."""

    def __init__(self, endpoint: RerankModel | None = None) -> None:
        self._endpoint = endpoint

    def validate(self, options: RerankOptions) -> None:
        """Check that the requested steps are available.

        Raises:
            InvalidSearch: a step is not available.
        """
        if options.endpoint and self._endpoint is None:
            raise InvalidSearch("no rerank endpoint is configured: set TENURE_RERANK_MODEL and TENURE_RERANK_BASE_URL")
        if options.recency and options.recency.as_of is None:
            raise InvalidSearch("recency needs as_of, the date from which age is counted")

    def rerank(
        self, store: Store, chunks: ChunkVectors, query: str, options: RerankOptions, first: Mapping[str, float]
    ) -> dict[str, float]:
        """Return the scores of candidates by chunk, in their new order; `first` has those of the first stage."""
        table = store.read_rows_in(chunks.table, _COLUMNS, "id", list(first))
        # The database returns rows in any order, and without candidates that were deleted in the meantime.
        positions = {chunk: index for index, chunk in enumerate(table["id"].to_pylist())}
        stored = [chunk for chunk in first if chunk in positions]
        rows = table.take(pa.array([positions[chunk] for chunk in stored], pa.int64()))
        texts = rows["search_text"].to_pylist()
        other = self._endpoint.score(query, texts) if options.endpoint and self._endpoint else ()
        opinions = blend_reranker_scores([first[chunk] for chunk in stored], other, options.endpoint)
        scores = [
            (1 + score) / 2 * factor for score, factor in zip(opinions, _compute_factors(rows, options), strict=True)
        ]
        order = order_candidates(scores, chunks.load_vectors(rows), options.diversity)
        return {stored[index]: scores[index] for index in order}


def _compute_factors(rows: pa.Table, options: RerankOptions) -> Iterator[float]:
    new = options.recency
    for row in rows.select(["uri", "kind", "published"]).to_pylist():
        standing = compute_authority_factor(row["uri"], row["kind"], options.authority)
        if new is None or new.as_of is None:
            yield standing
        else:
            yield standing * compute_recency_factor(row["published"], new.as_of, new.half_life_days, new.weight)
