"""Embedding of what was stored without vectors: what takes long in an ingestion, done beside whatever else goes on.

What is done is written down in two places. Vectors go into the embedding cache as soon as they are made, so an
interruption loses a few seconds of work. From there they are copied into the rows of their chunks, in portions that
grow with the corpus, because a copy writes the whole column of vectors anew. The next embedding takes up whatever
rows are still without one, so it does not matter why the last one ended.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import pyarrow as pa

from tenure.algorithms.text.passage import Vectors
from tenure.contracts.evidence.corpora import EmbedReport, IngestProgress
from tenure.knowledge.embeddings.cache import EmbeddingCache, vector_column
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.errors import EmbeddingCancelled, EmbeddingModelMismatch
from tenure.knowledge.store.locks import alone
from tenure.knowledge.store.schema import chunks_schema
from tenure.knowledge.store.store import Store
from tenure.models.embedding import EmbeddingModel

_PART = 512
"""Vectors that are made between two commits to the cache: ten seconds on two cores."""
_PORTIONS = 20
"""Portions in which vectors are copied into rows, where there are many."""
_INTERVAL = 0.5
_UNEMBEDDED = "vector IS NULL"


class Embedding:
    """One go at the chunks of a corpus that have no vector."""

    def __init__(
        self,
        store: Store,
        model: EmbeddingModel,
        cache: EmbeddingCache,
        corpus: str,
        report: Callable[[IngestProgress], None],
        cancelled: Callable[[], bool],
        *,
        undisturbed: bool = False,
    ) -> None:
        """Take what `run` needs; nothing is touched yet.

        `undisturbed` says that the caller keeps every other ingestion of the corpus waiting.
        """
        self._store, self._model, self._cache, self._corpus = store, model, cache, corpus
        self._chunks = ChunkVectors(store, model, cache)
        self._report, self._cancelled = report, cancelled
        self._progress = IngestProgress(stage="embedding")
        self._reported = 0.0
        self._settled = self._computed = 0
        self._undisturbed = undisturbed

    def run(self) -> EmbedReport:
        """Do it all; see `KnowledgeBase.embed`."""
        record = catalogue.corpus(self._store, self._corpus)
        if record.model != self._model.name:
            raise EmbeddingModelMismatch(self._corpus, record.model, self._model.name)
        with alone(self._store.folder, f"embedding of {self._corpus}", lambda: self._tell(force=True)):
            return self.complete()

    def complete(self) -> EmbedReport:
        """Make every vector that is missing, whoever else does so too."""
        started = time.monotonic()
        # Files that are read meanwhile bring new ones.
        while chunks := catalogue.unembedded(self._store, self._model.dimensions, self._corpus):
            self._embed(chunks)
        if self._settled:
            self._store.refresh_indexes(self._chunks.table)
        return EmbedReport(
            corpus=self._corpus, chunks=self._settled, embedded=self._computed, seconds=time.monotonic() - started
        )

    def _embed(self, chunks: Sequence[str]) -> None:
        self._tell(force=True, to_embed=self._progress.embedded + len(chunks))
        for portion in _parts(chunks, max(_PART, -(-len(chunks) // _PORTIONS))):
            texts: dict[str, str] = {}
            for part in _parts(portion, _PART):
                texts |= self._made(part)
            self._settle(texts)

    def _made(self, chunks: Sequence[str]) -> dict[str, str]:
        """Put the vectors of chunks into the cache; return what was embedded for each."""
        texts = self._chunks.texts(chunks, _UNEMBEDDED)
        before = self._progress.embedded
        made = self._cache.embed(list(texts.values()), lambda done: self._tell(embedded=before + done))
        self._computed += made.computed
        self._tell(force=True, embedded=before + len(chunks))
        return texts

    def _settle(self, texts: dict[str, str]) -> None:
        """Copy vectors from the cache into the rows of chunks, unless what these say has changed meanwhile."""
        with nullcontext() if self._undisturbed else self._alone():
            now = self._chunks.texts(list(texts), _UNEMBEDDED)
            same = [chunk for chunk, text in now.items() if texts[chunk] == text]
            vectors = self._cache.embed([texts[chunk] for chunk in same]).vectors
            self._store.fill(self._chunks.table, self._rows(same, vectors), "id")
            self._settled += len(same)
            self._note()

    def _rows(self, chunks: list[str], vectors: Vectors) -> pa.Table:
        schema = chunks_schema(self._model.dimensions)
        fields = pa.schema([schema.field("id"), schema.field("vector")])
        return pa.table({"id": chunks, "vector": vector_column(vectors)}, schema=fields)

    def _alone(self) -> AbstractContextManager[None]:
        return alone(self._store.folder, self._corpus, lambda: self._tell(force=True))

    def _note(self) -> None:
        """Write down how many chunks are left, as a search tells it."""
        pending = len(catalogue.unembedded(self._store, self._model.dimensions, self._corpus))
        record = catalogue.corpora(self._store).get(self._corpus)
        if record is not None and record.pending != pending:
            catalogue.save_corpus(self._store, replace(record, pending=pending))

    def _tell(self, force: bool = False, **changes: int) -> None:
        """Note progress, pass it on when the last word was some time ago, and stop when told to."""
        self._progress = self._progress.model_copy(update=changes)
        if force or time.monotonic() - self._reported >= _INTERVAL:
            self._reported = time.monotonic()
            self._report(self._progress)
            if self._cancelled():
                raise EmbeddingCancelled(self._corpus, self._progress.embedded, self._progress.to_embed)


def _parts(values: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (values[at : at + size] for at in range(0, len(values), size))
