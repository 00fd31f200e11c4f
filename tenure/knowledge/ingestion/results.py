"""Results: what was computed, or told by a tool, kept as a source so that it can be cited.

A result is stored like a document. It is there to be cited, and goes with the corpus; no search finds it, since what
answers one question is misleading next to another.
"""

from collections.abc import Sequence

from tenure.algorithms.text.passage import Encoder
from tenure.contracts.evidence.passages import PassageRef
from tenure.knowledge.embeddings import calibration
from tenure.knowledge.embeddings.cache import EmbeddingCache
from tenure.knowledge.ingestion.batches import Batch
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.schema import chunk_id, digest, source_id
from tenure.knowledge.store.store import Store
from tenure.models.embedding import EmbeddingModel
from tenure.sources.document.document import Document
from tenure.sources.parsers.reading import RECIPE, ReadChunk, ReadFile, Recipe, cut

_PASSAGES = 6
"""Passages of a result that become evidence."""


class Results:
    """The results beside the corpora of a knowledge base; safe to share between threads."""

    def __init__(
        self, store: Store, model: EmbeddingModel, cache: EmbeddingCache, encode: Encoder, chunk_tokens: int
    ) -> None:
        """Keep them in `store`, cut and embedded like documents."""
        self._store, self._model, self._cache, self._encode = store, model, cache, encode
        self._recipe = Recipe(chunk_tokens, model.max_tokens, model.count_tokens)
        self._recipe_name = f"{RECIPE}/{chunk_tokens}/{model.name}"

    def keep(
        self, corpus: str, uri: str, document: Document, about: str, end: int | None = None
    ) -> tuple[PassageRef, ...]:
        """Keep a result beside a corpus; return its first passages.

        Args:
            corpus: the corpus that it goes with.
            uri: what tells it from other results.
            document: the result.
            about: what its relevance is measured on.
            end: where what can be quoted ends; None for the end of the document.
        """
        kept_in = catalogue.results_corpus(corpus)
        chunks = [chunk for chunk in self.write(kept_in, uri, document) if end is None or chunk.start < end]
        return self._references(kept_in, uri, chunks, about, self._unrelated(corpus))

    def write(self, corpus: str, uri: str, document: Document) -> tuple[ReadChunk, ...]:
        """Store a document as a source of a corpus; return its first chunks."""
        chunks = cut(document, self._recipe)
        batch = Batch(self._store, self._model, corpus, self._recipe_name, self._cache)
        batch.add(ReadFile(uri, digest(document.text), 0, 0, document, chunks), known=True)
        self._cache.embed([chunk.embedded for chunk in chunks])
        batch.write()
        return chunks[:_PASSAGES]

    def _references(
        self, corpus: str, uri: str, chunks: Sequence[ReadChunk], about: str, unrelated: float
    ) -> tuple[PassageRef, ...]:
        source = source_id(corpus, uri)
        similar = self._encode([chunk.embedded for chunk in chunks]) @ self._encode([about])[0]
        return tuple(
            PassageRef(
                chunk=chunk_id(source, chunk.start, chunk.end, chunk.text),
                source=source,
                score=1 / (60 + rank),
                relevance=calibration.relevance(float(near), unrelated),
            )
            for rank, (chunk, near) in enumerate(zip(chunks, similar, strict=True), 1)
        )

    def _unrelated(self, corpus: str) -> float:
        """Return μ of a corpus; 0 for one that is not there yet."""
        known = catalogue.corpora(self._store).get(corpus)
        return known.unrelated if known else 0.0
