"""Define the tables of the knowledge base and the ids of their rows.

A vector column has a fixed size, so there is one table of chunks per size, for example `chunks_384`. Corpora with
different embedding models can therefore coexist; `corpora` records the model of each.
"""

import hashlib
import re
from typing import Final, NamedTuple

import pyarrow as pa

from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.filters import FILTER_FIELDS, FilterFieldType

SOURCES = "sources"
CORPORA = "corpora"
CACHE = "embedding_cache"
FINDINGS = "findings"
ENTITIES = "entities"
MENTIONS = "mentions"
STATEMENTS = "statements"
RELATIONS = "relations"
GRAPHS = "graphs"
PAGES = "pages"
READINGS = "readings"
MEMORY_USES = "memory_uses"
RUNS = "runs"
LABELS = "labels"
ANSWERS = "answers"
PATCHES = "patches"
CODE_USES = "code_uses"


class FilterColumn(NamedTuple):
    """Column of a table of chunks that a search filter may use."""

    column: str
    kind: FilterFieldType
    is_low_cardinality: bool = False
    """Whether many chunks share each value."""


_COLUMN_NAMES: Final = {"source": "source_id"}
_LOW_CARDINALITY: Final = ("kind", "suffix", "retired", "language")

FILTER_COLUMNS: Final = {
    name: FilterColumn(_COLUMN_NAMES.get(name, name), kind, is_low_cardinality=name in _LOW_CARDINALITY)
    for name, kind in FILTER_FIELDS.items()
}


def build_chunk_table_name(dimensions: int) -> str:
    """Return the name of the table of chunks with vectors of this size."""
    return f"{CHUNKS_PREFIX}{dimensions}"


CHUNKS_PREFIX = "chunks_"


def build_memory_table_name(dimensions: int) -> str:
    """Return the name of the table of memories with vectors of this size."""
    return f"{MEMORIES_PREFIX}{dimensions}"


MEMORIES_PREFIX = "memories_"


def _key_field(name: str) -> pa.Field:
    """Return a key field: of two writers that insert the same key concurrently, one conflicts and merges again."""
    return pa.field(name, pa.string(), nullable=False, metadata={PRIMARY_KEY_METADATA: "true"})


def _required(type: pa.DataType, *names: str) -> list[pa.Field]:
    return [pa.field(name, type, nullable=False) for name in names]


PRIMARY_KEY_METADATA = "lance-schema:unenforced-primary-key"
"""Metadata by which the database recognizes the primary key."""


WORD_TYPE = pa.struct(
    [
        *_required(pa.int32(), "start", "end", "page"),  # offsets in the text; page 0 for a picture in a document
        *_required(pa.float32(), "left", "top", "right", "bottom"),  # shares of the width and height of the page
        pa.field("confidence", pa.float32(), nullable=False),  # from 0 to 1
    ]
)

LANGUAGE_TYPE = pa.struct([*_required(pa.string(), "code"), *_required(pa.int64(), "chunks")])
PLACE_TYPE = pa.struct([*_required(pa.int64(), "start"), *_required(pa.string(), "label")])

FIGURE_TYPE = pa.struct(
    [
        *_required(pa.int64(), "start", "end"),  # offsets in the text
        *_required(pa.string(), "label", "caption", "part"),
        pa.field("page", pa.int32(), nullable=False),  # 0 in a document without pages
        *_required(pa.float32(), "left", "top", "right", "bottom"),  # shares of the width and height of the page
    ]
)

SOURCES_SCHEMA = pa.schema(
    [
        _key_field("id"),
        *_required(pa.string(), "corpus", "uri", "title", "author", "published", "kind", "fetched_at"),
        pa.field("language", pa.string(), nullable=False),  # of most of the text, ISO 639-1; empty if unknown
        pa.field("retired", pa.bool_(), nullable=False),  # whether it calls itself deprecated or retired
        pa.field("content_hash", pa.string(), nullable=False),  # hash of the file's bytes
        pa.field("recipe", pa.string(), nullable=False),  # parameters of the cutting; empty until all chunks are stored
        *_required(pa.int64(), "size", "mtime_ns", "chunks", "characters"),
        pa.field("text", pa.string(), nullable=False),
        pa.field("pages", pa.list_(pa.int64())),  # offset at which each page starts; null without pages
        pa.field("places", pa.list_(PLACE_TYPE)),  # other parts in reading order; null without any
        pa.field("words", pa.list_(WORD_TYPE)),  # recognized words in reading order; null without any
        pa.field("figures", pa.list_(FIGURE_TYPE)),  # pictures in reading order; null without any
    ]
)

CORPORA_SCHEMA = pa.schema(
    [
        _key_field("corpus"),
        pa.field("model", pa.string(), nullable=False),
        pa.field("dimensions", pa.int64(), nullable=False),
        pa.field("baseline", pa.float64(), nullable=False),  # μ: mean cosine between unrelated texts
        pa.field("calibrated", pa.string(), nullable=False),  # model and number of chunks when μ was measured
        pa.field("updated_at", pa.string(), nullable=False),
        pa.field("pending", pa.int64(), nullable=False),  # chunks without a vector at the last count
        pa.field("languages", pa.list_(LANGUAGE_TYPE), nullable=False),  # of its chunks, the most frequent first
    ]
)

CACHE_SCHEMA = pa.schema(
    [
        _key_field("key"),  # hash of model and embedded text
        pa.field("model", pa.string(), nullable=False),
        pa.field("vector", pa.list_(pa.float32()), nullable=False),
        pa.field("checksum", pa.int64(), nullable=False),  # CRC-32 of the vector
    ]
)

FINDINGS_SCHEMA = pa.schema(
    [
        _key_field("key"),  # hash of run and chunk
        pa.field("run", pa.string(), nullable=False),
        pa.field("cycle", pa.int64(), nullable=False),
        *_required(pa.string(), "query", "chunk", "source"),
        pa.field("vector", pa.list_(pa.float32()), nullable=False),
    ]
)

MENTIONS_SCHEMA = pa.schema(
    [
        _key_field("id"),  # of the chunk
        *_required(pa.string(), "source_id", "corpus"),
        pa.field("title", pa.string(), nullable=False),  # key of the title of its document
        pa.field("named", pa.bool_(), nullable=False),  # whether the chunk also names the title
        pa.field("names", pa.list_(pa.string()), nullable=False),
        pa.field("parts", pa.list_(pa.string()), nullable=False),  # names within longer names
        pa.field("terms", pa.string(), nullable=False),  # distinct stems of its words
        pa.field("phrases", pa.string(), nullable=False),  # keys of its noun phrases and identifiers
        pa.field("cooccurrences", pa.string(), nullable=False),  # pairs of entities, a line per shared sentence
    ]
)

STATEMENTS_SCHEMA = pa.schema(
    [
        _key_field("id"),  # of the chunk
        *_required(pa.string(), "source_id", "corpus"),
        pa.field("cooccurrences", pa.string(), nullable=False),  # pairs of entities of its statements
        pa.field(
            "statements",
            pa.list_(
                pa.struct(
                    [
                        *((name, pa.string()) for name in ("subject", "predicate", "object")),
                        # Offsets in the text of the source.
                        *((name, pa.int64()) for name in ("count", "start", "end")),
                    ]
                )
            ),
            nullable=False,
        ),
    ]
)

RELATIONS_SCHEMA = pa.schema(
    [
        _key_field("id"),  # hash of corpus and pair
        pa.field("corpus", pa.string(), nullable=False),
        pa.field("pair", pa.string(), nullable=False),  # keys of two entities
        # Ids of the chunks with a sentence that contains both; empty if there are too many.
        pa.field("chunks", pa.list_(pa.string()), nullable=False),
    ]
)

GRAPHS_SCHEMA = pa.schema(
    [
        _key_field("corpus"),
        pa.field("version", pa.string(), nullable=False),  # changes with every refresh of the graph
        pa.field("chunks", pa.int64(), nullable=False),  # rows of the corpus in `mentions`
    ]
)

READINGS_SCHEMA = pa.schema(
    [
        _key_field("id"),  # hash of corpus and URL, or of corpus, provider and query
        *_required(pa.string(), "corpus", "at"),
        pa.field("query", pa.string(), nullable=False),  # search query
        pa.field("provider", pa.string(), nullable=False),  # search provider; empty for a page
        pa.field("cycle", pa.int64(), nullable=False),  # research cycle of the search
        pa.field("url", pa.string(), nullable=False),  # of the page; empty for a provider
        pa.field("status", pa.string(), nullable=False),  # a `ReadingStatus`
        pa.field("source_id", pa.string(), nullable=False),  # empty if the page is no source
        pa.field("title", pa.string(), nullable=False),
        pa.field("quality", pa.float64(), nullable=False),
        pa.field("flaws", pa.list_(pa.string()), nullable=False),
        pa.field("note", pa.string(), nullable=False),
        pa.field("fingerprint", pa.list_(pa.int64()), nullable=False),  # of the text, to find near duplicates
    ]
)

ENTITIES_SCHEMA = pa.schema(
    [
        _key_field("id"),  # hash of corpus and name
        *_required(pa.string(), "corpus", "name"),
        # Ids of the chunks whose title names it, whose text names it, and whose text names it or a longer name that
        # contains it, and the number of the last; a list is empty if there are too many.
        pa.field("mentioned_count", pa.int64(), nullable=False),
        *_required(pa.list_(pa.string()), "titled", "named", "mentioned"),
    ]
)

PAGES_SCHEMA = pa.schema(
    [
        _key_field("url"),  # canonical URL
        pa.field("target_url", pa.string(), nullable=False),  # redirect target, or the URL itself
        *_required(pa.string(), "etag", "last_modified", "media_type", "charset", "content_hash"),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("fetched_at", pa.string(), nullable=False),  # last confirmation by the server
        pa.field("fresh_until", pa.string(), nullable=False),  # no revalidation before this time
        pa.field("body", pa.large_binary(), nullable=False),
    ]
)

MEMORY_USES_SCHEMA = pa.schema(
    [
        _key_field("memory"),
        pa.field("use_count", pa.int64(), nullable=False),
        pa.field("last_used_at", pa.int64(), nullable=False),  # seconds since 1970, like all times of memories
        pa.field("used_by", pa.string(), nullable=False),  # last occasion that was counted
    ]
)
"""Uses have a table of their own, so that counting a use rewrites no vector."""

CODE_USES_SCHEMA = pa.schema(
    [
        _key_field("repository"),  # hash of its key, with which the names of its tables end
        pa.field("used_at", pa.string(), nullable=False),  # ISO 8601 in UTC, at most a day before the last use
    ]
)

ANSWERS_SCHEMA = pa.schema(
    [
        _key_field("key"),  # hash of request and run
        pa.field("request", pa.string(), nullable=False),  # hash of prompt, schema, model and parameters
        pa.field("run", pa.string(), nullable=False),  # that received the answer, from the model or from this table
        pa.field("created_at", pa.string(), nullable=False),  # time of the answer of the model, ISO 8601 in UTC
        pa.field("size", pa.int64(), nullable=False),
        pa.field("answer", pa.binary(), nullable=False),  # `StoredAnswer` as JSON, encrypted if there are keys
    ]
)

PATCHES_SCHEMA = pa.schema(
    [
        _key_field("key"),  # hash of run and patch
        pa.field("run", pa.string(), nullable=False),
        pa.field("created_at", pa.string(), nullable=False),  # ISO 8601 in UTC
        pa.field("size", pa.int64(), nullable=False),
        pa.field("patch", pa.large_binary(), nullable=False),  # encrypted if there are keys
    ]
)

RUNS_SCHEMA = pa.schema(
    [
        _key_field("execution"),  # id of the execution that ended the run
        pa.field("id", pa.string(), nullable=False),  # of the workflow
        pa.field("type", pa.string(), nullable=False),  # of the workflow
        *_required(pa.string(), "status", "phase", "mode"),
        pa.field("owner", pa.string(), nullable=False),  # search attribute of the run, not the owner in its id
        pa.field("started_at", pa.string(), nullable=False),  # ISO 8601 in UTC, like the next one
        pa.field("closed_at", pa.string(), nullable=False),
        pa.field("question", pa.binary(), nullable=False),  # payload as Temporal stores it, encrypted or not
        pa.field("version", pa.int64(), nullable=False),  # of the format of the next column
        pa.field("archive", pa.large_binary(), nullable=False),  # compressed histories, with their encoded payloads
    ]
)

LABELS_SCHEMA = pa.schema(
    [
        _key_field("run"),
        pa.field("label", pa.binary(), nullable=False),  # payload of title and tags as Temporal stores it
    ]
)

SCHEMAS = {
    SOURCES: SOURCES_SCHEMA,
    CORPORA: CORPORA_SCHEMA,
    CACHE: CACHE_SCHEMA,
    FINDINGS: FINDINGS_SCHEMA,
    ENTITIES: ENTITIES_SCHEMA,
    MENTIONS: MENTIONS_SCHEMA,
    STATEMENTS: STATEMENTS_SCHEMA,
    RELATIONS: RELATIONS_SCHEMA,
    GRAPHS: GRAPHS_SCHEMA,
    PAGES: PAGES_SCHEMA,
    READINGS: READINGS_SCHEMA,
    MEMORY_USES: MEMORY_USES_SCHEMA,
    RUNS: RUNS_SCHEMA,
    LABELS: LABELS_SCHEMA,
    ANSWERS: ANSWERS_SCHEMA,
    PATCHES: PATCHES_SCHEMA,
    CODE_USES: CODE_USES_SCHEMA,
}
"""Schema of every table except those of chunks, memories and repositories, by name."""


CODE_FILES_PREFIX = "code_files_"
CODE_CHUNKS_PREFIX = "code_chunks_"
"""Prefixes of the tables of a repository's index, which end in a hash of its key. Every repository has its own tables:
the weight of a word in full-text search is then that in the repository."""

CODE_FILES_SCHEMA = pa.schema(
    [
        _key_field("id"),  # hash of path, content and version of the index
        pa.field("path", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),  # why it is not indexed; empty if it is
        pa.field("symbols", pa.string(), nullable=False),  # JSON of a list of `CodeSymbol`
        pa.field("references", pa.string(), nullable=False),  # a line for each name, with the numbers of its lines
    ]
)

CODE_CHUNKS_SCHEMA = pa.schema(
    [
        _key_field("id"),
        pa.field("file", pa.string(), nullable=False),  # id of its file
        pa.field("first", pa.int64(), nullable=False),  # lines, from 1
        pa.field("last", pa.int64(), nullable=False),
        pa.field("symbol", pa.string(), nullable=False),
        pa.field("search_text", pa.string(), nullable=False),  # words of path, symbol and code, with their parts
    ]
)


def hash_repository(repository: str) -> str:
    """Return the hash of the key of a repository by which its index is named."""
    return hash_parts(repository)[:24]


def build_code_table_names(repository: str) -> tuple[str, str]:
    """Return the names of the tables of files and of chunks of a repository, by its key."""
    digest = hash_repository(repository)
    return f"{CODE_FILES_PREFIX}{digest}", f"{CODE_CHUNKS_PREFIX}{digest}"


def is_knowledge_table(table: str) -> bool:
    """Return whether a table belongs to the knowledge base, and not to something else in its folder."""
    return (
        table in SCHEMAS
        or re.fullmatch(rf"(?:{CHUNKS_PREFIX}|{MEMORIES_PREFIX})\d+", table) is not None
        or re.fullmatch(rf"(?:{CODE_FILES_PREFIX}|{CODE_CHUNKS_PREFIX})[0-9a-f]{{24}}", table) is not None
    )


def build_memory_schema(dimensions: int) -> pa.Schema:
    """Return the schema of memories with vectors of this size."""
    return pa.schema(
        [
            _key_field("id"),
            pa.field("owner", pa.string(), nullable=False),
            pa.field("kind", pa.string(), nullable=False),  # a `MemoryKind`
            pa.field("text", pa.string(), nullable=False),
            pa.field("created_at", pa.int64(), nullable=False),
            pa.field("run", pa.string(), nullable=False),
            pa.field("sources", pa.list_(pa.string()), nullable=False),
            pa.field("corpora", pa.list_(pa.string())),  # null if unknown
            pa.field("importance", pa.float64(), nullable=False),
            pa.field("unconfirmed", pa.bool_(), nullable=False),
            pa.field("contradicted_by", pa.string(), nullable=False),
            # JSON of the whole memory, so that a recall reads one column.
            pa.field("memory", pa.string(), nullable=False),
            pa.field("entities", pa.list_(pa.string()), nullable=False),  # keys, as in the tables of the graph
            pa.field("query_type", pa.string(), nullable=False),  # of an episode, like the next three
            pa.field("strategy", pa.string(), nullable=False),
            pa.field("score", pa.float64(), nullable=False),
            pa.field("searches", pa.int64(), nullable=False),
            pa.field("compared", pa.bool_(), nullable=False),  # whether a consolidation has compared it
            pa.field("model", pa.string(), nullable=False),  # model of the vector
            pa.field("vector", pa.list_(pa.float32(), dimensions), nullable=False),
        ]
    )


def build_chunk_schema(dimensions: int) -> pa.Schema:
    """Return the schema of chunks with vectors of this size."""
    return pa.schema(
        [
            _key_field("id"),
            *_required(pa.string(), "source_id", "corpus"),
            *_required(pa.int64(), "ordinal", "start", "end"),
            pa.field("heading_path", pa.list_(pa.string()), nullable=False),
            *_required(pa.string(), "title", "uri", "kind", "text"),
            pa.field("search_text", pa.string(), nullable=False),  # title, headings and text, for full-text search
            pa.field("language", pa.string(), nullable=False),  # ISO 639-1; empty if unknown
            # Terms of the search text in a language other than English, separated by blanks; null in English.
            pa.field("language_terms", pa.string()),
            pa.field("vector", pa.list_(pa.float32(), dimensions)),  # null until computed
            pa.field("author", pa.string(), nullable=False),
            pa.field("published", pa.string(), nullable=False),  # ISO 8601; empty if unknown
            pa.field("suffix", pa.string(), nullable=False),  # of the file name, in lower case, with the dot
            pa.field("version", pa.string(), nullable=False),  # that a heading or a folder names; empty for none
            pa.field("retired", pa.string(), nullable=False),  # "yes" if the document or the section says so, or "no"
        ]
    )


def make_source_id(corpus: str, uri: str) -> SourceId:
    """Return the id of a source: 24 hexadecimal digits of a hash."""
    return SourceId(hash_parts(corpus, uri)[:24])


def make_chunk_id(source: SourceId, start: int, end: int, text: str) -> ChunkId:
    """Return the id of a chunk; differences in white space do not change it."""
    return ChunkId(hash_parts(source, str(start), str(end), " ".join(text.split()))[:24])


def hash_parts(*parts: str) -> str:
    """Return the SHA-256 hash of the parts, separated by NUL."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
