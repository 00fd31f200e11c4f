"""The tables of the knowledge base (DESIGN §6) and the ids of their rows.

A vector column has a fixed size, so chunks live in one table per size, `chunks_384` for example: corpora
of different embedding models stand side by side. Which model a corpus has is written in `corpora`.
"""

import hashlib
import re
from typing import Final, NamedTuple

import pyarrow as pa

from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.filters import FIELDS, Kind

SOURCES = "sources"
CORPORA = "corpora"
CACHE = "embedding_cache"
FINDINGS = "findings"
TURNS = "turns"
ENTITIES = "entities"
MENTIONS = "mentions"
STATEMENTS = "statements"
RELATIONS = "relations"
PAGES = "pages"
READINGS = "readings"
MEMORY_USES = "memory_uses"


class Field(NamedTuple):
    """A property of a chunk that a search may be filtered by."""

    column: str
    """Its column in a table of chunks."""
    kind: Kind
    """What its values are."""
    few_values: bool = False
    """Whether many chunks share each value."""


_RENAMED: Final = {"source": "source_id"}
_FEW_VALUES: Final = ("kind", "suffix")

FILTERABLE: Final = {
    name: Field(_RENAMED.get(name, name), kind, few_values=name in _FEW_VALUES) for name, kind in FIELDS.items()
}
"""Where the fields of a filter are."""


def chunks_table(dimensions: int) -> str:
    """Return the name of the table of chunks with vectors of this size."""
    return f"{CHUNKS_PREFIX}{dimensions}"


CHUNKS_PREFIX = "chunks_"


def memories_table(dimensions: int) -> str:
    """Return the name of the table of memories with vectors of this size."""
    return f"{MEMORIES_PREFIX}{dimensions}"


MEMORIES_PREFIX = "memories_"


def _key(name: str) -> pa.Field:
    """Return the field of a key: two writers who insert the same key at once then conflict, and one merges again."""
    return pa.field(name, pa.string(), nullable=False, metadata={PRIMARY_KEY: "true"})


PRIMARY_KEY = "lance-schema:unenforced-primary-key"
"""What marks the key of a table for the database."""


def key_of(schema: pa.Schema) -> str | None:
    """Return the column that tells a table's rows apart; None where none is marked."""
    marks = {field.name: " ".join(mark.decode() for mark in field.metadata or {}) for field in schema}
    return next((name for name, mark in marks.items() if PRIMARY_KEY in mark), None)


SOURCES_SCHEMA = pa.schema(
    [
        _key("id"),
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
        pa.field("pages", pa.list_(pa.int64())),  # where in the text each page begins; null where there are none
    ]
)

CORPORA_SCHEMA = pa.schema(
    [
        _key("corpus"),
        pa.field("model", pa.string(), nullable=False),
        pa.field("dimensions", pa.int64(), nullable=False),
        pa.field("unrelated", pa.float64(), nullable=False),  # μ of DESIGN §4
        pa.field("calibrated", pa.string(), nullable=False),  # state of the corpus μ was measured in
        pa.field("updated_at", pa.string(), nullable=False),
        pa.field("pending", pa.int64(), nullable=False),  # chunks without a vector when that was last counted
    ]
)

CACHE_SCHEMA = pa.schema(
    [
        _key("key"),  # hash of model and embedded text
        pa.field("model", pa.string(), nullable=False),
        pa.field("vector", pa.list_(pa.float32()), nullable=False),
    ]
)

FINDINGS_SCHEMA = pa.schema(
    [
        _key("key"),  # hash of run and chunk
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
        _key("key"),  # hash of run, role and turn
        pa.field("run", pa.string(), nullable=False),
        pa.field("role", pa.string(), nullable=False),
        pa.field("turn", pa.int64(), nullable=False),
        pa.field("anew", pa.bool_(), nullable=False),  # whether a conversation begins with it
        pa.field("messages", pa.string(), nullable=False),
    ]
)

MENTIONS_SCHEMA = pa.schema(
    [
        _key("id"),  # of the chunk
        pa.field("source_id", pa.string(), nullable=False),
        pa.field("corpus", pa.string(), nullable=False),
        pa.field("title", pa.string(), nullable=False),  # what its document's title names
        pa.field("named", pa.bool_(), nullable=False),  # whether the chunk names it too
        pa.field("names", pa.list_(pa.string()), nullable=False),
        pa.field("parts", pa.list_(pa.string()), nullable=False),  # names inside names
        pa.field("terms", pa.string(), nullable=False),  # stems of its words, each once
        pa.field("phrases", pa.string(), nullable=False),  # keys of its noun phrases and identifiers
        pa.field("beside", pa.string(), nullable=False),  # pairs of entities that share sentences, and how many
    ]
)

STATEMENTS_SCHEMA = pa.schema(
    [
        _key("id"),  # of the chunk
        pa.field("source_id", pa.string(), nullable=False),
        pa.field("corpus", pa.string(), nullable=False),
        pa.field("model", pa.string(), nullable=False),  # that has read the chunk
        pa.field("beside", pa.string(), nullable=False),  # pairs of entities that its statements are about
        pa.field("kinds", pa.list_(pa.struct([("key", pa.string()), ("kind", pa.string())])), nullable=False),
        pa.field(
            "statements",
            pa.list_(
                pa.struct(
                    [
                        *((name, pa.string()) for name in ("subject", "predicate", "object")),
                        *((name, pa.int64()) for name in ("count", "start", "end")),  # in the source's stored text
                    ]
                )
            ),
            nullable=False,
        ),
    ]
)

RELATIONS_SCHEMA = pa.schema(
    [
        _key("id"),  # hash of corpus and pair
        pa.field("corpus", pa.string(), nullable=False),
        pa.field("pair", pa.string(), nullable=False),  # keys of two entities
        pa.field("predicates", pa.list_(pa.string()), nullable=False),  # what is said of them, each once
        pa.field("count", pa.int64(), nullable=False),  # sentences that both stand in
        # Chunks with such a sentence: how many, and which, as long as they are few.
        pa.field("chunk_count", pa.int64(), nullable=False),
        pa.field("chunks", pa.list_(pa.string()), nullable=False),
    ]
)

READINGS_SCHEMA = pa.schema(
    [
        _key("id"),  # hash of corpus and address, or of corpus, engine and query
        pa.field("corpus", pa.string(), nullable=False),
        pa.field("at", pa.string(), nullable=False),
        pa.field("query", pa.string(), nullable=False),  # what was looked for
        pa.field("engine", pa.string(), nullable=False),  # that was asked; empty for a page
        pa.field("cycle", pa.int64(), nullable=False),  # of research, that looked for it
        pa.field("address", pa.string(), nullable=False),  # of the page; empty for an engine
        pa.field("status", pa.string(), nullable=False),  # a `ReadingStatus`
        pa.field("source_id", pa.string(), nullable=False),  # empty where the page is no source
        pa.field("title", pa.string(), nullable=False),
        pa.field("quality", pa.float64(), nullable=False),
        pa.field("flaws", pa.list_(pa.string()), nullable=False),
        pa.field("note", pa.string(), nullable=False),
        pa.field("fingerprint", pa.list_(pa.int64()), nullable=False),  # of the text, to find mirrors of it
    ]
)

ENTITIES_SCHEMA = pa.schema(
    [
        _key("id"),  # hash of corpus and name
        pa.field("corpus", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        # Chunks whose title names it, that name it, and that name it or a name it is part of: how many, and
        # which, as long as they are few.
        pa.field("titled_count", pa.int64(), nullable=False),
        pa.field("named_count", pa.int64(), nullable=False),
        pa.field("mentioned_count", pa.int64(), nullable=False),
        pa.field("titled", pa.list_(pa.string()), nullable=False),
        pa.field("named", pa.list_(pa.string()), nullable=False),
        pa.field("mentioned", pa.list_(pa.string()), nullable=False),
    ]
)

PAGES_SCHEMA = pa.schema(
    [
        _key("address"),  # canonical
        pa.field("goal", pa.string(), nullable=False),  # where a request for it was redirected to, or itself
        pa.field("etag", pa.string(), nullable=False),
        pa.field("last_modified", pa.string(), nullable=False),
        pa.field("media_type", pa.string(), nullable=False),
        pa.field("charset", pa.string(), nullable=False),
        pa.field("content_hash", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("fetched_at", pa.string(), nullable=False),  # when its server last confirmed it
        pa.field("fresh_until", pa.string(), nullable=False),  # until when nobody has to ask it again
        pa.field("body", pa.large_binary(), nullable=False),
    ]
)

MEMORY_USES_SCHEMA = pa.schema(
    [
        _key("memory"),
        pa.field("uses", pa.int64(), nullable=False),
        pa.field("last_used", pa.int64(), nullable=False),  # seconds since 1970, as all times of memories
        pa.field("occasion", pa.string(), nullable=False),  # the last one that was counted
    ]
)
"""Uses stand beside the memories: counting one writes a small row, and none with a vector."""

SCHEMAS = {
    SOURCES: SOURCES_SCHEMA,
    CORPORA: CORPORA_SCHEMA,
    CACHE: CACHE_SCHEMA,
    FINDINGS: FINDINGS_SCHEMA,
    TURNS: TURNS_SCHEMA,
    ENTITIES: ENTITIES_SCHEMA,
    MENTIONS: MENTIONS_SCHEMA,
    STATEMENTS: STATEMENTS_SCHEMA,
    RELATIONS: RELATIONS_SCHEMA,
    PAGES: PAGES_SCHEMA,
    READINGS: READINGS_SCHEMA,
    MEMORY_USES: MEMORY_USES_SCHEMA,
}
"""Every table but those of chunks and memories, by name."""


def is_ours(table: str) -> bool:
    """Whether a table is one of the knowledge base, and not something else in its folder."""
    return table in SCHEMAS or bool(re.fullmatch(rf"(?:{CHUNKS_PREFIX}|{MEMORIES_PREFIX})\d+", table))


def memories_schema(dimensions: int) -> pa.Schema:
    """Return the schema of memories with vectors of this size."""
    return pa.schema(
        [
            _key("id"),
            pa.field("owner", pa.string(), nullable=False),
            pa.field("kind", pa.string(), nullable=False),  # a `MemoryKind`
            pa.field("text", pa.string(), nullable=False),
            pa.field("made", pa.int64(), nullable=False),
            pa.field("run", pa.string(), nullable=False),
            pa.field("sources", pa.list_(pa.string()), nullable=False),
            pa.field("importance", pa.float64(), nullable=False),
            pa.field("awaiting", pa.bool_(), nullable=False),
            pa.field("disputed", pa.string(), nullable=False),
            pa.field("memory", pa.string(), nullable=False),  # JSON of all of it, so that a recall reads one column
            pa.field("entities", pa.list_(pa.string()), nullable=False),  # keys, as the tables of the graph have them
            pa.field("query_type", pa.string(), nullable=False),  # of an episode, as what follows
            pa.field("strategy", pa.string(), nullable=False),
            pa.field("score", pa.float64(), nullable=False),
            pa.field("searches", pa.int64(), nullable=False),
            pa.field("compared", pa.bool_(), nullable=False),  # whether a consolidation has held it against the others
            pa.field("model", pa.string(), nullable=False),  # that its vector comes from
            pa.field("vector", pa.list_(pa.float32(), dimensions), nullable=False),
        ]
    )


def chunks_schema(dimensions: int) -> pa.Schema:
    """Return the schema of chunks with vectors of this size."""
    return pa.schema(
        [
            _key("id"),
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
            pa.field("vector", pa.list_(pa.float32(), dimensions)),  # null until it is made
            pa.field("author", pa.string(), nullable=False),
            pa.field("published", pa.string(), nullable=False),  # ISO 8601, empty where unknown
            pa.field("suffix", pa.string(), nullable=False),  # of the file's name, in lower case, with its dot
        ]
    )


def source_id(corpus: str, uri: str) -> SourceId:
    """Return the id of the source at `uri` in `corpus`."""
    return SourceId(digest(corpus, uri)[:24])


def chunk_id(source: SourceId, start: int, end: int, text: str) -> ChunkId:
    """Return the id of a chunk; white space does not tell two texts apart."""
    return ChunkId(digest(source, str(start), str(end), " ".join(text.split()))[:24])


def digest(*parts: str) -> str:
    """Return a hash over the parts that keeps their borders apart."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
