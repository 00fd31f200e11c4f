"""The second stage of a search: its best candidates, looked at again (the formula is in `algorithms/reranking.py`)."""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from tenure.algorithms.retrieval.late_interaction import late_interaction
from tenure.algorithms.retrieval.reranking import authority, final_order, opinion, recency
from tenure.contracts.evidence.rerank import Rerank
from tenure.knowledge.embeddings.cache import TokenVectors
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.store.errors import InvalidSearch
from tenure.knowledge.store.store import Store
from tenure.models.embedding import EmbeddingModel, TokenEmbedding
from tenure.models.reranking import RerankModel

_COLUMNS = ["id", "uri", "kind", "published", "search_text", "vector"]


class SecondStage:
    """What candidates are looked at again with; safe to share between threads."""

    def __init__(self, model: EmbeddingModel, endpoint: RerankModel | None = None) -> None:
        """Compare by the tokens of `model`, where it shows them, and ask `endpoint`, where there is one."""
        self._tokens = TokenVectors(model) if isinstance(model, TokenEmbedding) else None
        self._endpoint = endpoint

    def check(self, wanted: Rerank) -> None:
        """Make sure that what is wanted can be done.

        Raises:
            InvalidSearch: it cannot.
        """
        if wanted.late_interaction and self._tokens is None:
            raise InvalidSearch("late interaction needs the embedded model: a server shows no vectors of tokens")
        if wanted.endpoint and self._endpoint is None:
            raise InvalidSearch("no rerank endpoint is set: set TENURE_RERANK_MODEL and TENURE_RERANK_BASE_URL")
        if wanted.recency and wanted.recency.as_of is None:
            raise InvalidSearch("a preference for new documents needs the day from which age is counted: give as_of")

    def order(
        self, store: Store, chunks: ChunkVectors, query: str, wanted: Rerank, first: Mapping[str, float]
    ) -> dict[str, float]:
        """Return the scores of candidates, in their new order.

        Args:
            store: where the chunks are.
            chunks: their vectors.
            query: what is searched for.
            wanted: the steps to take.
            first: scores of the first stage by chunk, best first.
        """
        found = store.rows_in(chunks.table, _COLUMNS, "id", list(first))
        # The database gives rows in an order of its own; a candidate that was deleted this moment is not among them.
        places = {chunk: place for place, chunk in enumerate(found["id"].to_pylist())}
        there = [chunk for chunk in first if chunk in places]
        rows = found.take(pa.array([places[chunk] for chunk in there], pa.int64()))
        opinions = opinion([first[chunk] for chunk in there], self._others(query, rows, wanted))
        scores = [(1 + held) / 2 * factor for held, factor in zip(opinions, _factors(rows, wanted), strict=True)]
        order = final_order(scores, chunks.of(rows), wanted.diversity)
        return {there[place]: scores[place] for place in order}

    def _others(self, query: str, rows: pa.Table, wanted: Rerank) -> list[tuple[float, list[float]]]:
        """Return the opinions beside the first stage's, each with its weight."""
        texts = rows["search_text"].to_pylist()
        others = []
        if wanted.late_interaction and self._tokens:
            question, *passages = self._tokens.encode([query, *texts])
            others.append((wanted.late_interaction, late_interaction(question, passages)))
        if wanted.endpoint and self._endpoint:
            others.append((wanted.endpoint, self._endpoint.scores(query, texts)))
        return others


def _factors(rows: pa.Table, wanted: Rerank) -> Iterator[float]:
    """Yield what age and standing make of each candidate's score."""
    new = wanted.recency
    for row in rows.select(["uri", "kind", "published"]).to_pylist():
        standing = authority(row["uri"], row["kind"], wanted.authority)
        if new is None or new.as_of is None:
            yield standing
        else:
            yield standing * recency(row["published"], new.as_of, new.half_life_days, new.weight)
