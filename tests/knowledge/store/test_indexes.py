"""Test which indexes are planned, and that every family of vector index finds the nearest rows."""

from pathlib import Path
from typing import get_args
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from lancedb.index import IvfFlat

from tenure.contracts.evidence.corpora import VectorIndex
from tenure.knowledge.store.indexes import (
    MIN_INDEXED_ROWS,
    MIN_KEYED_ROWS,
    MIN_TRAINING_ROWS,
    VECTOR_INDEX_FAMILIES,
    IndexSpec,
    choose_vector_family,
    parse_family,
    plan_indexes,
)
from tenure.knowledge.store.schema import (
    ANSWERS,
    CACHE,
    CORPORA,
    FILTER_COLUMNS,
    SOURCES,
    build_chunk_schema,
)
from tenure.knowledge.store.store import Store

CHUNKS = "chunks_32"
ROWS = 700


def chunks(rows: int) -> pa.Table:
    """Return chunks with random unit vectors and distinct words."""
    vectors = np.random.default_rng(7).standard_normal((rows, 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = "source_id corpus title uri kind text author published suffix version retired language".split()
    columns: dict[str, object] = {name: ["c"] * rows for name in texts}
    columns |= {"id": [f"i{n}" for n in range(rows)], "search_text": [f"word{n}" for n in range(rows)]}
    columns |= {"language_terms": [None] * rows}
    columns |= {"ordinal": range(rows), "start": [0] * rows, "end": [1] * rows, "heading_path": [[]] * rows}
    return pa.table(columns | {"vector": list(vectors)}, schema=build_chunk_schema(32))


def test_setting_lists_every_family() -> None:
    """Every value of the setting is a family that can be built, `flat` or `auto`."""
    assert set(get_args(VectorIndex)) == {"auto", "flat", *VECTOR_INDEX_FAMILIES}


@pytest.mark.parametrize(
    ("rows", "setting", "chosen"),
    [
        (MIN_INDEXED_ROWS - 1, "auto", "flat"),
        (MIN_INDEXED_ROWS, "auto", "ivf_rq"),
        (MIN_INDEXED_ROWS, "flat", "flat"),
        (MIN_TRAINING_ROWS, "ivf_pq", "ivf_pq"),
        (MIN_TRAINING_ROWS - 1, "ivf_pq", "flat"),
    ],
)
def test_family_depends_on_setting_and_size(rows: int, setting: VectorIndex, chosen: str) -> None:
    """By default large tables get IVF_RQ; otherwise the configured family as soon as it can be trained."""
    assert choose_vector_family(rows, setting) == chosen


def test_filter_columns_have_scalar_indexes() -> None:
    """Large tables have an index on each filter column, and other tables on their key."""
    columns = {index.column for index in plan_indexes(CHUNKS, MIN_INDEXED_ROWS, "flat")}

    assert columns == {
        "id",
        "corpus",
        "search_text",
        "language_terms",
        *(field.column for field in FILTER_COLUMNS.values()),
    }
    assert [index.column for index in plan_indexes(SOURCES, MIN_INDEXED_ROWS, "auto")] == ["id"]
    assert [index.column for index in plan_indexes(CACHE, MIN_INDEXED_ROWS, "auto")] == ["key"]
    assert [index.column for index in plan_indexes(ANSWERS, MIN_KEYED_ROWS, "auto")] == ["request"]
    assert [index.column for index in plan_indexes(CHUNKS, MIN_KEYED_ROWS, "auto")] == [
        "search_text",
        "language_terms",
        "id",
    ]
    assert (
        plan_indexes(CORPORA, MIN_INDEXED_ROWS, "auto")
        == plan_indexes(CHUNKS, 0, "auto")
        == plan_indexes(CACHE, 9, "auto")
        == ()
    )


@pytest.mark.parametrize("setting", VECTOR_INDEX_FAMILIES)
def test_each_family_finds_the_nearest(uri: str, setting: VectorIndex) -> None:
    """An index of any family returns the nearest row, and is not built twice."""
    store, rows = Store(uri, setting), chunks(ROWS)
    store.upsert(CHUNKS, rows, "id")
    store.refresh_indexes(CHUNKS)

    built = next(index for index in store.describe_table(CHUNKS).indexes if index.name == "vector_idx")
    found = store.search_vectors(
        CHUNKS, ["id"], np.array(rows["vector"][5].as_py(), dtype=np.float32), "corpus = 'c'", 3
    )
    assert parse_family(built.family) == setting
    assert found["id"][0].as_py() == "i5"
    assert store.refresh_indexes(CHUNKS) == 0


def test_vector_index_is_built_when_there_are_vectors(uri: str) -> None:
    """Rows that wait for their vectors get the other indexes, and the vector index after the vectors."""
    store, rows = Store(uri, "ivf_flat"), chunks(ROWS)
    absent = pa.nulls(ROWS, rows.schema.field("vector").type)
    store.upsert(
        CHUNKS, rows.set_column(rows.schema.get_field_index("vector"), rows.schema.field("vector"), absent), "id"
    )
    built = [store.refresh_indexes(CHUNKS)]
    store.update_columns(CHUNKS, rows.select(["id", "vector"]), "id")
    built.append(store.refresh_indexes(CHUNKS))
    found = store.search_vectors(CHUNKS, ["id"], np.array(rows["vector"][5].as_py(), dtype=np.float32), "", 3)

    assert built == [len(plan_indexes(CHUNKS, ROWS, "flat")), 1]
    assert found["id"][0].as_py() == "i5"


def test_index_of_an_unknown_family_is_replaced() -> None:
    """A vector index that another version of the database has made is built again."""
    present = mock.Mock(index_type="IvfNew")

    assert not IndexSpec("vector", IvfFlat(distance_type="cosine")).is_satisfied_by(present)


def test_changed_setting_takes_effect_at_the_next_refresh(uri: str) -> None:
    """Another family replaces the existing index; `flat` removes it."""
    Store(uri).upsert(CHUNKS, chunks(ROWS), "id")
    seen = []
    settings: tuple[VectorIndex, ...] = ("ivf_sq", "ivf_flat", "flat")
    for setting in settings:
        store = Store(uri, setting)
        store.refresh_indexes(CHUNKS)
        seen.append(
            [parse_family(index.family) for index in store.describe_table(CHUNKS).indexes if index.name == "vector_idx"]
        )

    assert seen == [["ivf_sq"], ["ivf_flat"], []]


def test_narrow_filter_finds_all_its_rows(uri: str) -> None:
    """Matching rows far from the query are found in all partitions."""
    store, rows = Store(uri, "ivf_flat"), chunks(6000)
    store.upsert(CHUNKS, rows, "id")
    store.open_table(CHUNKS).create_index("vector", config=IvfFlat(distance_type="cosine", num_partitions=100))
    query = np.array(rows["vector"][0].as_py(), dtype=np.float32)

    found = store.search_vectors(CHUNKS, ["id"], -query, "id IN ('i0', 'i1', 'i2', 'i3')", 4)

    assert sorted(found["id"].to_pylist()) == ["i0", "i1", "i2", "i3"]


@pytest.mark.parametrize(("commits", "files"), [(3, 3), (12, 1)])
def test_many_small_files_are_merged_before_the_first_indexes(tmp_path: Path, commits: int, files: int) -> None:
    """A large first ingestion leaves no small files, which slow searches down; a few of them are not copied."""
    store, table, part = Store(str(tmp_path)), "chunks_32", chunks(100)
    for number in range(commits):
        renamed = part.set_column(0, "id", pa.array([f"{number} {id}" for id in part["id"].to_pylist()]))
        store.open_table(table).add(renamed)
    built = store.refresh_indexes(table)

    assert built > 0 and store.describe_table(table).files == files
    assert store.count_rows(table) == 100 * commits
    assert not any(index.unindexed for index in store.describe_table(table).indexes)
