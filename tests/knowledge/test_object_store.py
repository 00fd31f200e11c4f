"""Test a knowledge base in an S3-compatible object store over HTTP."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.passages import SearchRequest
from tenure.files.file_store import build_storage_options
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.runs import ArchivedRuns
from tenure.knowledge.store.errors import StoreUnreachable
from tenure.knowledge.store.schema import CACHE, CACHE_SCHEMA
from tenure.knowledge.store.store import Store
from tests.knowledge.test_runs import run
from tests.knowledge.word_vectors import WordVectors
from tests.support.servers.object_store import object_store
from tests.support.tiers import exhaustive, slow

_WRITER = """
import sys
import pyarrow as pa
from tenure.knowledge.store.schema import CACHE, CACHE_SCHEMA
from tenure.knowledge.store.store import Store

store, name = Store(sys.argv[1]), sys.argv[2]
for n in range(3):
    rows = [{"key": key, "model": name, "vector": [1.0], "checksum": 0} for key in (f"{name} {n}", f"common {n}")]
    store.upsert(CACHE, pa.Table.from_pylist(rows, schema=CACHE_SCHEMA), "key")
"""


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run an object store with one bucket, configured by the variables that every S3 client reads."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_ENDPOINT", "AWS_ALLOW_HTTP"):
        monkeypatch.delenv(name, raising=False)
    with object_store("bucket") as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        yield "s3://bucket/knowledge"


@exhaustive
def test_object_store_supports_all_operations(bucket: str, docs: Path) -> None:
    """Ingestion, search, change, statistics, maintenance and deletion need no folder."""
    knowledge = KnowledgeBase(bucket, WordVectors())
    request = IngestRequest(corpus="c", paths=(str(docs),))
    first = knowledge.corpora.ingest(request, lambda progress: None)
    (docs / "bees.md").write_text("# Wasps\n\nWasps build nests of paper.\n", encoding="utf-8")
    second = knowledge.corpora.ingest(request, lambda progress: None)
    for step in ("compact", "index", "clean"):
        assert knowledge.maintenance.run_step(step, lambda progress: None).failed_tables == ()
    again = KnowledgeBase(bucket, WordVectors())
    (found,) = again.corpora.load_passages(
        again.retrieval.search(SearchRequest(query="nests of paper", corpora=("c",), k=1)).passages
    )

    assert (first.added, second.changed, second.unchanged) == (3, 1, 2)
    assert "Wasps" in found.text
    assert {table.table: table.rows for table in again.load_store_stats().tables}["sources"] == 3
    assert again.corpora.drop("c")
    assert again.corpora.load_stats() == ()


@slow
def test_finished_runs_are_archived_in_the_object_store(bucket: str) -> None:
    """A run is written once, found by its id and deleted, as in a folder."""
    assert ArchivedRuns.open(bucket) is None
    for _ in range(2):
        ArchivedRuns(Store(bucket)).save_run(run(1))
    archive = ArchivedRuns.open(bucket)

    assert archive is not None
    assert archive.find_run("it's a run") == run(1) and archive.find_executions(["e0", "e1"]) == {"e1"}
    archive.delete_runs(["e1"])
    assert archive.find_run("it's a run") is None


@slow
def test_writers_on_several_machines_lose_nothing(bucket: str) -> None:
    """Processes that share only the object store merge into one table without losing or duplicating a row."""
    Store(bucket).open_table(CACHE)
    names = ("one", "two", "three")
    running = [subprocess.Popen([sys.executable, "-c", _WRITER, bucket, name]) for name in names]

    assert [process.wait() for process in running] == [0, 0, 0]
    rows = Store(bucket).read_rows(CACHE, ["key"])["key"].to_pylist()
    assert sorted(f"{name} {n}" for name in (*names, "common") for n in range(3)) == sorted(rows)


@pytest.mark.parametrize(
    ("environment", "options"),
    [
        ({}, {}),
        ({"AWS_REGION": "us-west-2", "AWS_DEFAULT_REGION": "eu-west-1"}, {"region": "us-west-2"}),
        ({"AWS_DEFAULT_REGION": "eu-west-1"}, {"region": "eu-west-1"}),
        (
            {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"},
            {"endpoint": "http://127.0.0.1:9", "allow_http": "true"},
        ),
        (
            {"AWS_ENDPOINT_URL": "https://a.example", "AWS_ENDPOINT_URL_S3": "https://b.example"},
            {"endpoint": "https://b.example"},
        ),
    ],
)
def test_usual_variables_configure_the_object_store(environment: dict[str, str], options: dict[str, str]) -> None:
    """Region and endpoint come from the variables of other S3 clients; plain HTTP only if the endpoint uses it."""
    assert build_storage_options("s3://bucket/knowledge", environment) == options
    assert build_storage_options("folder", environment) == {}


@slow
def test_unreachable_object_store_raises_a_clear_error(monkeypatch: pytest.MonkeyPatch, bucket: str) -> None:
    """The error for a missing bucket is one line with the URI."""
    with pytest.raises(StoreUnreachable, match="s3://nowhere/knowledge") as caught:
        Store("s3://nowhere/knowledge").upsert(
            CACHE,
            pa.Table.from_pylist([{"key": "k", "model": "m", "vector": [1.0], "checksum": 0}], schema=CACHE_SCHEMA),
            "key",
        )
    assert "\n" not in str(caught.value)
