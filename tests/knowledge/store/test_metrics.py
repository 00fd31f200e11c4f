"""Test the counters of searches and cache lookups."""

import subprocess
import sys
from pathlib import Path

import pytest

from tenure.contracts.evidence.corpora import CacheStats, IngestRequest
from tenure.contracts.evidence.passages import SearchRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store import metrics as meter_module
from tenure.knowledge.store.metrics import SearchMetrics
from tests.knowledge.word_vectors import WordVectors
from tests.support.tiers import slow

_COUNTER = """
import sys
from pathlib import Path
from tenure.knowledge.store.metrics import SearchMetrics

metrics = SearchMetrics(Path(sys.argv[1]))
for _ in range(50):
    metrics.count_search("dense", 0.001)
    metrics.count_cache_lookups(1, 2)
"""


@pytest.fixture
def metrics(tmp_path: Path) -> SearchMetrics:
    """Metrics in a folder that does not exist yet."""
    return SearchMetrics(tmp_path / "home" / "searches.db")


def test_new_metrics_are_empty(metrics: SearchMetrics) -> None:
    """Before the first search there are no statistics."""
    assert (metrics.load_search_stats(), metrics.load_cache_stats(), metrics.load_cache_stats().rate) == (
        (),
        CacheStats(),
        None,
    )


def test_searches_are_counted_by_mode(metrics: SearchMetrics) -> None:
    """Count and mean cover all searches of a mode; the percentile shows the slow ones."""
    for milliseconds in range(1, 101):
        metrics.count_search("hybrid", milliseconds / 1000)
    metrics.count_search("dense", 0.007)
    dense, hybrid = metrics.load_search_stats()

    assert (dense.mode, dense.count, dense.mean_ms, dense.p95_ms) == ("dense", 1, 7.0, 7.0)
    assert (hybrid.mode, hybrid.count) == ("hybrid", 100)
    assert (hybrid.mean_ms, hybrid.p95_ms) == pytest.approx((50.5, 95.05))


@pytest.mark.parametrize("damage", ["overwritten", "half"])
def test_a_damaged_file_is_replaced(tmp_path: Path, damage: str) -> None:
    """Counting starts again in an empty file, and the damaged one is kept under another name."""
    path = tmp_path / "searches.db"
    first = SearchMetrics(path)
    for _ in range(300):
        first.count_search("dense", 0.001)
    content = path.read_bytes()
    path.write_bytes(b"x" * len(content) if damage == "overwritten" else content[: len(content) // 2])
    metrics = SearchMetrics(path)
    metrics.count_search("dense", 0.001)
    metrics.count_search("dense", 0.001)

    assert [stats.count for stats in metrics.load_search_stats()] == [1]
    assert path.with_name("searches.db.damaged").exists()


def test_percentile_covers_the_latest_searches(metrics: SearchMetrics, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches of other modes do not displace them."""
    monkeypatch.setattr(meter_module, "MAX_RECENT_SEARCHES", 10)
    for _ in range(20):
        metrics.count_search("dense", 1.0)
    for _ in range(10):
        metrics.count_search("dense", 0.001)
        metrics.count_search("sparse", 0.002)
    dense, sparse = metrics.load_search_stats()

    assert (dense.count, dense.p95_ms, sparse.p95_ms) == (30, 1.0, 2.0)


@slow
def test_counts_of_several_processes_add_up(metrics: SearchMetrics, tmp_path: Path) -> None:
    """Counts of other processes are included, also after these have ended."""
    metrics.count_search("dense", 0.001)
    file = str(tmp_path / "home" / "searches.db")
    running = [subprocess.Popen([sys.executable, "-c", _COUNTER, file]) for _ in range(2)]

    assert [process.wait() for process in running] == [0, 0]
    assert [(query.mode, query.count) for query in metrics.load_search_stats()] == [("dense", 101)]
    assert (metrics.load_cache_stats().hits, metrics.load_cache_stats().misses) == (100, 200)


def test_a_file_of_another_kind_does_not_fail_a_search(tmp_path: Path) -> None:
    """A file that is no database is kept under another name."""
    (tmp_path / "searches.db").write_bytes(b"not a database, but long enough to look like a header of one" * 20)
    broken = SearchMetrics(tmp_path / "searches.db")

    broken.count_search("dense", 0.001)
    broken.count_cache_lookups(1, 1)
    assert (tmp_path / "searches.db.damaged").read_bytes().startswith(b"not a database")


def test_unwritable_statistics_do_not_fail_a_search(tmp_path: Path) -> None:
    """Nothing is counted, and the existing folder is left unchanged."""
    (tmp_path / "searches.db").mkdir()
    broken = SearchMetrics(tmp_path / "searches.db")

    broken.count_search("dense", 0.001)
    broken.count_cache_lookups(1, 1)
    assert (tmp_path / "searches.db").is_dir()


@slow
def test_knowledge_base_counts_searches_and_cache_hits(uri: str, docs: Path, metrics: SearchMetrics) -> None:
    """Vectors of another corpus are hits, each search counts once, and table sizes are reported."""
    knowledge = KnowledgeBase(uri, WordVectors(), metrics=metrics)
    for corpus in ("one", "two"):
        knowledge.corpora.ingest(IngestRequest(corpus=corpus, paths=(str(docs),)), lambda progress: None)
    knowledge.retrieval.search(SearchRequest(query="bees", corpora=("one",)))
    knowledge.retrieval.search(SearchRequest(query="bread", corpora=("two",), mode="sparse"))
    stats = knowledge.load_store_stats()

    assert [(query.mode, query.count) for query in stats.queries] == [("adaptive", 1), ("sparse", 1)]
    assert stats.cache.rate == 0.5
    held = {table.table: table for table in stats.tables}
    chunks = sum(corpus.chunks for corpus in knowledge.corpora.load_stats())
    assert held["sources"].rows == 6
    assert held["chunks_256"].rows == chunks == stats.cache.hits + stats.cache.misses
    assert all((table.size > 0 or not table.rows) and table.versions > 0 for table in stats.tables)
    texts = {index.name: index for index in held["chunks_256"].indexes}
    assert texts.keys() == {"search_text_idx", "language_terms_idx"}
    assert all((text.family, text.rows, text.unindexed) == ("FTS", chunks, 0) for text in texts.values())
    assert all(text.size > 0 for text in texts.values())
