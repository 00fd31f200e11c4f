"""Decide which indexes a table has: vector index, scalar indexes and full-text index.

The decision depends only on the table, its size and one setting. All processes that refresh a table therefore agree,
and a changed setting takes effect at the next refresh.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from lancedb.index import (
    FTS,
    Bitmap,
    BTree,
    HnswFlat,
    HnswPq,
    HnswSq,
    IndexConfig,
    IvfFlat,
    IvfPq,
    IvfRq,
    IvfSq,
    LabelList,
)

from tenure.contracts.evidence.corpora import VectorIndex
from tenure.knowledge.store.schema import (
    ANSWERS,
    CACHE,
    CHUNKS_PREFIX,
    CODE_CHUNKS_PREFIX,
    ENTITIES,
    FILTER_COLUMNS,
    FINDINGS,
    MEMORIES_PREFIX,
    MEMORY_USES,
    MENTIONS,
    PAGES,
    RELATIONS,
    SOURCES,
    STATEMENTS,
)

MIN_INDEXED_ROWS = 20_000
"""Rows from which an approximate vector index is faster than a scan, and scalar indexes pay off."""
MIN_KEYED_ROWS = 2_000
"""Rows from which an index on a key is faster than a scan."""
MIN_TRAINING_ROWS = 512
"""Rows needed to train any vector index; smaller tables are scanned regardless of the setting."""

VectorConfig = IvfFlat | IvfPq | IvfSq | IvfRq | HnswFlat | HnswPq | HnswSq
AnyIndex = FTS | BTree | Bitmap | LabelList | VectorConfig

VECTOR_INDEX_FAMILIES: Final[Mapping[str, type[VectorConfig]]] = {
    "ivf_flat": IvfFlat,
    "ivf_pq": IvfPq,
    "ivf_sq": IvfSq,
    "ivf_rq": IvfRq,
    "ivf_hnsw_flat": HnswFlat,
    "ivf_hnsw_pq": HnswPq,
    "ivf_hnsw_sq": HnswSq,
}
"""Configuration of each family of approximate vector indexes."""

_FULL_TEXT_INDEX = FTS(language="English", stem=True, remove_stop_words=True, with_position=True)
"""Index with word positions, which phrase queries need."""

_TERM_INDEX = FTS(base_tokenizer="whitespace", stem=False, remove_stop_words=False, with_position=False)
"""Index of the terms of languages other than English, which are made when a chunk is stored."""

_CODE_INDEX = FTS(
    base_tokenizer="whitespace", language="English", stem=True, remove_stop_words=True, with_position=False
)
"""Index of the words of code, which are split when they are stored."""

_KEY_COLUMNS: Final = {
    SOURCES: ("id",),
    CACHE: ("key",),
    FINDINGS: ("run",),
    MENTIONS: ("id",),
    STATEMENTS: ("id",),
    ENTITIES: ("name",),
    RELATIONS: ("pair",),
    PAGES: ("url",),
    MEMORY_USES: ("memory",),
    ANSWERS: ("request",),
}
"""Columns by which the rows of a table are looked up."""


class IndexSpec(NamedTuple):
    """Column and configuration of an index."""

    column: str
    config: AnyIndex

    @property
    def name(self) -> str:
        """Name that the database gives the index."""
        return f"{self.column}_idx"

    def is_satisfied_by(self, present: IndexConfig) -> bool:
        """Return whether an existing index of the same name has the wanted family."""
        # Another version of the database may have made an index of an unknown family.
        return self.column != "vector" or type(self.config) is VECTOR_INDEX_FAMILIES.get(
            parse_family(present.index_type)
        )


def plan_indexes(table: str, rows: int, setting: VectorIndex) -> tuple[IndexSpec, ...]:
    """Return the indexes that a table with this number of rows should have."""
    if table in _KEY_COLUMNS:
        return tuple(IndexSpec(column, BTree()) for column in _KEY_COLUMNS[table]) if rows >= MIN_KEYED_ROWS else ()
    if table.startswith(CODE_CHUNKS_PREFIX):
        return (IndexSpec("search_text", _CODE_INDEX),) if rows else ()
    if table.startswith(MEMORIES_PREFIX):
        return _plan_memory_indexes(rows, setting)
    if not table.startswith(CHUNKS_PREFIX) or not rows:
        return ()
    planned = [IndexSpec("search_text", _FULL_TEXT_INDEX), IndexSpec("language_terms", _TERM_INDEX)]
    if rows >= MIN_KEYED_ROWS:
        planned += [IndexSpec("id", BTree())]
    if rows >= MIN_INDEXED_ROWS:
        planned += [IndexSpec("corpus", Bitmap())]
        planned += [IndexSpec(f.column, Bitmap() if f.is_low_cardinality else BTree()) for f in FILTER_COLUMNS.values()]
    return (*planned, *_plan_vector_index(rows, setting))


def _plan_memory_indexes(rows: int, setting: VectorIndex) -> tuple[IndexSpec, ...]:
    """Return the indexes of a table of memories; the vector index comes first because the filters keep most rows."""
    planned = _plan_vector_index(rows, setting)
    if rows >= MIN_INDEXED_ROWS:
        planned += [IndexSpec("id", BTree()), IndexSpec("entities", LabelList())]
        planned += [IndexSpec(column, Bitmap()) for column in ("owner", "kind", "unconfirmed", "model")]
    return tuple(planned)


def _plan_vector_index(rows: int, setting: VectorIndex) -> list[IndexSpec]:
    family = choose_vector_family(rows, setting)
    return [] if family == "flat" else [IndexSpec("vector", VECTOR_INDEX_FAMILIES[family](distance_type="cosine"))]


def choose_vector_family(rows: int, setting: VectorIndex) -> str:
    """Return the family of the vector index for this number of rows; `flat` for none."""
    if setting == "auto":
        return "ivf_rq" if rows >= MIN_INDEXED_ROWS else "flat"
    return setting if rows >= MIN_TRAINING_ROWS else "flat"


def find_obsolete_indexes(present: Sequence[IndexConfig], want: Sequence[IndexSpec]) -> tuple[str, ...]:
    """Return the names of existing vector indexes that are no longer wanted."""
    names = {index.name for index in want}
    return tuple(index.name for index in present if index.name == "vector_idx" and index.name not in names)


def parse_family(index_type: str) -> str:
    """Return the family of an existing index as the setting spells it: `IvfHnswSq` is `ivf_hnsw_sq`."""
    spelt = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in index_type)
    return spelt.strip("_") if index_type[1:2].islower() else index_type.lower()
