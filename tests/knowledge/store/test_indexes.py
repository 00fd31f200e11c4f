"""The choice of indexes, and that every family of vector index finds what it should."""

from typing import get_args

import numpy as np
import pyarrow as pa
import pytest
from lancedb.index import IvfFlat

from tenure.contracts.evidence.corpora import VectorIndex
from tenure.knowledge.store.indexes import FAMILIES, INDEX_ROWS, TRAINING_ROWS, chosen_family, family, wanted
from tenure.knowledge.store.schema import CACHE, CORPORA, FILTERABLE, SOURCES, chunks_schema
from tenure.knowledge.store.store import Store

CHUNKS = "chunks_32"
ROWS = 700


def chunks(rows: int) -> pa.Table:
    """Return chunks with random unit vectors and words of their own."""
    vectors = np.random.default_rng(7).standard_normal((rows, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = ("source_id", "corpus", "title", "uri", "kind", "text", "author", "published", "suffix")
    columns: dict[str, object] = {name: ["c"] * rows for name in texts}
    columns |= {"id": [f"i{n}" for n in range(rows)], "search_text": [f"word{n}" for n in range(rows)]}
    columns |= {"ordinal": range(rows), "start": [0] * rows, "end": [1] * rows, "heading_path": [[]] * rows}
    return pa.table(columns | {"vector": list(vectors)}, schema=chunks_schema(32))


def test_the_setting_knows_each_family() -> None:
    """Every value of the setting is a family that can be built, `flat` or `auto`."""
    assert set(get_args(VectorIndex)) == {"auto", "flat", *FAMILIES}


@pytest.mark.parametrize(
    ("rows", "setting", "chosen"),
    [
        (INDEX_ROWS - 1, "auto", "flat"),
        (INDEX_ROWS, "auto", "ivf_rq"),
        (INDEX_ROWS, "flat", "flat"),
        (TRAINING_ROWS, "ivf_pq", "ivf_pq"),
        (TRAINING_ROWS - 1, "ivf_pq", "flat"),
    ],
)
def test_the_family_goes_by_setting_and_size(rows: int, setting: VectorIndex, chosen: str) -> None:
    """Without a setting large tables get IVF_RQ; with one, its family as soon as it can be trained."""
    assert chosen_family(rows, setting) == chosen


def test_what_is_filtered_has_a_scalar_index() -> None:
    """Large tables have an index on each column that a filter may name, and keys of other tables have one too."""
    columns = {index.column for index in wanted(CHUNKS, INDEX_ROWS, "flat")}

    assert columns == {"id", "corpus", "search_text", *(field.column for field in FILTERABLE.values())}
    assert [index.column for index in wanted(SOURCES, INDEX_ROWS, "auto")] == ["id"]
    assert [index.column for index in wanted(CACHE, INDEX_ROWS, "auto")] == ["key"]
    assert wanted(CORPORA, INDEX_ROWS, "auto") == wanted(CHUNKS, 0, "auto") == wanted(CACHE, 9, "auto") == ()


@pytest.mark.parametrize("setting", FAMILIES)
def test_each_family_finds_the_nearest(uri: str, setting: VectorIndex) -> None:
    """A table indexed by any family returns the row that is asked for, and is not built twice."""
    store, rows = Store(uri, setting), chunks(ROWS)
    store.merge(CHUNKS, rows, "id")
    store.refresh_indexes(CHUNKS)

    built = next(index for index in store.figures(CHUNKS).indexes if index.name == "vector_idx")
    found = store.nearest(CHUNKS, ["id"], np.array(rows["vector"][5].as_py(), dtype=np.float32), "corpus = 'c'", 3)
    assert family(built) == setting
    assert found["id"][0].as_py() == "i5"
    assert store.refresh_indexes(CHUNKS) == 0


def test_a_changed_setting_is_carried_out_by_the_next_refresh(uri: str) -> None:
    """Another family replaces the index that is there; `flat` takes it away."""
    Store(uri).merge(CHUNKS, chunks(ROWS), "id")
    seen = []
    settings: tuple[VectorIndex, ...] = ("ivf_sq", "ivf_flat", "flat")
    for setting in settings:
        store = Store(uri, setting)
        store.refresh_indexes(CHUNKS)
        seen.append([family(index) for index in store.figures(CHUNKS).indexes if index.name == "vector_idx"])

    assert seen == [["ivf_sq"], ["ivf_flat"], []]


def test_a_narrow_filter_finds_all_its_rows(uri: str) -> None:
    """Rows that a filter leaves are found though they lie far from the query, in partitions nobody would look into."""
    store, rows = Store(uri, "ivf_flat"), chunks(6000)
    store.merge(CHUNKS, rows, "id")
    store.table(CHUNKS).create_index("vector", config=IvfFlat(distance_type="cosine", num_partitions=100))
    query = np.array(rows["vector"][0].as_py(), dtype=np.float32)

    found = store.nearest(CHUNKS, ["id"], -query, "id IN ('i0', 'i1', 'i2', 'i3')", 4)

    assert sorted(found["id"].to_pylist()) == ["i0", "i1", "i2", "i3"]
