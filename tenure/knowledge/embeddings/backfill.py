"""Embed stored chunks that have no vector, while other processes read and write the corpus.

Vectors go into the embedding cache as soon as they are computed, so an interruption loses a few seconds of work. From
there they are copied into the rows of their chunks, in parts that grow with the corpus, because each copy rewrites the
whole vector column. The next backfill continues with the rows that still have no vector.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace

import pyarrow as pa

from tenure.contracts.evidence.corpora import EmbedReport, IngestProgress
from tenure.knowledge.embeddings.cache import EmbeddingCache, build_vector_column
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.errors import EmbeddingModelMismatch, WorkCancelled
from tenure.knowledge.store.locks import process_lock
from tenure.knowledge.store.schema import build_chunk_schema
from tenure.knowledge.store.store import Store
from tenure.models.embedding import EmbeddingModel

_COMMIT_VECTORS = 512
"""Vectors computed between two commits to the cache: ten seconds on two cores."""
_PART_SECONDS, _MIN_PART = 2.0, 16
"""Time of a part of an embedding that a run waits for, and its smallest size: a server that computes a vector in two
seconds still returns one part within half a minute."""
_MAX_COPIES = 20
"""Maximum number of copies into rows for a large corpus."""
_REPORT_SECONDS = 0.5  # Faster than the eye needs, and few heartbeats.
_HAS_NO_VECTOR = "vector IS NULL"


class EmbeddingBackfill:
    """One backfill of the missing vectors of a corpus."""

    def __init__(
        self,
        store: Store,
        model: EmbeddingModel,
        cache: EmbeddingCache,
        corpus: str,
        report: Callable[[IngestProgress], None],
        cancelled: Callable[[], bool],
        *,
        holds_lock: bool = False,
    ) -> None:
        """Keep the dependencies; read and write nothing yet.

        `holds_lock` says that the caller already holds the ingestion lock of the corpus.
        """
        self._store, self._model, self._cache, self._corpus = store, model, cache, corpus
        self._chunks = ChunkVectors(store, model, cache)
        self._report, self._cancelled = report, cancelled
        self._progress = IngestProgress(stage="embedding")
        self._reported = 0.0
        self._written = self._computed = 0
        self._holds_lock = holds_lock

    def run(self) -> EmbedReport:
        """Embed all chunks under a lock; see `Corpora.embed`."""
        self._check_model()
        with process_lock(
            self._store.folder, f"embedding of {self._corpus}", lambda: self._report_progress(force=True)
        ):
            return self.embed_all()

    def embed_all(self) -> EmbedReport:
        """Embed all chunks that have no vector, without taking the lock of the backfill."""
        started = time.monotonic()
        # Concurrent ingestions may add more.
        while chunks := catalogue.list_unembedded_chunks(self._store, self._model.dimensions, self._corpus):
            self._embed(chunks)
        if self._written:
            self._store.refresh_indexes(self._chunks.table)
        return EmbedReport(
            corpus=self._corpus, chunks=self._written, embedded=self._computed, seconds=time.monotonic() - started
        )

    def embed_first(self, needed: Sequence[str], seconds: float) -> EmbedReport:
        """Embed some chunks first, and all others if the measured speed lets them end within `seconds` as well.

        The lock of the backfill is not taken: a backfill that runs at the same time shares the cache, and copies only
        the vectors that are still missing.
        """
        self._check_model()
        started = time.monotonic()
        missing = catalogue.list_unembedded_chunks(self._store, self._model.dimensions, self._corpus)
        pending_ids = set(missing)
        first = [chunk for chunk in needed if chunk in pending_ids]
        order = list(dict.fromkeys([*first, *missing]))
        texts: dict[str, str] = {}
        done, elapsed, size = 0, 0.0, _MIN_PART
        while done < len(order) and elapsed < seconds:
            if done >= len(first) and elapsed * len(order) > seconds * done:
                break
            part = order[done : done + size]
            self._report_progress(force=True, to_embed=len(first) if done + len(part) <= len(first) else len(order))
            texts |= self._compute_vectors(part)
            done, elapsed = done + len(part), time.monotonic() - started
            size = max(_MIN_PART, int(_PART_SECONDS * done / max(elapsed, 0.01)))
        self._write_vectors(texts)
        pending = len(missing) - done
        if not pending:
            self._store.refresh_indexes(self._chunks.table)
        return EmbedReport(
            corpus=self._corpus,
            chunks=self._written,
            embedded=self._computed,
            pending=pending,
            seconds=time.monotonic() - started,
        )

    def _check_model(self) -> None:
        record = catalogue.load_corpus(self._store, self._corpus)
        if record.model != self._model.name:
            raise EmbeddingModelMismatch(self._corpus, record.model, self._model.name)

    def _embed(self, chunks: Sequence[str]) -> None:
        self._report_progress(force=True, to_embed=self._progress.embedded + len(chunks))
        for portion in _split(chunks, max(_COMMIT_VECTORS, -(-len(chunks) // _MAX_COPIES))):
            texts: dict[str, str] = {}
            for part in _split(portion, _COMMIT_VECTORS):
                texts |= self._compute_vectors(part)
            self._write_vectors(texts)

    def _compute_vectors(self, chunks: Sequence[str]) -> dict[str, str]:
        """Put the vectors of chunks into the cache; return the embedded text of each chunk."""
        texts = self._chunks.load_texts(chunks, _HAS_NO_VECTOR)
        before = self._progress.embedded
        result = self._cache.embed(list(texts.values()), lambda done: self._report_progress(embedded=before + done))
        self._computed += result.computed
        self._report_progress(force=True, embedded=before + len(chunks))
        return texts

    def _write_vectors(self, texts: dict[str, str]) -> None:
        """Copy vectors from the cache into the rows of chunks whose text has not changed since."""
        lock = process_lock(self._store.folder, self._corpus, lambda: self._report_progress(force=True))
        with nullcontext() if self._holds_lock else lock:
            now = self._chunks.load_texts(list(texts), _HAS_NO_VECTOR)
            same = [chunk for chunk, text in now.items() if texts[chunk] == text]
            vectors = self._cache.embed([texts[chunk] for chunk in same]).vectors
            schema = build_chunk_schema(self._model.dimensions)
            fields = pa.schema([schema.field("id"), schema.field("vector")])
            rows = pa.table({"id": same, "vector": build_vector_column(vectors)}, schema=fields)
            self._store.update_columns(self._chunks.table, rows, "id")
            self._written += len(same)
            self._update_pending()

    def _update_pending(self) -> None:
        """Store the number of chunks without a vector in the corpus record, where searches read it."""
        pending = len(catalogue.list_unembedded_chunks(self._store, self._model.dimensions, self._corpus))
        record = catalogue.list_corpora(self._store).get(self._corpus)
        if record is not None and record.pending != pending:
            catalogue.save_corpus(self._store, replace(record, pending=pending))

    def _report_progress(self, force: bool = False, **changes: int) -> None:
        self._progress = self._progress.model_copy(update=changes)
        if force or time.monotonic() - self._reported >= _REPORT_SECONDS:
            self._reported = time.monotonic()
            self._report(self._progress)
            if self._cancelled():
                done, total = self._progress.embedded, self._progress.to_embed
                raise WorkCancelled(f"the embedding of corpus {self._corpus!r} stopped after {done} of {total} chunks")


def _split(values: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (values[at : at + size] for at in range(0, len(values), size))
