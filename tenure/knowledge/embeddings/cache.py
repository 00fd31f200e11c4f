"""Embeddings that are computed once: a cache on disk for chunks, and one in memory for sentences."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tenure.algorithms.text.passage import Vectors
from tenure.knowledge.store.metrics import Meter
from tenure.knowledge.store.schema import CACHE, CACHE_SCHEMA, digest
from tenure.knowledge.store.store import Store
from tenure.models.embedding import EmbeddingModel, TokenEmbedding

_SLICE = 48
"""Texts between two reports of progress; about a second on two cores."""


def _silent(done: int) -> None:
    """Tell nobody."""


class Embedded(NamedTuple):
    """Vectors, and how many of them had to be computed."""

    vectors: Vectors
    computed: int


def vector_column(vectors: Vectors, absent: NDArray[np.bool_] | None = None) -> pa.FixedSizeListArray:
    """Return vectors as a column of a table, null where one is absent."""
    mask = None if absent is None else pa.array(absent)
    return pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1], mask=mask)


def vector_rows(column: pa.ChunkedArray, dimensions: int) -> Vectors:
    """Return a column of vectors as an array."""
    values = [part.flatten().to_numpy(zero_copy_only=False) for part in column.chunks]
    flat = np.concatenate(values) if values else np.zeros(0)
    rows: Vectors = flat.astype(np.float32, copy=False).reshape(-1, dimensions)
    return rows


class EmbeddingCache:
    """The table `embedding_cache`: vectors by model and text, so that no text is ever embedded twice."""

    def __init__(self, store: Store, model: EmbeddingModel, meter: Meter | None = None) -> None:
        """Put the table before the model, and have what it spares counted."""
        self._store, self._model, self._meter = store, model, meter

    def known(self, texts: Sequence[str]) -> tuple[Vectors, NDArray[np.bool_]]:
        """Return a vector per text, and which of them are only places because nobody has made them yet."""
        keys = [digest(self._model.name, text) for text in texts]
        found = self._lookup(keys)
        vectors = np.zeros((len(texts), self._model.dimensions), dtype=np.float32)
        for row, key in enumerate(keys):
            if key in found:
                vectors[row] = found[key]
        return vectors, np.asarray([key not in found for key in keys], dtype=bool)

    def embed(self, texts: Sequence[str], progress: Callable[[int], None] = _silent) -> Embedded:
        """Return one vector per text; `progress` hears how many texts of this call are done."""
        keys = [digest(self._model.name, text) for text in texts]
        vectors = np.zeros((len(texts), self._model.dimensions), dtype=np.float32)
        found = self._lookup(keys)
        missing: dict[str, str] = {}
        for key, text in zip(keys, texts, strict=True):
            if key not in found:
                missing[key] = text
        progress(len(texts) - len(missing))
        self._compute(missing, found, lambda done: progress(len(texts) - len(missing) + done))
        if self._meter:
            self._meter.looked_up(len(texts) - len(missing), len(missing))
        for row, key in enumerate(keys):
            vectors[row] = found[key]
        return Embedded(vectors, len(missing))

    def _lookup(self, keys: list[str]) -> dict[str, Vectors]:
        if not self._store.count(CACHE):
            return {}
        rows = self._store.rows_in(CACHE, ["key", "vector"], "key", list(dict.fromkeys(keys)))
        return dict(zip(rows["key"].to_pylist(), vector_rows(rows["vector"], self._model.dimensions), strict=True))

    def _compute(self, missing: dict[str, str], found: dict[str, Vectors], progress: Callable[[int], None]) -> None:
        # Longest first: texts of similar length share a forward pass, and little is padded.
        order = sorted(missing, key=lambda key: (-len(missing[key]), key))
        for at in range(0, len(order), _SLICE):
            part = order[at : at + _SLICE]
            found.update(zip(part, self._model.embed([missing[key] for key in part]), strict=True))
            progress(at + len(part))
        if order:
            columns = {
                "key": order,
                "model": [self._model.name] * len(order),
                "vector": [found[key] for key in order],
            }
            self._store.merge(CACHE, pa.table(columns, schema=CACHE_SCHEMA), "key")


class SentenceVectors:
    """The most recently used vectors in memory; what the roles' sentence encoder calls."""

    def __init__(self, model: EmbeddingModel, capacity: int = 20_000) -> None:
        """Keep at most `capacity` vectors."""
        self._model, self._capacity = model, capacity
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Vectors] = OrderedDict()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text, in order."""
        if not texts:
            return np.zeros((0, self._model.dimensions), dtype=np.float32)
        found = self._known(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            computed = dict(zip(missing, self._model.embed(missing), strict=True))
            found.update(computed)
            self._keep(computed)
        return np.stack([found[text] for text in texts])

    def _known(self, texts: Sequence[str]) -> dict[str, Vectors]:
        with self._lock:
            found = {text: self._kept[text] for text in texts if text in self._kept}
            for text in found:
                self._kept.move_to_end(text)
        return found

    def _keep(self, computed: dict[str, Vectors]) -> None:
        with self._lock:
            self._kept.update(computed)
            while len(self._kept) > self._capacity:
                self._kept.popitem(last=False)


class TokenVectors:
    """Vectors of tokens, kept in memory while they are used: the searches of a run meet the same passages often."""

    def __init__(self, model: TokenEmbedding, capacity: int = 100_000) -> None:
        """Keep the vectors of at most `capacity` tokens, at two bytes a dimension."""
        self._model, self._capacity = model, capacity
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, NDArray[np.float16]] = OrderedDict()
        self._size = 0

    def encode(self, texts: Sequence[str]) -> list[Vectors]:
        """Return one array per text, in order, with a row for each of its tokens."""
        found = self._known(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        made = {
            text: rows.astype(np.float16) for text, rows in zip(missing, self._model.embed_tokens(missing), strict=True)
        }
        self._keep(made)
        return [(found | made)[text].astype(np.float32) for text in texts]

    def _known(self, texts: Sequence[str]) -> dict[str, NDArray[np.float16]]:
        with self._lock:
            found = {text: self._kept[text] for text in texts if text in self._kept}
            for text in found:
                self._kept.move_to_end(text)
        return found

    def _keep(self, made: dict[str, NDArray[np.float16]]) -> None:
        with self._lock:
            for text, rows in made.items():
                self._size += len(rows) - len(self._kept.get(text, ()))
                self._kept[text] = rows
            while self._size > self._capacity:
                self._size -= len(self._kept.popitem(last=False)[1])
