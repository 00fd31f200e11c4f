"""Cache embeddings: on disk for chunks, in memory for sentences."""

import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tenure.algorithms.text.passage import Vectors
from tenure.knowledge.store.errors import CorruptTable
from tenure.knowledge.store.metrics import SearchMetrics
from tenure.knowledge.store.schema import CACHE, CACHE_SCHEMA, hash_parts
from tenure.knowledge.store.store import Store
from tenure.models.embedding import EmbeddingModel, embed_passages

_BATCH_TEXTS = 48
"""Texts between two progress reports; about a second on two cores."""


def _ignore_progress(done: int) -> None:
    """Ignore the progress."""


class EmbeddingResult(NamedTuple):
    """Vectors, shape (n, dimensions), and the number of them that were computed rather than cached."""

    vectors: Vectors
    computed: int


def build_vector_column(vectors: Vectors, absent: NDArray[np.bool_] | None = None) -> pa.FixedSizeListArray:
    """Return vectors, shape (n, dimensions), as a table column, with null in the rows of the mask `absent`."""
    mask = None if absent is None else pa.array(absent)
    return pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1], mask=mask)


def read_vector_column(column: pa.ChunkedArray, dimensions: int) -> Vectors:
    """Return a column of vectors as an array, shape (n, dimensions)."""
    values = [part.flatten().to_numpy(zero_copy_only=False) for part in column.chunks]
    flat = np.concatenate(values) if values else np.zeros(0)
    rows: Vectors = flat.astype(np.float32, copy=False).reshape(-1, dimensions)
    return rows


def compute_checksum(vector: Vectors) -> int:
    """Return the CRC-32 of a vector; the database does not detect inverted bits."""
    return zlib.crc32(np.ascontiguousarray(vector, dtype="<f4").tobytes())


class EmbeddingCache:
    """Table `embedding_cache`: vectors by model and text, so that no text is embedded twice.

    A damaged cache costs only the computation of its vectors.
    """

    def __init__(self, store: Store, model: EmbeddingModel, metrics: SearchMetrics | None = None) -> None:
        self._store, self._model, self._metrics = store, model, metrics

    def look_up(self, texts: Sequence[str]) -> tuple[Vectors, NDArray[np.bool_]]:
        """Return cached vectors, shape (n, dimensions), and a mask of the texts that are not cached (zero vectors)."""
        keys = [hash_parts(self._model.name, text) for text in texts]
        cached = self._lookup(keys)
        absent = np.zeros(self._model.dimensions, dtype=np.float32)
        vectors = np.reshape([cached.get(key, absent) for key in keys], (-1, self._model.dimensions))
        return vectors.astype(np.float32), np.asarray([key not in cached for key in keys], dtype=bool)

    def embed(self, texts: Sequence[str], progress: Callable[[int], None] = _ignore_progress) -> EmbeddingResult:
        """Return the vector of each text; `progress` receives the number of finished texts."""
        keys = [hash_parts(self._model.name, text) for text in texts]
        vectors_by_key = self._lookup(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors_by_key}
        done = len(texts) - len(missing)
        progress(done)
        self._compute(missing, vectors_by_key, lambda computed: progress(done + computed))
        if self._metrics:
            self._metrics.count_cache_lookups(done, len(missing))
        vectors = np.reshape([vectors_by_key[key] for key in keys], (-1, self._model.dimensions)).astype(np.float32)
        return EmbeddingResult(vectors, len(missing))

    def _lookup(self, keys: list[str]) -> dict[str, Vectors]:
        """Return the cached vectors of keys; damaged rows, and all rows of a damaged table, count as missing."""
        try:
            if not self._store.count_rows(CACHE):
                return {}
            rows = self._store.read_rows_in(CACHE, ["key", "vector", "checksum"], "key", list(dict.fromkeys(keys)))
        except CorruptTable as error:
            self._store.replace_cache(CACHE, error)
            return {}
        rows = rows.filter(pc.equal(pc.list_value_length(rows["vector"]), self._model.dimensions))
        vectors = read_vector_column(rows["vector"], self._model.dimensions)
        triples = zip(rows["key"].to_pylist(), vectors, rows["checksum"].to_pylist(), strict=True)
        return {key: vector for key, vector, checksum in triples if checksum == compute_checksum(vector)}

    def _compute(self, missing: dict[str, str], vectors: dict[str, Vectors], progress: Callable[[int], None]) -> None:
        # Longest first: texts of similar length share a forward pass, which reduces padding.
        order = sorted(missing, key=lambda key: (-len(missing[key]), key))
        for at in range(0, len(order), _BATCH_TEXTS):
            part = order[at : at + _BATCH_TEXTS]
            vectors.update(zip(part, embed_passages(self._model, [missing[key] for key in part]), strict=True))
            progress(at + len(part))
        if order:
            columns = {
                "key": order,
                "model": [self._model.name] * len(order),
                "vector": [vectors[key] for key in order],
                "checksum": [compute_checksum(vectors[key]) for key in order],
            }
            self._store.upsert(CACHE, pa.table(columns, schema=CACHE_SCHEMA), "key")


class CachedSentenceEncoder:
    """Sentence encoder for roles and searches, with the most recently used vectors in memory; safe to share."""

    def __init__(self, model: EmbeddingModel, capacity: int = 20_000) -> None:
        self._model, self._capacity = model, capacity
        self._lock = threading.Lock()
        self._recent: OrderedDict[str, Vectors] = OrderedDict()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of texts, shape (n, dimensions)."""
        with self._lock:
            found = {text: self._recent[text] for text in texts if text in self._recent}
            for text in found:
                self._recent.move_to_end(text)
        if missing := [text for text in dict.fromkeys(texts) if text not in found]:
            computed = dict(zip(missing, self._model.embed(missing), strict=True))
            found |= computed
            with self._lock:
                self._recent |= computed
                while len(self._recent) > self._capacity:
                    self._recent.popitem(last=False)
        vectors = [found[text] for text in texts]
        return np.stack(vectors) if vectors else np.zeros((0, self._model.dimensions), dtype=np.float32)
