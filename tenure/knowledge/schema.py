"""The tables of the knowledge base (DESIGN §6) and the ids of their rows.

A vector column has a fixed size, so chunks live in one table per size, `chunks_384` for example: corpora
of different embedding models stand side by side. Which model a corpus has is written in `corpora`.
"""

import hashlib
import re

import pyarrow as pa

from tenure.contracts.base import ChunkId, SourceId

SOURCES = "sources"
CORPORA = "corpora"
CACHE = "embedding_cache"
FINDINGS = "findings"
TURNS = "turns"


def chunks_table(dimensions: int) -> str:
    """Return the name of the table of chunks with vectors of this size."""
    return f"{CHUNKS_PREFIX}{dimensions}"


CHUNKS_PREFIX = "chunks_"

SOURCES_SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("corpus", pa.string(), nullable=False),
        pa.field("uri", pa.string(), nullable=False),
        pa.field("title", pa.string(), nullable=False),
        pa.field("author", pa.string(), nullable=False),
        pa.field("published", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("fetched_at", pa.string(), nullable=False),
        pa.field("content_hash", pa.string(), nullable=False),  # of the file's bytes
        pa.field("recipe", pa.string(), nullable=False),  # how it was read; empty until its chunks are all there
        pa.field("size", pa.int64(), nullable=False),
        pa.field("mtime_ns", pa.int64(), nullable=False),
        pa.field("chunks", pa.int64(), nullable=False),
        pa.field("characters", pa.int64(), nullable=False),
        pa.field("text", pa.string(), nullable=False),
    ]
)

CORPORA_SCHEMA = pa.schema(
    [
        pa.field("corpus", pa.string(), nullable=False),
        pa.field("model", pa.string(), nullable=False),
        pa.field("dimensions", pa.int64(), nullable=False),
        pa.field("unrelated", pa.float64(), nullable=False),  # μ of DESIGN §4
        pa.field("calibrated", pa.string(), nullable=False),  # state of the corpus μ was measured in
        pa.field("updated_at", pa.string(), nullable=False),
    ]
)

CACHE_SCHEMA = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),  # hash of model and embedded text
        pa.field("model", pa.string(), nullable=False),
        pa.field("vector", pa.list_(pa.float32()), nullable=False),
    ]
)

FINDINGS_SCHEMA = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),  # hash of run and chunk
        pa.field("run", pa.string(), nullable=False),
        pa.field("cycle", pa.int64(), nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("query", pa.string(), nullable=False),
        pa.field("chunk", pa.string(), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("relevance", pa.float64(), nullable=False),
        pa.field("novelty", pa.float64(), nullable=False),
        pa.field("vector", pa.list_(pa.float32()), nullable=False),
    ]
)

TURNS_SCHEMA = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),  # hash of run, role and turn
        pa.field("run", pa.string(), nullable=False),
        pa.field("role", pa.string(), nullable=False),
        pa.field("turn", pa.int64(), nullable=False),
        pa.field("anew", pa.bool_(), nullable=False),  # whether a conversation begins with it
        pa.field("messages", pa.string(), nullable=False),
    ]
)

SCHEMAS = {
    SOURCES: SOURCES_SCHEMA,
    CORPORA: CORPORA_SCHEMA,
    CACHE: CACHE_SCHEMA,
    FINDINGS: FINDINGS_SCHEMA,
    TURNS: TURNS_SCHEMA,
}
"""Every table but those of chunks, by name."""


def chunks_schema(dimensions: int) -> pa.Schema:
    """Return the schema of chunks with vectors of this size."""
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("source_id", pa.string(), nullable=False),
            pa.field("corpus", pa.string(), nullable=False),
            pa.field("ordinal", pa.int64(), nullable=False),
            pa.field("start", pa.int64(), nullable=False),
            pa.field("end", pa.int64(), nullable=False),
            pa.field("heading_path", pa.list_(pa.string()), nullable=False),
            pa.field("title", pa.string(), nullable=False),
            pa.field("uri", pa.string(), nullable=False),
            pa.field("kind", pa.string(), nullable=False),
            pa.field("text", pa.string(), nullable=False),
            pa.field("search_text", pa.string(), nullable=False),  # title, headings and text, for full-text search
            pa.field("vector", pa.list_(pa.float32(), dimensions), nullable=False),
        ]
    )


def source_id(corpus: str, uri: str) -> SourceId:
    """Return the id of the source at `uri` in `corpus`."""
    return SourceId(digest(corpus, uri)[:24])


def chunk_id(source: SourceId, start: int, end: int, text: str) -> ChunkId:
    """Return the id of a chunk; white space does not tell two texts apart."""
    return ChunkId(digest(source, str(start), str(end), re.sub(r"\s+", " ", text).strip())[:24])


def digest(*parts: str) -> str:
    """Return a hash over the parts that keeps their borders apart."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
