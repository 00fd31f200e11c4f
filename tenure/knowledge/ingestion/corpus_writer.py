"""Write into one corpus: the steps that all kinds of ingestion share.

An ingestion claims the corpus, adds files, and finishes. Finishing updates indexes, graph, vectors, the baseline μ and
the corpus record as far as they are out of date.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from tenure.contracts.base import SourceId
from tenure.contracts.evidence.corpora import IngestProgress
from tenure.knowledge.embeddings.backfill import EmbeddingBackfill
from tenure.knowledge.embeddings.cache import EmbeddingCache
from tenure.knowledge.embeddings.calibration import measure_baseline
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.graph import graph
from tenure.knowledge.ingestion.batches import WriteBatch
from tenure.knowledge.memory.memories import forget_sources
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.catalogue import CorpusRecord
from tenure.knowledge.store.errors import EmbeddingModelMismatch
from tenure.knowledge.store.schema import MENTIONS, SOURCES, STATEMENTS, build_chunk_table_name
from tenure.knowledge.store.store import Store
from tenure.models.embedding import EmbeddingModel
from tenure.settings.knowledge import KnowledgeSettings
from tenure.sources.parsers.reader_process import PARSER_VERSION, ParsedFile, ReadingOptions
from tenure.sources.parsers.recognition import is_available


def build_recipe(model: EmbeddingModel, chunk_tokens: int) -> ReadingOptions:
    """Return the parameters by which documents are cut into chunks for a model."""
    return ReadingOptions(chunk_tokens, model.max_tokens, model.count_tokens)


class CorpusWriter:
    """Writer of one corpus; the caller holds the lock of the corpus."""

    def __init__(
        self,
        store: Store,
        model: EmbeddingModel,
        cache: EmbeddingCache,
        settings: KnowledgeSettings,
        corpus: str,
        report: Callable[[IngestProgress], None],
        cancelled: Callable[[], bool],
        *,
        include_secrets: bool = False,
        roots: Sequence[str] = (),
    ) -> None:
        """Add files with secrets if `include_secrets`; a corpus with them is read again without them.

        `roots` are the folders that a person named.
        """
        self._store, self._model, self._corpus, self._settings = store, model, corpus, settings
        self._chunks = ChunkVectors(store, model, cache)
        self._embedding = EmbeddingBackfill(store, model, cache, corpus, report, cancelled, holds_lock=True)
        suffix = "/secrets" if include_secrets else ""
        # Scans that were not read are read once the recognition is installed.
        suffix += "/ocr" if is_available() else ""
        self.recipe_name = f"{PARSER_VERSION}/{settings.chunk_tokens}/{model.name}{suffix}"
        self._batch = WriteBatch(store, model, corpus, self.recipe_name, cache, roots)

    def claim(self, *, keeps_other_sources: bool) -> None:
        """Create the corpus if needed, and refuse to mix vectors of two models.

        Raises:
            EmbeddingModelMismatch: it has vectors of another model, and `keeps_other_sources` says that some remain.
        """
        record = catalogue.list_corpora(self._store).get(self._corpus)
        if record is None:
            record = CorpusRecord(
                self._corpus, self._model.name, self._model.dimensions, 0.0, "", catalogue.format_utc_now()
            )
            catalogue.save_corpus(self._store, record)
        elif record.model != self._model.name and keeps_other_sources:
            raise EmbeddingModelMismatch(self._corpus, record.model, self._model.name)

    def add(self, file: ParsedFile, *, is_known: bool) -> int:
        """Add a file, `is_known` if the corpus has a source with its path; return the number of chunks written."""
        self._batch.add(file, is_known)
        return self.flush() if self._batch.is_full else 0

    def flush(self) -> int:
        """Write the added files; return the number of chunks."""
        written = self._batch.write()
        if written.pending:
            record = catalogue.list_corpora(self._store)[self._corpus]
            catalogue.save_corpus(self._store, replace(record, pending=record.pending + written.pending))
        return written.chunks

    def remove_sources(self, sources: Sequence[SourceId]) -> None:
        """Delete sources with their chunks, and the memories that only they support."""
        forget_sources(self._store, sources)
        for table in (*self._store.list_chunk_tables(), MENTIONS, STATEMENTS, SOURCES) if sources else ():
            self._store.delete_rows_in(table, "id" if table == SOURCES else "source_id", sources)

    def embed(self) -> int:
        """Compute the missing vectors if they are few; return the number computed."""
        few = self._count_pending() <= self._settings.cold_start_chunks
        return self._embedding.embed_all().embedded if few else 0

    def finish(self, *, changed: bool) -> int:
        """Update indexes, graph, baseline and corpus record as needed; return the number of missing vectors."""
        record = stored = catalogue.list_corpora(self._store)[self._corpus]
        dimensions = self._model.dimensions
        state = f"{self._model.name}/{catalogue.count_chunks(self._store, dimensions, self._corpus)}"
        if changed or record.calibrated != state:
            self._store.refresh_indexes(build_chunk_table_name(dimensions))
            graph.refresh_graph(self._store, self._corpus)
            self._store.compact(SOURCES)
            record = replace(
                record,
                model=self._model.name,
                dimensions=dimensions,
                baseline=measure_baseline(self._store, self._corpus, self._chunks, self._model.embed),
                calibrated=state,
                languages=catalogue.count_languages(self._store, dimensions, self._corpus),
            )
        record = replace(record, pending=self._count_pending())
        if changed or record != stored:
            catalogue.save_corpus(self._store, replace(record, updated_at=catalogue.format_utc_now()))
        return record.pending

    def _count_pending(self) -> int:
        return len(catalogue.list_unembedded_chunks(self._store, self._model.dimensions, self._corpus))
