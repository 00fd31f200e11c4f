"""Maintenance of real tables: what it does, what it leaves alone, and that nobody's reading suffers."""

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from tenure.contracts.evidence.passages import SearchRequest
from tenure.contracts.knowledge.maintenance import MaintenanceProgress
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.ingestion.ingest import never
from tenure.knowledge.maintenance import maintain
from tenure.knowledge.store.errors import MaintenanceCancelled
from tenure.knowledge.store.schema import CACHE, CACHE_SCHEMA, SOURCES
from tenure.knowledge.store.store import KEEP_VERSIONS, Store
from tests.knowledge.conftest import Ingest

AT_ONCE = timedelta(milliseconds=1)


def ignore(progress: MaintenanceProgress) -> None:
    """Hear nothing."""


def write(store: Store, times: int) -> None:
    """Commit single rows."""
    for n in range(times):
        rows = [{"key": str(n), "model": "m", "vector": [float(n)]}]
        store.merge(CACHE, pa.Table.from_pylist(rows, schema=CACHE_SCHEMA), "key")


def test_small_files_are_joined_and_no_row_is_lost(uri: str) -> None:
    """Many commits of a row each end in one file with all rows."""
    store = Store(uri)
    write(store, 6)
    report = maintain(store, "compact", ignore, never)

    assert (report.step, report.tables, report.changed, report.left) == ("compact", 1, 5, ())
    assert (store.figures(CACHE).files, store.count(CACHE)) == (1, 6)


def test_an_open_reader_of_an_old_version_still_reads_after_maintenance(
    knowledge: KnowledgeBase, ingest: Ingest, uri: str, docs: Path
) -> None:
    """Whoever opened a table before it was changed, compacted and cleaned reads the rows it opened."""
    ingest(docs)
    reader = Store(uri).table(SOURCES)
    reader.checkout(reader.version)
    before = sorted(reader.search().select(["uri", "text"]).to_arrow()["text"].to_pylist())
    for number in range(3):
        (docs / "bees.md").write_text(f"# Bees\n\nOther words {number}.\n", encoding="utf-8")
        ingest(docs)
    for step in ("compact", "index", "clean"):
        knowledge.maintain(step, ignore)

    assert sorted(reader.search().select(["uri", "text"]).to_arrow()["text"].to_pylist()) == before
    assert knowledge.search(SearchRequest(query="other words", corpora=("c",))).passages


def test_the_age_of_versions_that_go_is_above_the_longest_activity() -> None:
    """An ingestion may take a day; what it opened at its beginning is there at its end."""
    assert timedelta(hours=24) < KEEP_VERSIONS


def test_old_versions_go_unless_one_of_them_bears_a_tag(uri: str) -> None:
    """A tagged version stays readable, with all that are younger; without it only the newest version stays."""
    store = Store(uri)
    write(store, 3)
    table = store.table(CACHE)
    table.tags.create("run-1", table.version)
    tagged = table.version
    write(store, 5)
    with_tag = maintain(store, "clean", ignore, never, AT_ONCE)
    kept = Store(uri).table(CACHE)
    kept.checkout("run-1")

    assert (with_tag.left, with_tag.changed, kept.version, kept.count_rows()) == ((), 0, tagged, 3)
    table.tags.delete("run-1")
    without = maintain(store, "clean", ignore, never, AT_ONCE)
    assert without.changed >= 6
    assert (store.figures(CACHE).versions, store.count(CACHE)) == (1, 5)


def test_nothing_young_is_removed(uri: str) -> None:
    """With the age that maintenance really takes, versions of this moment all stay."""
    store = Store(uri)
    write(store, 4)
    before = store.figures(CACHE).versions

    assert maintain(store, "clean", ignore, never).changed == 0
    assert store.figures(CACHE).versions >= before


def test_a_torn_table_keeps_no_other_waiting(ingest: Ingest, uri: str, docs: Path) -> None:
    """Tables that can be read are maintained, and the report names the one that cannot."""
    ingest(docs)
    for manifest in Path(uri, f"{SOURCES}.lance").rglob("*.manifest"):
        manifest.write_bytes(b"torn")
    report = maintain(Store(uri), "compact", ignore, never)

    assert report.tables == 7
    assert [SOURCES in line for line in report.left] == [True]


def test_a_maintenance_tells_where_it_is_and_stops_when_told(uri: str, ingest: Ingest, docs: Path) -> None:
    """Each table is announced before it is touched; the next one is not begun after a cancellation."""
    ingest(docs)
    seen: list[MaintenanceProgress] = []
    store = Store(uri)
    maintain(store, "index", seen.append, never)

    assert [(progress.table, progress.done) for progress in seen] == [
        ("chunks_256", 0),
        ("corpora", 1),
        ("embedding_cache", 2),
        ("entities", 3),
        ("mentions", 4),
        ("relations", 5),
        ("sources", 6),
        ("statements", 7),
        ("", 8),
    ]
    with pytest.raises(MaintenanceCancelled, match="after 1 of 8 tables"):
        maintain(store, "index", seen.append, lambda: seen[-1].done == 1 and seen[-1].table != "")
