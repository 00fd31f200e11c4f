"""The vectors of stored chunks, wherever they are: in the chunk's row, in the cache, or still to be made.

A large corpus is searched before all of it is embedded. Whoever needs the vector of a chunk asks here. A
vector that is made because a search needs it goes into the cache under the same key under which the
background work looks for it, so that no chunk has two vectors, and none is made twice.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tenure.algorithms.text.passage import Vectors
from tenure.knowledge.embeddings.cache import EmbeddingCache, vector_rows
from tenure.knowledge.store.schema import chunks_table
from tenure.knowledge.store.store import Store
from tenure.models.embedding import EmbeddingModel
from tenure.sources.parsers.reading import in_context

_TEXT = ["id", "title", "heading_path", "text"]
"""What a chunk's embedded text is made of."""


class ChunkVectors:
    """Vectors of the chunks of one knowledge base."""

    def __init__(self, store: Store, model: EmbeddingModel, cache: EmbeddingCache) -> None:
        """Make missing ones with `model`, through `cache`."""
        self._store, self._model, self._cache = store, model, cache

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._model.dimensions

    @property
    def table(self) -> str:
        """The table of the chunks."""
        return chunks_table(self.dimensions)

    def of(self, rows: pa.Table) -> Vectors:
        """Return a vector for each row of chunks, which need `id` and `vector`; those that are null are made.

        A chunk that has meanwhile been deleted is like nothing: its vector is zero.
        """
        absent = pc.is_null(rows["vector"]).to_numpy()
        vectors = np.zeros((rows.num_rows, self._model.dimensions), dtype=np.float32)
        vectors[~absent] = vector_rows(rows["vector"].drop_null(), self._model.dimensions)
        if absent.any():
            ids = np.asarray(rows["id"].to_pylist())
            texts = self.texts(ids[absent].tolist())
            there = absent & np.isin(ids, list(texts))
            vectors[there] = self._cache.embed([texts[chunk] for chunk in ids[there].tolist()]).vectors
        return vectors

    def texts(self, chunks: Sequence[str], where: str = "") -> dict[str, str]:
        """Return what is embedded for chunks, of those that are there and meet a condition."""
        rows = self._store.rows_in(self.table, _TEXT, "id", chunks, where)
        limit, count = self._model.max_tokens, self._model.count_tokens
        return {
            row["id"]: in_context(row["title"], row["heading_path"], row["text"], limit, count)
            for row in rows.to_pylist()
        }
