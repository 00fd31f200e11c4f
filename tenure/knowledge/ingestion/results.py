"""Store results of programs, queries and tools as sources that can be cited.

A result belongs to a corpus but no search finds it, because an answer to one question misleads next to another.
"""

from collections.abc import Sequence

from tenure.algorithms.text.passage import Encoder
from tenure.contracts.evidence.passages import PassageRef
from tenure.knowledge.embeddings import calibration
from tenure.knowledge.embeddings.cache import EmbeddingCache
from tenure.knowledge.ingestion.batches import WriteBatch
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.schema import hash_parts, make_chunk_id, make_source_id
from tenure.knowledge.store.store import Store
from tenure.models.embedding import EmbeddingModel
from tenure.sources.document.document import Document
from tenure.sources.parsers.reader_process import (
    PARSER_VERSION,
    ParsedChunk,
    ParsedFile,
    ReadingOptions,
    split_document,
)

_MAX_PASSAGES = 6
"""Passages of a result that become evidence."""


class StoredResults:
    """Stored results of a knowledge base; safe to share between threads."""

    def __init__(
        self, store: Store, model: EmbeddingModel, cache: EmbeddingCache, encode: Encoder, chunk_tokens: int
    ) -> None:
        self._store, self._model, self._cache, self._encode = store, model, cache, encode
        self._recipe = ReadingOptions(chunk_tokens, model.max_tokens, model.count_tokens)
        self._recipe_name = f"{PARSER_VERSION}/{chunk_tokens}/{model.name}"

    def store_result(
        self,
        corpus: str,
        uri: str,
        document: Document,
        about: str,
        end: int | None = None,
        *,
        most_relevant: bool = False,
    ) -> tuple[PassageRef, ...]:
        """Store a result of a corpus; return some of its passages.

        `about` is the text against which the relevance of the passages is computed, and `end` the offset at which the
        citable part ends. With `most_relevant`, the most relevant passages are returned instead of the first ones.
        """
        results_corpus = catalogue.derive_results_corpus(corpus)
        chunks = [
            chunk for chunk in self.write_document(results_corpus, uri, document) if end is None or chunk.start < end
        ]
        if not most_relevant:
            chunks = chunks[:_MAX_PASSAGES]
        passages = self._build_references(results_corpus, uri, chunks, about, self._load_baseline(corpus))
        if not most_relevant:
            return passages
        best = sorted(passages, key=lambda passage: -passage.relevance)[:_MAX_PASSAGES]
        return tuple(ref.model_copy(update={"score": 1 / (60 + rank)}) for rank, ref in enumerate(best, 1))

    def write_document(self, corpus: str, uri: str, document: Document) -> tuple[ParsedChunk, ...]:
        """Store a document as a source of a corpus; return its chunks."""
        chunks = split_document(document, self._recipe)
        batch = WriteBatch(self._store, self._model, corpus, self._recipe_name, self._cache)
        batch.add(ParsedFile(uri, hash_parts(document.text), 0, 0, document, chunks), is_known=True)
        self._cache.embed([chunk.embedding_text for chunk in chunks])
        batch.write()
        return chunks

    def _build_references(
        self, corpus: str, uri: str, chunks: Sequence[ParsedChunk], about: str, baseline: float
    ) -> tuple[PassageRef, ...]:
        source = make_source_id(corpus, uri)
        similar = self._encode([chunk.embedding_text for chunk in chunks]) @ self._encode([about])[0]
        return tuple(
            PassageRef(
                chunk=make_chunk_id(source, chunk.start, chunk.end, chunk.text),
                source=source,
                score=1 / (60 + rank),
                relevance=calibration.normalize_relevance(float(near), baseline),
            )
            for rank, (chunk, near) in enumerate(zip(chunks, similar, strict=True), 1)
        )

    def _load_baseline(self, corpus: str) -> float:
        record = catalogue.list_corpora(self._store).get(corpus)
        return record.baseline if record else 0.0
