"""Load the vectors of stored chunks from their rows or the embedding cache, or compute them.

A large corpus is searchable before all of it is embedded. A vector that a search computes on demand goes into the cache
under the key that the backfill uses, so that no vector is computed twice.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tenure.algorithms.text.passage import Vectors
from tenure.knowledge.embeddings.cache import EmbeddingCache, read_vector_column
from tenure.knowledge.store.schema import build_chunk_table_name
from tenure.knowledge.store.store import Store
from tenure.models.embedding import EmbeddingModel
from tenure.sources.parsers.reader_process import build_embedding_text

_TEXT_COLUMNS = ["id", "title", "heading_path", "text"]
"""Columns from which the embedded text of a chunk is built."""


class ChunkVectors:
    """Vectors of the chunks of one knowledge base."""

    def __init__(self, store: Store, model: EmbeddingModel, cache: EmbeddingCache) -> None:
        self._store, self._model, self._cache = store, model, cache

    @property
    def dimensions(self) -> int:
        """Number of components of a vector."""
        return self._model.dimensions

    @property
    def table(self) -> str:
        """Name of the table of chunks."""
        return build_chunk_table_name(self.dimensions)

    def load_vectors(self, rows: pa.Table) -> Vectors:
        """Return the vectors of rows with the columns `id` and `vector`, shape (n, dimensions); compute null ones.

        A chunk that was deleted in the meantime gets a zero vector.
        """
        absent = pc.is_null(rows["vector"]).to_numpy()
        vectors = np.zeros((rows.num_rows, self._model.dimensions), dtype=np.float32)
        vectors[~absent] = read_vector_column(rows["vector"].drop_null(), self._model.dimensions)
        if absent.any():
            ids = np.asarray(rows["id"].to_pylist())
            texts = self.load_texts(ids[absent].tolist())
            computable = absent & np.isin(ids, list(texts))
            vectors[computable] = self._cache.embed([texts[chunk] for chunk in ids[computable].tolist()]).vectors
        return vectors

    def load_texts(self, chunks: Sequence[str], where: str = "") -> dict[str, str]:
        """Return the embedded texts of chunks by id, for those that are stored and match the condition."""
        rows = self._store.read_rows_in(self.table, _TEXT_COLUMNS, "id", chunks, where)
        limit, count = self._model.max_tokens, self._model.count_tokens
        return {
            row["id"]: build_embedding_text(row["title"], row["heading_path"], row["text"], limit, count)
            for row in rows.to_pylist()
        }
