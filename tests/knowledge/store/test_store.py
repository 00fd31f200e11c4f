"""Test concurrent commits, indexes, and damaged tables."""

import subprocess
import sys
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa
import pytest

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.passages import SearchRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store import indexes
from tenure.knowledge.store.errors import CorruptTable, ForeignTable
from tenure.knowledge.store.schema import (
    CACHE,
    CACHE_SCHEMA,
    FILTER_COLUMNS,
    SOURCES,
    build_chunk_table_name,
)
from tenure.knowledge.store.store import Store
from tests.knowledge.conftest import Ingest
from tests.knowledge.word_vectors import WordVectors
from tests.support.tiers import exhaustive, slow

_WRITER = """
import sys
import pyarrow as pa
from tenure.knowledge.store.schema import CACHE, CACHE_SCHEMA
from tenure.knowledge.store.store import Store

store, name = Store(sys.argv[1]), sys.argv[2]
store.open_table(CACHE)
print("ready", flush=True)
sys.stdin.readline()
for n in range(3):
    own = [{"key": f"{name} {n} {i}", "model": name, "vector": [1.0], "checksum": 0} for i in range(3)]
    common = [{"key": f"common {n} {i}", "model": name, "vector": [1.0], "checksum": 0} for i in range(3)]
    store.upsert(CACHE, pa.Table.from_pylist(own + common, schema=CACHE_SCHEMA), "key")
    store.delete_rows(CACHE, f"key = '{name} {n} 0'")
"""

_CREATOR = """
import sys
from tenure.knowledge.store.schema import SCHEMAS
from tenure.knowledge.store.store import Store

stores = [Store(uri) for uri in sys.argv[1:]]
print("ready", flush=True)
sys.stdin.readline()
for store in stores:
    for name in SCHEMAS:
        store.open_table(name)
"""

_INGESTER = """
import sys
from tenure.contracts.evidence.corpora import IngestRequest
from tenure.knowledge.base import KnowledgeBase
from tests.knowledge.word_vectors import WordVectors

request = IngestRequest(corpus=sys.argv[3], paths=(sys.argv[2],))
KnowledgeBase(sys.argv[1], WordVectors()).corpora.ingest(request, lambda progress: None)
"""


def _run(program: str, *calls: tuple[str, ...]) -> list[tuple[int, bytes]]:
    """Run a program several times concurrently; return exit codes and output."""
    running = [
        subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for arguments in calls
    ]
    return [(process.wait(), output) for process in running for output in [process.communicate()[0]]]


def _together(program: str, *calls: tuple[str, ...]) -> list[tuple[int, bytes]]:
    """Run a program several times, released together once all are ready."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    running = [subprocess.Popen([sys.executable, "-c", program, *call], **pipes) for call in calls]  # type: ignore[call-overload]
    for process in running:
        assert process.stdout.readline() == b"ready\n"
    for process in running:
        process.stdin.write(b"go\n")
        process.stdin.flush()
    return [(process.wait(), output) for process in running for output in [process.communicate()[0]]]


@slow
def test_eight_writers_lose_and_duplicate_nothing(uri: str) -> None:
    """Eight processes that upsert and delete in one table, also the same keys, leave each row once."""
    names = [f"w{n}" for n in range(8)]
    Store(uri).open_table(CACHE)
    outcomes = _together(_WRITER, *((uri, name) for name in names))
    rows = Store(uri).read_rows(CACHE, ["key"])["key"].to_pylist()

    assert outcomes == [(0, b"")] * 8
    assert sorted(
        [f"{name} {n} {i}" for name in names for n in range(3) for i in (1, 2)]
        + [f"common {n} {i}" for n in range(3) for i in range(3)]
    ) == sorted(rows)


@slow
def test_processes_create_the_same_tables_at_once(tmp_path: Path) -> None:
    """Workers that begin together in an empty home all open each table, of which one of them creates the files."""
    homes = tuple(str(tmp_path / str(number)) for number in range(5))

    assert _together(_CREATOR, homes, homes, homes) == [(0, b"")] * 3


@exhaustive
def test_processes_ingest_concurrently(uri: str, docs: Path) -> None:
    """Ingestions of one corpus wait for each other, those of two corpora do not; each row exists once."""
    outcomes = _run(_INGESTER, (uri, str(docs), "c"), (uri, str(docs), "c"), (uri, str(docs), "d"))
    ids = Store(uri).read_rows(build_chunk_table_name(256), ["id"])["id"].to_pylist()
    one, two = KnowledgeBase(uri, WordVectors()).corpora.load_stats()

    assert outcomes == [(0, b"")] * 3
    assert len(ids) == len(set(ids)) == one.chunks + two.chunks
    assert one.chunks == two.chunks


@slow
def test_reader_sees_commits_of_other_processes(knowledge: KnowledgeBase, uri: str, docs: Path) -> None:
    """An open knowledge base sees commits of other processes without reopening."""
    assert knowledge.corpora.load_stats() == ()
    _run(_INGESTER, (uri, str(docs), "c"))

    assert [stats.corpus for stats in knowledge.corpora.load_stats()] == ["c"]
    assert knowledge.retrieval.search(SearchRequest(query="bees", corpora=("c",))).passages


def test_damaged_table_raises_a_clear_error(ingest: Ingest, docs: Path, uri: str) -> None:
    """The error names the table and its location."""
    ingest(docs)
    for manifest in Path(uri, f"{SOURCES}.lance").rglob("*.manifest"):
        manifest.write_bytes(b"not a manifest")

    with pytest.raises(CorruptTable, match=f"'{SOURCES}'"):
        KnowledgeBase(uri, WordVectors()).corpora.load_stats()


def test_a_crash_of_the_database_means_a_damaged_table(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged manifest can crash the native part of the database, whose error is of an unknown class."""

    class RustPanic(Exception):
        pass

    def crash(self: object, where: str | None) -> int:
        raise RustPanic("rust future panicked: unknown error")

    store = Store(uri)
    monkeypatch.setattr(type(store.open_table(CACHE)), "count_rows", crash)

    with pytest.raises(CorruptTable, match="rust future panicked"):
        store.count_rows(CACHE)


def test_long_lists_of_ids_are_split(uri: str) -> None:
    """More ids than fit one condition are all found, also with quotes in them."""
    store = Store(uri)
    keys = [f"it's {n}" for n in range(1200)]
    rows = [{"key": key, "model": "m", "vector": [1.0], "checksum": 0} for key in keys]
    store.upsert(CACHE, pa.Table.from_pylist(rows, schema=CACHE_SCHEMA), "key")

    assert sorted(keys) == sorted(store.read_rows_in(CACHE, ["key"], "key", keys)["key"].to_pylist())
    store.delete_rows_in(CACHE, "key", keys[:700])
    assert store.count_rows(CACHE) == 500


@slow
def test_large_table_has_a_vector_index(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, uri: str, model: WordVectors
) -> None:
    """From a certain size on there is a vector index, which also covers new rows."""
    monkeypatch.setattr(indexes, "MIN_INDEXED_ROWS", 300)
    monkeypatch.setattr(indexes, "MIN_KEYED_ROWS", 300)
    folder = tmp_path / "many"
    folder.mkdir()
    random = np.random.default_rng(1)
    for n in range(320):
        words = " ".join(f"w{word}" for word in random.integers(0, 500, 30))
        (folder / f"{n}.txt").write_text(f"Document number{n} says {words}.", encoding="utf-8")
    knowledge = KnowledgeBase(uri, model)
    request = IngestRequest(corpus="c", paths=(str(folder),))
    knowledge.corpora.ingest(request, lambda progress: None)
    text = (folder / "17.txt").read_text(encoding="utf-8")
    (folder / "new.txt").write_text("Zebras graze where nobody counts them.", encoding="utf-8")
    knowledge.corpora.ingest(request, lambda progress: None)

    there = {index.name: index for index in Store(uri).describe_table(build_chunk_table_name(256)).indexes}
    filtered = {f"{field.column}_idx" for field in FILTER_COLUMNS.values()}
    texts = {"search_text_idx", "language_terms_idx"}
    assert {"vector_idx", "id_idx", "corpus_idx", *texts, *filtered} == set(there)
    assert sum(index.unindexed for index in there.values()) == 0
    for query, name in ((text, "17"), ("zebras graze", "new")):
        for strategy in ("dense", "sparse"):
            request_ = SearchRequest.model_validate({"query": query, "corpora": ("c",), "mode": strategy, "k": 1})
            [passage] = knowledge.corpora.load_passages(knowledge.retrieval.search(request_).passages)
            assert name == Path(passage.uri).stem


def test_derived_objects_are_kept_until_their_version_changes(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new version is derived again; the object that was unused for longest is dropped if all are too large."""
    monkeypatch.setattr("tenure.knowledge.store.store._MAX_DERIVED_ROWS", 10)
    store, derived = Store(uri), list[str]()

    def load(name: str, version: int, rows: int) -> int:
        def derive() -> int:
            derived.append(name)
            return version

        return store.load_derived(name, version, rows, derive)

    assert [load("a", 1, 6), load("a", 1, 6), load("b", 1, 4), load("a", 1, 6)] == [1, 1, 1, 1]
    assert derived == ["a", "b"]
    assert [load("a", 2, 6), load("c", 1, 4), load("a", 2, 6)] == [2, 1, 2]
    assert derived == ["a", "b", "a", "c"]
    assert load("b", 1, 4) == 1
    assert derived == ["a", "b", "a", "c", "b"]


def test_table_with_unexpected_columns_is_rejected(uri: str) -> None:
    """The error names the differences and the folder to move away; the table is left unchanged."""
    lancedb.connect(uri).create_table(SOURCES, pa.table({"id": ["a"], "colour": ["red"]}))

    with pytest.raises(ForeignTable, match="with colour") as caught:
        Store(uri).read_rows(SOURCES, ["id"])
    assert f"move the folder {uri} away" in str(caught.value)
    assert lancedb.connect(uri).open_table(SOURCES).schema.names == ["id", "colour"]


PHRASES = {
    "alpha": "The quick brown foxes jumped over a running dog.",
    "beta": "A brown thing and a quick fox.",
    "gamma": "Nothing of the kind.",
}


@pytest.fixture
def phrases(tmp_path: Path, ingest: Ingest) -> Path:
    """Three documents, two of them with the same words in another order."""
    folder = tmp_path / "phrases"
    folder.mkdir()
    for name, text in PHRASES.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    ingest(folder)
    return folder


@slow
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ('"quick brown fox"', ["alpha"]),
        ('"fox quick"', []),
        ("quick brown fox", ["alpha", "beta"]),
        ('jumps "brown fox"', ["alpha", "beta"]),
        ('"brown', ["alpha", "beta"]),
        ('"brown"', ["alpha", "beta"]),
        ('""', []),
        ("jumping dogs run", ["alpha"]),
    ],
)
def test_phrases_and_stems_are_found(phrases: Path, knowledge: KnowledgeBase, query: str, found: list[str]) -> None:
    """A quoted phrase alone must match in order; words match in any form."""
    request = SearchRequest(query=query, corpora=("c",), mode="sparse")
    passages = knowledge.corpora.load_passages(knowledge.retrieval.search(request).passages)

    assert sorted(Path(passage.uri).stem for passage in passages) == found


def test_cached_small_table_is_refreshed_after_a_write(uri: str) -> None:
    """The cached rows are current, whichever process wrote."""
    reader, writer = Store(uri), Store(uri)
    seen = []
    for n in range(3):
        rows = [{"key": str(n), "model": "m", "vector": [1.0], "checksum": 0}]
        writer.upsert(CACHE, pa.Table.from_pylist(rows, schema=CACHE_SCHEMA), "key")
        seen += [reader.read_small_table(CACHE, ["key"]).num_rows for _ in range(2)]

    assert seen == [1, 1, 2, 2, 3, 3]
