"""Test maintenance of real tables, and that it does not disturb readers."""

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from tenure.contracts.evidence.passages import SearchRequest
from tenure.contracts.knowledge.maintenance import UpkeepProgress
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.maintenance import Maintenance
from tenure.knowledge.store.errors import WorkCancelled
from tenure.knowledge.store.schema import CACHE, CACHE_SCHEMA, SOURCES
from tenure.knowledge.store.store import KEEP_VERSIONS, Store
from tenure.settings.knowledge import KnowledgeSettings
from tests.knowledge.conftest import Ingest
from tests.support.tiers import slow

AT_ONCE = timedelta(milliseconds=1)


def ignore(progress: UpkeepProgress) -> None:
    """Ignore the progress."""


def write(store: Store, times: int) -> None:
    """Commit single rows."""
    for n in range(times):
        rows = [{"key": str(n), "model": "m", "vector": [float(n)], "checksum": 0}]
        store.upsert(CACHE, pa.Table.from_pylist(rows, schema=CACHE_SCHEMA), "key")


def test_small_files_are_compacted_without_losing_rows(uri: str) -> None:
    """Commits of single rows end in one file with all rows."""
    store = Store(uri)
    write(store, 6)
    report = Maintenance(store, KnowledgeSettings()).run_step("compact", ignore)

    assert (report.step, report.processed, report.changed, report.failed_tables) == ("compact", 1, 5, ())
    assert (store.describe_table(CACHE).files, store.count_rows(CACHE)) == (1, 6)


@slow
def test_reader_of_an_old_version_survives_maintenance(
    knowledge: KnowledgeBase, ingest: Ingest, uri: str, docs: Path
) -> None:
    """A reader that opened a table before the maintenance reads the rows it opened."""
    ingest(docs)
    reader = Store(uri).open_table(SOURCES)
    reader.checkout(reader.version)
    before = sorted(reader.search().select(["uri", "text"]).to_arrow()["text"].to_pylist())
    for number in range(3):
        (docs / "bees.md").write_text(f"# Bees\n\nOther words {number}.\n", encoding="utf-8")
        ingest(docs)
    for step in ("compact", "index", "clean"):
        knowledge.maintenance.run_step(step, ignore)

    assert sorted(reader.search().select(["uri", "text"]).to_arrow()["text"].to_pylist()) == before
    assert knowledge.retrieval.search(SearchRequest(query="other words", corpora=("c",))).passages


def test_versions_are_kept_longer_than_the_longest_activity() -> None:
    """An ingestion may run for a day, and the version it opened must still exist at its end."""
    assert timedelta(hours=24) < KEEP_VERSIONS


def test_old_versions_are_removed_unless_tagged(uri: str) -> None:
    """A tagged version and all later ones stay; without a tag only the newest version stays."""
    store = Store(uri)
    write(store, 3)
    table = store.open_table(CACHE)
    table.tags.create("run-1", table.version)
    tagged = table.version
    write(store, 5)
    with_tag = Maintenance(store, KnowledgeSettings(), min_age=AT_ONCE).run_step("clean", ignore)
    kept = Store(uri).open_table(CACHE)
    kept.checkout("run-1")

    assert (with_tag.failed_tables, with_tag.changed, kept.version, kept.count_rows()) == ((), 0, tagged, 3)
    table.tags.delete("run-1")
    without = Maintenance(store, KnowledgeSettings(), min_age=AT_ONCE).run_step("clean", ignore)
    assert without.changed >= 6
    assert (store.describe_table(CACHE).versions, store.count_rows(CACHE)) == (1, 5)


def test_young_versions_are_kept(uri: str) -> None:
    """With the default age no version of this moment is removed."""
    store = Store(uri)
    write(store, 4)
    before = store.describe_table(CACHE).versions

    assert Maintenance(store, KnowledgeSettings()).run_step("clean", ignore).changed == 0
    assert store.describe_table(CACHE).versions >= before


@slow
def test_damaged_table_does_not_stop_maintenance(ingest: Ingest, uri: str, docs: Path) -> None:
    """Readable tables are maintained, and the report names the damaged one."""
    ingest(docs)
    for manifest in Path(uri, f"{SOURCES}.lance").rglob("*.manifest"):
        manifest.write_bytes(b"torn")
    report = Maintenance(Store(uri), KnowledgeSettings()).run_step("compact", ignore)

    assert report.processed == 8
    assert [SOURCES in line for line in report.failed_tables] == [True]


@slow
def test_maintenance_reports_progress_and_can_be_cancelled(uri: str, ingest: Ingest, docs: Path) -> None:
    """Each table is reported before it is maintained; no table is started after a cancellation."""
    ingest(docs)
    seen: list[UpkeepProgress] = []
    store = Store(uri)
    Maintenance(store, KnowledgeSettings()).run_step("index", seen.append)

    assert [(progress.table, progress.done) for progress in seen] == [
        ("chunks_256", 0),
        ("corpora", 1),
        ("embedding_cache", 2),
        ("entities", 3),
        ("graphs", 4),
        ("mentions", 5),
        ("relations", 6),
        ("sources", 7),
        ("statements", 8),
        ("", 9),
    ]
    with pytest.raises(WorkCancelled, match="after 1 of 9 tables"):
        Maintenance(store, KnowledgeSettings()).run_step(
            "index", seen.append, lambda: seen[-1].done == 1 and seen[-1].table != ""
        )
