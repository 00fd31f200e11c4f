"""Store results of programs, queries and tools as sources that can be cited.

A result belongs to a corpus but no search finds it, because an answer to one question misleads next to another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow.compute as pc

from tenure.algorithms.text.passage import Encoder, Vectors
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.result.ask import ResultText
from tenure.knowledge.embeddings import calibration
from tenure.knowledge.embeddings.cache import EmbeddingCache
from tenure.knowledge.embeddings.chunk_vectors import ChunkVectors
from tenure.knowledge.ingestion.batches import WriteBatch
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.schema import hash_parts, make_chunk_id, make_source_id
from tenure.knowledge.store.store import Store, quote_literal
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
        self._vectors = ChunkVectors(store, model, cache)
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
        source = make_source_id(results_corpus, uri)
        ids = [make_chunk_id(source, chunk.start, chunk.end, chunk.text) for chunk in chunks]
        vectors = self._encode([chunk.embedding_text for chunk in chunks])
        passages = self._build_references(source, ids, vectors, about, self._load_baseline(corpus))
        return _select_best(passages) if most_relevant else passages

    def store_texts(self, corpus: str, texts: Mapping[str, ResultText], about: str) -> tuple[PassageRef, ...]:
        """Store Markdown texts by URI as results of a corpus, those that are not stored yet.

        Return the passages of each text that are nearest to `about`, the nearest of all first.
        """
        # Imported when needed: the worker should serve first.
        from tenure.sources.parsers.formats.markdown import parse_markdown

        results_corpus = catalogue.derive_results_corpus(corpus)
        known = catalogue.list_known_files(self._store, results_corpus)
        missing: list[ParsedFile] = []
        for uri, text in texts.items():
            content_hash, stored = hash_parts(text.text), known.get(uri)
            # The recipe is written last, so that a source with it is complete.
            if stored is None or (stored.content_hash, stored.recipe) != (content_hash, self._recipe_name):
                missing.append(self._split(uri, content_hash, replace(parse_markdown(text.text), title=text.title)))
        if missing:
            self._write(results_corpus, missing)
        where = f"corpus = {quote_literal(results_corpus)}"
        rows = self._store.read_rows(self._vectors.table, ["id", "source_id", "vector"], where)
        best: list[PassageRef] = []
        for source in (make_source_id(results_corpus, uri) for uri in texts):
            chunks = rows.filter(pc.equal(rows["source_id"], source))
            vectors = self._vectors.load_vectors(chunks)
            best += _select_best(self._build_references(source, chunks["id"].to_pylist(), vectors, about, 0.0))
        return tuple(sorted(best, key=lambda passage: -passage.relevance))

    def write_document(self, corpus: str, uri: str, document: Document) -> tuple[ParsedChunk, ...]:
        """Store a document as a source of a corpus; return its chunks."""
        return self._write(corpus, [self._split(uri, hash_parts(document.text), document)])

    def _split(self, uri: str, content_hash: str, document: Document) -> ParsedFile:
        return ParsedFile(uri, content_hash, 0, 0, document, split_document(document, self._recipe))

    def _write(self, corpus: str, files: Sequence[ParsedFile]) -> tuple[ParsedChunk, ...]:
        batch = WriteBatch(self._store, self._model, corpus, self._recipe_name, self._cache)
        for file in files:
            batch.add(file, is_known=True)
        chunks = tuple(chunk for file in files for chunk in file.chunks)
        self._cache.embed([chunk.embedding_text for chunk in chunks])
        batch.write()
        return chunks

    def _build_references(
        self, source: SourceId, chunks: Sequence[ChunkId], vectors: Vectors, about: str, baseline: float
    ) -> tuple[PassageRef, ...]:
        similar = vectors @ self._encode([about])[0]
        return tuple(
            PassageRef(
                chunk=chunk,
                source=source,
                score=1 / (60 + rank),
                relevance=calibration.normalize_relevance(float(near), baseline),
            )
            for rank, (chunk, near) in enumerate(zip(chunks, similar, strict=True), 1)
        )

    def _load_baseline(self, corpus: str) -> float:
        record = catalogue.list_corpora(self._store).get(corpus)
        return record.baseline if record else 0.0


def _select_best(passages: Sequence[PassageRef]) -> tuple[PassageRef, ...]:
    """Return the most relevant passages of a result, best first."""
    best = sorted(passages, key=lambda passage: -passage.relevance)[:_MAX_PASSAGES]
    return tuple(ref.model_copy(update={"score": 1 / (60 + rank)}) for rank, ref in enumerate(best, 1))
