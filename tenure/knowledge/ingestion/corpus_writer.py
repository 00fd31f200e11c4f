"""Writing into one corpus: what every way of filling it has in common.

Whoever fills a corpus claims it, adds what was read, and finishes: indexes, graph, vectors, μ and the
corpus's record are then in the state of its rows, as far as they were not.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tenure.contracts.base import SourceId
from tenure.contracts.evidence.corpora import IngestProgress
from tenure.knowledge.embeddings.cache import EmbeddingCache
from tenure.knowledge.embeddings.calibration import unrelated_similarity
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.embeddings.embedding import Embedding
from tenure.knowledge.graph import graph
from tenure.knowledge.ingestion.batches import Batch
from tenure.knowledge.memory.memories import forget_sources
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.catalogue import CorpusRecord
from tenure.knowledge.store.errors import EmbeddingModelMismatch
from tenure.knowledge.store.schema import MENTIONS, SOURCES, STATEMENTS, chunks_table
from tenure.knowledge.store.store import Store
from tenure.models.embedding import EmbeddingModel
from tenure.sources.parsers.reading import RECIPE, ReadFile, Recipe


def recipe(model: EmbeddingModel, chunk_tokens: int) -> Recipe:
    """Return how documents are cut for a model."""
    return Recipe(chunk_tokens, model.max_tokens, model.count_tokens)


class CorpusWriter:
    """One go at writing into one corpus, while nobody else does so."""

    def __init__(
        self,
        store: Store,
        model: EmbeddingModel,
        cache: EmbeddingCache,
        chunk_tokens: int,
        corpus: str,
        most: int | None,
        report: Callable[[IngestProgress], None],
        cancelled: Callable[[], bool],
    ) -> None:
        """Take what writing needs; nothing is touched yet.

        Args:
            store: where the corpus is.
            model: what makes its vectors.
            cache: vectors that are there.
            chunk_tokens: target length of a chunk.
            corpus: its name.
            most: missing vectors up to which they are made at once; None for any number.
            report: told about the embedding.
            cancelled: asked whether to stop.
        """
        self._store, self._model, self._corpus, self._most = store, model, corpus, most
        self._chunks = ChunkVectors(store, model, cache)
        self._embedding = Embedding(store, model, cache, corpus, report, cancelled, undisturbed=True)
        self.recipe_name = f"{RECIPE}/{chunk_tokens}/{model.name}"
        self._batch = Batch(store, model, corpus, self.recipe_name, cache)

    def claim(self, *, keeps_others: bool) -> None:
        """Make the corpus known, and refuse to mix two models' vectors in it.

        Raises:
            EmbeddingModelMismatch: it has vectors of another model, and `keeps_others` says that some will stay.
        """
        record = catalogue.corpora(self._store).get(self._corpus)
        if record is None:
            record = CorpusRecord(self._corpus, self._model.name, self._model.dimensions, 0.0, "", catalogue.now())
            catalogue.save_corpus(self._store, record)
        elif record.model != self._model.name and keeps_others:
            raise EmbeddingModelMismatch(self._corpus, record.model, self._model.name)

    def add(self, file: ReadFile, *, known: bool) -> int:
        """Take what was read, `known` if the corpus has a source of that address; return the chunks written."""
        self._batch.add(file, known)
        return self.flush() if self._batch.full else 0

    def flush(self) -> int:
        """Write what was taken; return the number of chunks."""
        written = self._batch.write()
        if written.pending:
            record = catalogue.corpora(self._store)[self._corpus]
            catalogue.save_corpus(self._store, replace(record, pending=record.pending + written.pending))
        return written.chunks

    def forget(self, sources: Sequence[SourceId]) -> None:
        """Take sources out, with all that was made of them, and what is remembered from them alone."""
        forget_sources(self._store, sources)
        for table in (*self._store.chunk_tables(), MENTIONS, STATEMENTS, SOURCES) if sources else ():
            self._store.delete_in(table, "id" if table == SOURCES else "source_id", sources)

    def embed(self) -> int:
        """Make the vectors that are missing, where they are few; return how many were computed."""
        few = self._most is None or self._pending() <= self._most
        return self._embedding.complete().embedded if few else 0

    def finish(self, *, changed: bool) -> int:
        """Bring indexes, μ and the corpus's record up to date, as far as they are not; return how many vectors lack."""
        record = catalogue.corpora(self._store)[self._corpus]
        dimensions = self._model.dimensions
        state = f"{self._model.name}/{catalogue.chunk_count(self._store, dimensions, self._corpus)}"
        if changed or record.calibrated != state:
            self._store.refresh_indexes(chunks_table(dimensions))
            graph.refresh(self._store, self._corpus)
            self._store.compact(SOURCES)
            record = replace(
                record,
                model=self._model.name,
                dimensions=dimensions,
                unrelated=unrelated_similarity(self._store, self._corpus, self._chunks, self._model.embed),
                calibrated=state,
            )
        pending = self._pending()
        catalogue.save_corpus(self._store, replace(record, pending=pending, updated_at=catalogue.now()))
        return pending

    def _pending(self) -> int:
        return len(catalogue.unembedded(self._store, self._model.dimensions, self._corpus))
