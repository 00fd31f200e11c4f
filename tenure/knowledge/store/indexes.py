"""Decide which indexes a table has: vector index, scalar indexes and full-text index.

The decision depends only on the table, its size and one setting. All processes that refresh a table therefore agree,
and a changed setting takes effect at the next refresh.
"""

from collections.abc import Callable, Mapping, Sequence
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

AnyIndex = FTS | BTree | Bitmap | LabelList | IvfFlat | IvfPq | IvfSq | IvfRq | HnswFlat | HnswPq | HnswSq

VECTOR_INDEX_FAMILIES: Final[Mapping[str, Callable[[], AnyIndex]]] = {
    "ivf_flat": lambda: IvfFlat(distance_type="cosine"),
    "ivf_pq": lambda: IvfPq(distance_type="cosine"),
    "ivf_sq": lambda: IvfSq(distance_type="cosine"),
    "ivf_rq": lambda: IvfRq(distance_type="cosine"),
    "ivf_hnsw_flat": lambda: HnswFlat(distance_type="cosine"),
    "ivf_hnsw_pq": lambda: HnswPq(distance_type="cosine"),
    "ivf_hnsw_sq": lambda: HnswSq(distance_type="cosine"),
}
"""Constructor of each family of approximate vector indexes."""

_FULL_TEXT_INDEX = FTS(language="English", stem=True, remove_stop_words=True, with_position=True)
"""Index with word positions, which phrase queries need."""


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
        return self.column != "vector" or parse_family(present) == _family_name(self.config)


def plan_indexes(table: str, rows: int, setting: VectorIndex) -> tuple[IndexSpec, ...]:
    """Return the indexes that a table with this number of rows should have."""
    if table in _KEY_COLUMNS:
        return tuple(IndexSpec(column, BTree()) for column in _KEY_COLUMNS[table]) if rows >= MIN_KEYED_ROWS else ()
    if table.startswith(MEMORIES_PREFIX):
        return _plan_memory_indexes(rows, setting)
    if not table.startswith(CHUNKS_PREFIX) or not rows:
        return ()
    found = [IndexSpec("search_text", _FULL_TEXT_INDEX)]
    if rows >= MIN_KEYED_ROWS:
        found += [IndexSpec("id", BTree())]
    if rows >= MIN_INDEXED_ROWS:
        found += [IndexSpec("corpus", Bitmap())]
        found += [IndexSpec(f.column, Bitmap() if f.is_low_cardinality else BTree()) for f in FILTER_COLUMNS.values()]
    if (chosen := choose_vector_family(rows, setting)) != "flat":
        found.append(IndexSpec("vector", VECTOR_INDEX_FAMILIES[chosen]()))
    return tuple(found)


def _plan_memory_indexes(rows: int, setting: VectorIndex) -> tuple[IndexSpec, ...]:
    """Return the indexes of a table of memories; the vector index comes first because the filters keep most rows."""
    found = (
        [IndexSpec("vector", VECTOR_INDEX_FAMILIES[chosen]())]
        if (chosen := choose_vector_family(rows, setting)) != "flat"
        else []
    )
    if rows >= MIN_INDEXED_ROWS:
        found += [IndexSpec("id", BTree()), IndexSpec("entities", LabelList())]
        found += [IndexSpec(column, Bitmap()) for column in ("owner", "kind", "unconfirmed", "model")]
    return tuple(found)


def choose_vector_family(rows: int, setting: VectorIndex) -> str:
    """Return the family of the vector index for this number of rows; `flat` for none."""
    if setting == "auto":
        return "ivf_rq" if rows >= MIN_INDEXED_ROWS else "flat"
    return setting if rows >= MIN_TRAINING_ROWS else "flat"


def find_obsolete_indexes(present: Sequence[IndexConfig], want: Sequence[IndexSpec]) -> tuple[str, ...]:
    """Return the names of existing vector indexes that are no longer wanted."""
    names = {index.name for index in want}
    return tuple(index.name for index in present if index.name == "vector_idx" and index.name not in names)


def parse_family(present: IndexConfig) -> str:
    """Return the family of an existing index as the setting spells it: `IvfHnswSq` is `ivf_hnsw_sq`."""
    spelt = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in present.index_type)
    return spelt.strip("_") if present.index_type[1:2].islower() else present.index_type.lower()


def _family_name(config: AnyIndex) -> str:
    return next(name for name, make in VECTOR_INDEX_FAMILIES.items() if type(make()) is type(config))
