"""What is counted of searches and vectors, over processes and whatever happens to the file."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.contracts.evidence.corpora import CacheStats, IngestRequest
from tenure.contracts.evidence.passages import SearchRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store import metrics as meter_module
from tenure.knowledge.store.metrics import Meter
from tests.knowledge.word_vectors import WordVectors

_COUNTER = """
import sys
from pathlib import Path
from tenure.knowledge.store.metrics import Meter

meter = Meter(Path(sys.argv[1]))
for _ in range(50):
    meter.searched("dense", 0.001)
    meter.looked_up(1, 2)
"""


@pytest.fixture
def meter(tmp_path: Path) -> Iterator[Meter]:
    """A meter whose folder is not there yet."""
    found = Meter(tmp_path / "home" / "searches.db")
    yield found
    found.close()


def test_nothing_is_known_of_nothing(meter: Meter) -> None:
    """Before the first search there are no figures, and no rate."""
    assert (meter.queries(), meter.cache(), meter.cache().rate) == ((), CacheStats(), None)


def test_searches_are_counted_by_kind(meter: Meter) -> None:
    """Count and mean are of all searches, the percentile tells how slow the slow ones are."""
    for milliseconds in range(1, 101):
        meter.searched("hybrid", milliseconds / 1000)
    meter.searched("dense", 0.007)
    dense, hybrid = meter.queries()

    assert (dense.mode, dense.count, dense.mean_ms, dense.p95_ms) == ("dense", 1, 7.0, 7.0)
    assert (hybrid.mode, hybrid.count) == ("hybrid", 100)
    assert (hybrid.mean_ms, hybrid.p95_ms) == pytest.approx((50.5, 95.05))


def test_old_times_make_room(meter: Meter, monkeypatch: pytest.MonkeyPatch) -> None:
    """The percentile is of the latest searches of a kind; those of other kinds do not push them out."""
    monkeypatch.setattr(meter_module, "LATEST", 10)
    for _ in range(20):
        meter.searched("dense", 1.0)
    for _ in range(10):
        meter.searched("dense", 0.001)
        meter.searched("sparse", 0.002)
    dense, sparse = meter.queries()

    assert (dense.count, dense.p95_ms, sparse.p95_ms) == (30, 1.0, 2.0)


def test_counts_of_several_processes_add_up(meter: Meter, tmp_path: Path) -> None:
    """What other processes count meanwhile is there, and stays after they have gone."""
    meter.searched("dense", 0.001)
    file = str(tmp_path / "home" / "searches.db")
    running = [subprocess.Popen([sys.executable, "-c", _COUNTER, file]) for _ in range(2)]

    assert [process.wait() for process in running] == [0, 0]
    assert [(query.mode, query.count) for query in meter.queries()] == [("dense", 101)]
    assert (meter.cache().hits, meter.cache().misses) == (100, 200)


def test_a_search_survives_the_loss_of_its_statistics(tmp_path: Path) -> None:
    """A file that is no database is left alone, and what happens is not counted."""
    (tmp_path / "searches.db").write_bytes(b"not a database, but long enough to look like a header of one" * 20)
    broken = Meter(tmp_path / "searches.db")

    broken.searched("dense", 0.001)
    broken.looked_up(1, 1)
    assert (tmp_path / "searches.db").read_bytes().startswith(b"not a database")


def test_the_knowledge_base_counts_what_it_does(uri: str, docs: Path, meter: Meter) -> None:
    """Vectors known from another corpus are hits, each search counts once, and tables tell what they hold."""
    knowledge = KnowledgeBase(uri, WordVectors(), meter=meter)
    for corpus in ("one", "two"):
        knowledge.ingest(IngestRequest(corpus=corpus, paths=(str(docs),)), lambda progress: None)
    knowledge.search(SearchRequest(query="bees", corpora=("one",)))
    knowledge.search(SearchRequest(query="bread", corpora=("two",), strategy="sparse"))
    stats = knowledge.stats()

    assert [(query.mode, query.count) for query in stats.queries] == [("adaptive", 1), ("sparse", 1)]
    assert stats.cache.rate == 0.5
    held = {table.table: table for table in stats.tables}
    chunks = sum(corpus.chunks for corpus in knowledge.corpora())
    assert held["sources"].rows == 6
    assert held["chunks_256"].rows == chunks == stats.cache.hits + stats.cache.misses
    assert all((table.size > 0 or not table.rows) and table.versions > 0 for table in stats.tables)
    (text,) = held["chunks_256"].indexes
    assert (text.name, text.family, text.rows, text.unindexed) == ("search_text_idx", "FTS", chunks, 0)
    assert text.size > 0
