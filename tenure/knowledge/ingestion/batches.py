"""Write parsed files in batches, in an order that survives an interruption.

Chunks get the vectors that the embedding cache has; `embeddings/backfill.py` computes the others.

1. Upsert the sources with their text but without a recipe: "not finished".
2. Upsert their chunks; then delete the chunks of the old text of replaced sources.
3. Upsert the sources again with the recipe: "finished".
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from typing import NamedTuple
from urllib.parse import urlsplit

import pyarrow as pa

from tenure.algorithms.retrieval.document_versions import find_version, has_retired_heading, is_retired
from tenure.algorithms.text.dates import normalize_date
from tenure.contracts.base import ChunkId, SourceId
from tenure.knowledge.embeddings.cache import EmbeddingCache, build_vector_column
from tenure.knowledge.graph.graph import build_mention_row
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.schema import (
    MENTIONS,
    MENTIONS_SCHEMA,
    SOURCES,
    SOURCES_SCHEMA,
    STATEMENTS,
    build_chunk_schema,
    build_chunk_table_name,
    make_chunk_id,
    make_source_id,
)
from tenure.knowledge.store.store import Store, quote_list
from tenure.models.embedding import EmbeddingModel
from tenure.sources.parsers.reader_process import ParsedChunk, ParsedFile

_MAX_CHUNKS = 1024
"""Chunks of a batch; an interruption loses some seconds of parsing at most."""
_MAX_FILES = 256


class _Origin(NamedTuple):
    """File, and the values that all its chunks share."""

    source: SourceId
    file: ParsedFile
    published: str
    suffix: str
    is_retired: bool


_ChunksById = dict[ChunkId, tuple[_Origin, ParsedChunk]]


class BatchResult(NamedTuple):
    """Number of chunks written."""

    chunks: int
    pending: int
    """Number of chunks without a vector."""


class WriteBatch:
    """Parsed files that wait to be written."""

    def __init__(
        self,
        store: Store,
        model: EmbeddingModel,
        corpus: str,
        recipe: str,
        cache: EmbeddingCache,
        roots: Sequence[str] = (),
    ) -> None:
        """Take the files below `roots`, the folders that a person named, whose own names say nothing of the files."""
        self._store, self._model, self._corpus, self._recipe = store, model, corpus, recipe
        self._cache, self._roots = cache, roots
        self._files: list[ParsedFile] = []
        self._replaced: list[SourceId] = []
        self._chunk_count = 0

    @property
    def is_full(self) -> bool:
        """Whether the batch should be written."""
        return self._chunk_count >= _MAX_CHUNKS or len(self._files) >= _MAX_FILES

    def add(self, file: ParsedFile, is_known: bool) -> None:
        """Add a file; `is_known` if the corpus already has a source with this path."""
        self._files.append(file)
        self._chunk_count += len(file.chunks)
        if is_known:
            self._replaced.append(make_source_id(self._corpus, file.path))

    def write(self) -> BatchResult:
        """Write all files and clear the batch."""
        files, self._files = self._files, []
        replaced, self._replaced = self._replaced, []
        self._chunk_count = 0
        if not files:
            return BatchResult(0, 0)
        # An upsert needs unique keys, and two chunks of white space may have the same id.
        chunks = {
            make_chunk_id(origin.source, chunk.start, chunk.end, chunk.text): (origin, chunk)
            for origin in map(self._build_origin, files)
            for chunk in origin.file.chunks
        }
        vectors = build_vector_column(*self._cache.look_up([chunk.embedding_text for _, chunk in chunks.values()]))
        fetched_at = catalogue.format_utc_now()
        self._store.upsert(SOURCES, self._build_source_rows(files, fetched_at, recipe=""), "id")
        rows = self._build_chunk_rows(chunks, vectors)
        self._store.upsert(build_chunk_table_name(self._model.dimensions), rows, "id")
        mentions = [
            build_mention_row(key, origin.source, self._corpus, origin.file.document.title, chunk)
            for key, (origin, chunk) in chunks.items()
        ]
        self._store.upsert(MENTIONS, pa.Table.from_pylist(mentions, schema=MENTIONS_SCHEMA), "id")
        self._delete_stale(replaced, rows["id"].to_pylist())
        self._store.upsert(SOURCES, self._build_source_rows(files, fetched_at, recipe=self._recipe), "id")
        return BatchResult(rows.num_rows, rows["vector"].null_count)

    def _delete_stale(self, replaced: list[SourceId], current: list[str]) -> None:
        chunk_table = build_chunk_table_name(self._model.dimensions)
        for table in (*self._store.list_chunk_tables(), MENTIONS, STATEMENTS) if replaced else ():
            # Chunks of another vector size are in another table, and none of them is current.
            unless = f"id IN {quote_list(current)}" if table in (chunk_table, MENTIONS, STATEMENTS) else ""
            self._store.delete_rows_in(table, "source_id", replaced, unless)

    def _build_source_rows(self, files: list[ParsedFile], fetched_at: str, recipe: str) -> pa.Table:
        rows = [
            {
                "id": make_source_id(self._corpus, file.path),
                "corpus": self._corpus,
                "uri": file.path,
                "title": file.document.title,
                "author": file.document.author,
                "published": file.document.published,
                "kind": file.document.kind,
                "language": _find_main_language(file),
                "retired": self._is_retired(file),
                "fetched_at": fetched_at,
                "content_hash": file.content_hash,
                "recipe": recipe,
                "size": file.size,
                "mtime_ns": file.mtime_ns,
                "chunks": len(file.chunks),
                "characters": len(file.document.text),
                "text": file.document.text,
                "pages": file.document.pages or None,
                "places": [place._asdict() for place in file.document.places] or None,
                "words": [word._asdict() for word in file.document.words] or None,
                "figures": [figure._asdict() for figure in file.document.figures] or None,
            }
            for file in files
        ]
        return pa.Table.from_pylist(rows, schema=SOURCES_SCHEMA)

    def _build_origin(self, file: ParsedFile) -> _Origin:
        document = file.document
        return _Origin(
            make_source_id(self._corpus, file.path),
            file,
            normalize_date(document.published),
            _parse_suffix(file.path),
            self._is_retired(file),
        )

    def _is_retired(self, file: ParsedFile) -> bool:
        root = next((root for root in self._roots if file.path.startswith(f"{root}/")), "")
        return is_retired(file.path.removeprefix(root), file.document.title, file.document.text)

    def _build_chunk_rows(self, chunks: _ChunksById, vectors: pa.FixedSizeListArray) -> pa.Table:
        schema = build_chunk_schema(self._model.dimensions)
        rows = [self._build_chunk_row(key, origin, chunk) for key, (origin, chunk) in chunks.items()]
        plain = pa.Table.from_pylist(rows, schema=pa.schema([field for field in schema if field.name != "vector"]))
        return plain.append_column(schema.field("vector"), vectors)

    def _build_chunk_row(self, key: ChunkId, origin: _Origin, chunk: ParsedChunk) -> dict[str, object]:
        file = origin.file
        return {
            "id": key,
            "source_id": origin.source,
            "corpus": self._corpus,
            "ordinal": chunk.ordinal,
            "start": chunk.start,
            "end": chunk.end,
            "heading_path": list(chunk.heading_path),
            "title": file.document.title,
            "uri": file.path,
            "kind": file.document.kind,
            "text": chunk.text,
            "search_text": chunk.search_text,
            "language": chunk.language,
            "language_terms": chunk.language_terms,
            "vector": None,
            "author": file.document.author,
            "published": origin.published,
            "suffix": origin.suffix,
            "version": find_version(file.path, chunk.heading_path),
            "retired": "yes" if origin.is_retired or has_retired_heading(chunk.heading_path) else "no",
        }


def _parse_suffix(path: str) -> str:
    return PurePath(urlsplit(path).path if "://" in path else path).suffix.lower()


def _find_main_language(file: ParsedFile) -> str:
    """Return the language of most of the text of a file."""
    lengths = Counter[str]()
    for chunk in file.chunks:
        lengths[chunk.language] += len(chunk.text)
    return max(lengths, key=lambda language: lengths[language], default="")
