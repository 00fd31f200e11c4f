"""Writing what was read: a batch of files at a time, in an order that an interruption cannot spoil.

Chunks get the vectors that the embedding cache has; the others are made later (`embeddings/embedding.py`).

1. The sources, with their text but without a recipe: "not finished".
2. Their chunks, merged by id; then, for sources that were there before, the chunks of the old text go.
3. The sources again, with the recipe: "finished".
"""

from pathlib import PurePath
from typing import NamedTuple
from urllib.parse import urlsplit

import pyarrow as pa

from tenure.algorithms.text.dates import iso_date
from tenure.contracts.base import ChunkId, SourceId
from tenure.knowledge.embeddings.cache import EmbeddingCache, vector_column
from tenure.knowledge.graph.graph import mention
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.schema import (
    MENTIONS,
    MENTIONS_SCHEMA,
    SOURCES,
    SOURCES_SCHEMA,
    STATEMENTS,
    chunk_id,
    chunks_schema,
    chunks_table,
    source_id,
)
from tenure.knowledge.store.store import Store, quoted
from tenure.models.embedding import EmbeddingModel
from tenure.sources.parsers.reading import ReadChunk, ReadFile

_CHUNKS = 1024
"""Chunks of a batch: some seconds of reading at worst are lost by an interruption."""
_FILES = 256


class _Origin(NamedTuple):
    """A file, with what all its chunks have of it."""

    source: SourceId
    file: ReadFile
    published: str
    suffix: str


_Chunks = dict[ChunkId, tuple[_Origin, ReadChunk]]


class Written(NamedTuple):
    """What a batch came to."""

    chunks: int
    pending: int
    """Chunks without a vector."""


class Batch:
    """Files that were read and wait to be written."""

    def __init__(self, store: Store, model: EmbeddingModel, corpus: str, recipe: str, cache: EmbeddingCache) -> None:
        """Start empty."""
        self._store, self._model, self._corpus, self._recipe = store, model, corpus, recipe
        self._cache = cache
        self._files: list[ReadFile] = []
        self._replaced: list[SourceId] = []
        self._chunks = 0

    @property
    def full(self) -> bool:
        """Whether it is time to write."""
        return self._chunks >= _CHUNKS or len(self._files) >= _FILES

    def add(self, file: ReadFile, known: bool) -> None:
        """Take a file; `known` if the corpus has a source of this path already."""
        self._files.append(file)
        self._chunks += len(file.chunks)
        if known:
            self._replaced.append(source_id(self._corpus, file.path))

    def write(self) -> Written:
        """Write all files and start anew."""
        files, self._files = self._files, []
        replaced, self._replaced = self._replaced, []
        self._chunks = 0
        if not files:
            return Written(0, 0)
        # A merge needs unique keys, and a chunker may cut two empty-looking chunks at one place.
        chunks = {
            chunk_id(origin.source, chunk.start, chunk.end, chunk.text): (origin, chunk)
            for origin in map(self._origin, files)
            for chunk in origin.file.chunks
        }
        vectors = vector_column(*self._cache.known([chunk.embedded for _, chunk in chunks.values()]))
        fetched_at = catalogue.now()
        self._store.merge(SOURCES, self._sources(files, fetched_at, recipe=""), "id")
        rows = self._chunk_rows(chunks, vectors)
        self._store.merge(chunks_table(self._model.dimensions), rows, "id")
        self._store.merge(MENTIONS, self._mentions(chunks), "id")
        self._drop_stale(replaced, rows["id"].to_pylist())
        self._store.merge(SOURCES, self._sources(files, fetched_at, recipe=self._recipe), "id")
        return Written(rows.num_rows, rows["vector"].null_count)

    def _drop_stale(self, replaced: list[SourceId], current: list[str]) -> None:
        own = chunks_table(self._model.dimensions)
        for table in (*self._store.chunk_tables(), MENTIONS, STATEMENTS) if replaced else ():
            # Vectors of another model's size stand in another table, and none of them is current.
            unless = f"id IN {quoted(current)}" if table in (own, MENTIONS, STATEMENTS) else ""
            self._store.delete_in(table, "source_id", replaced, unless)

    def _sources(self, files: list[ReadFile], fetched_at: str, recipe: str) -> pa.Table:
        rows = [
            {
                "id": source_id(self._corpus, file.path),
                "corpus": self._corpus,
                "uri": file.path,
                "title": file.document.title,
                "author": file.document.author,
                "published": file.document.published,
                "kind": file.document.kind,
                "fetched_at": fetched_at,
                "content_hash": file.content_hash,
                "recipe": recipe,
                "size": file.size,
                "mtime_ns": file.mtime_ns,
                "chunks": len(file.chunks),
                "characters": len(file.document.text),
                "text": file.document.text,
                "pages": file.document.pages or None,
            }
            for file in files
        ]
        return pa.Table.from_pylist(rows, schema=SOURCES_SCHEMA)

    def _origin(self, file: ReadFile) -> _Origin:
        published = iso_date(file.document.published)
        return _Origin(source_id(self._corpus, file.path), file, published, _suffix(file.path))

    def _mentions(self, chunks: _Chunks) -> pa.Table:
        rows = [
            mention(key, origin.source, self._corpus, origin.file.document.title, chunk)
            for key, (origin, chunk) in chunks.items()
        ]
        return pa.Table.from_pylist(rows, schema=MENTIONS_SCHEMA)

    def _chunk_rows(self, chunks: _Chunks, vectors: pa.FixedSizeListArray) -> pa.Table:
        schema = chunks_schema(self._model.dimensions)
        rows = [self._chunk_row(key, origin, chunk) for key, (origin, chunk) in chunks.items()]
        plain = pa.Table.from_pylist(rows, schema=pa.schema([field for field in schema if field.name != "vector"]))
        return plain.append_column(schema.field("vector"), vectors)

    def _chunk_row(self, key: ChunkId, origin: _Origin, chunk: ReadChunk) -> dict[str, object]:
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
            "vector": None,
            "author": file.document.author,
            "published": origin.published,
            "suffix": origin.suffix,
        }


def _suffix(path: str) -> str:
    """Return the suffix of a path, or of the path of an address, whose host is no name of a file."""
    return PurePath(urlsplit(path).path if "://" in path else path).suffix.lower()
