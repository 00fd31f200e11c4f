"""Which indexes a table has: the family of its vector index, its scalar indexes, its full-text index.

What there should be is a function of the table, its size and one setting, so that every process that
refreshes a table comes to the same indexes, and a changed setting is carried out by the next refresh.
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
    CACHE,
    CHUNKS_PREFIX,
    ENTITIES,
    FILTERABLE,
    MEMORIES_PREFIX,
    MEMORY_USES,
    MENTIONS,
    PAGES,
    RELATIONS,
    SOURCES,
    STATEMENTS,
)

INDEX_ROWS = 20_000
"""Rows from which an approximate vector index beats a scan (DESIGN §6), and scalar indexes are worth their keep."""
TRAINING_ROWS = 512
"""Rows below which no family can be trained; until then a table is scanned whatever the setting says."""

AnyIndex = FTS | BTree | Bitmap | LabelList | IvfFlat | IvfPq | IvfSq | IvfRq | HnswFlat | HnswPq | HnswSq

FAMILIES: Final[Mapping[str, Callable[[], AnyIndex]]] = {
    "ivf_flat": lambda: IvfFlat(distance_type="cosine"),
    "ivf_pq": lambda: IvfPq(distance_type="cosine"),
    "ivf_sq": lambda: IvfSq(distance_type="cosine"),
    "ivf_rq": lambda: IvfRq(distance_type="cosine"),
    "ivf_hnsw_flat": lambda: HnswFlat(distance_type="cosine"),
    "ivf_hnsw_pq": lambda: HnswPq(distance_type="cosine"),
    "ivf_hnsw_sq": lambda: HnswSq(distance_type="cosine"),
}
"""How each family of approximate vector indexes is built."""

_FULL_TEXT = FTS(language="English", stem=True, remove_stop_words=True, with_position=True)
"""With the places of words, without which no phrase can be looked for."""


_LOOKED_UP_BY: Final = {
    SOURCES: "id",
    CACHE: "key",
    MENTIONS: "id",
    STATEMENTS: "id",
    ENTITIES: "name",
    RELATIONS: "pair",
    PAGES: "address",
    MEMORY_USES: "memory",
}
"""The one column by which rows of a table are found."""


class Wanted(NamedTuple):
    """An index that a table should have."""

    column: str
    config: AnyIndex

    @property
    def name(self) -> str:
        """The name the database gives it."""
        return f"{self.column}_idx"

    def is_met_by(self, present: IndexConfig) -> bool:
        """Whether an index that is there is this one, and not one of another family or without word places."""
        if isinstance(self.config, FTS):
            return bool((present.index_details or {}).get("with_position"))
        return self.column != "vector" or family(present) == _family_of(self.config)


def wanted(table: str, rows: int, setting: VectorIndex) -> tuple[Wanted, ...]:
    """Return the indexes a table of so many rows should have."""
    if table in _LOOKED_UP_BY:
        return (Wanted(_LOOKED_UP_BY[table], BTree()),) if rows >= INDEX_ROWS else ()
    if table.startswith(MEMORIES_PREFIX):
        return _of_memories(rows, setting)
    if not table.startswith(CHUNKS_PREFIX) or not rows:
        return ()
    found = [Wanted("search_text", _FULL_TEXT)]
    if rows >= INDEX_ROWS:
        found += [Wanted("id", BTree()), Wanted("corpus", Bitmap())]
        found += [Wanted(f.column, Bitmap() if f.few_values else BTree()) for f in FILTERABLE.values()]
    if (chosen := chosen_family(rows, setting)) != "flat":
        found.append(Wanted("vector", FAMILIES[chosen]()))
    return tuple(found)


def _of_memories(rows: int, setting: VectorIndex) -> tuple[Wanted, ...]:
    """Return the indexes of so many memories; their filters leave most rows, so the vector index comes first."""
    found = [Wanted("vector", FAMILIES[chosen]())] if (chosen := chosen_family(rows, setting)) != "flat" else []
    if rows >= INDEX_ROWS:
        found += [Wanted("id", BTree()), Wanted("entities", LabelList())]
        found += [Wanted(column, Bitmap()) for column in ("owner", "kind", "awaiting", "model")]
    return tuple(found)


def chosen_family(rows: int, setting: VectorIndex) -> str:
    """Return the family of the vector index for so many rows, `flat` for none."""
    if setting == "auto":
        return "ivf_rq" if rows >= INDEX_ROWS else "flat"
    return setting if rows >= TRAINING_ROWS else "flat"


def superfluous(present: Sequence[IndexConfig], want: Sequence[Wanted]) -> tuple[str, ...]:
    """Return the names of vector indexes that should no longer be there."""
    names = {index.name for index in want}
    return tuple(index.name for index in present if index.name == "vector_idx" and index.name not in names)


def family(present: IndexConfig) -> str:
    """Return the family of an index that is there, as the setting writes it: `IvfHnswSq` is `ivf_hnsw_sq`."""
    spelt = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in present.index_type)
    return spelt.strip("_") if present.index_type[1:2].islower() else present.index_type.lower()


def _family_of(config: AnyIndex) -> str:
    return next(name for name, make in FAMILIES.items() if type(make()) is type(config))
