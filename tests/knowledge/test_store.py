"""Commits under competition, indexes, and tables that cannot be read."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tenure.contracts.corpus import IngestRequest
from tenure.contracts.evidence import SearchRequest
from tenure.knowledge import store as store_module
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.errors import CorruptTable
from tenure.knowledge.schema import CACHE, CACHE_SCHEMA, SOURCES, chunks_table
from tenure.knowledge.store import Store
from tests.knowledge.conftest import Ingest
from tests.knowledge.word_vectors import WordVectors

_WRITER = """
import sys
import pyarrow as pa
from tenure.knowledge.schema import CACHE, CACHE_SCHEMA
from tenure.knowledge.store import Store

store, name = Store(sys.argv[1]), sys.argv[2]
for n in range(12):
    rows = [{"key": f"{name} {n} {i}", "model": name, "vector": [1.0]} for i in range(5)]
    store.merge(CACHE, pa.Table.from_pylist(rows, schema=CACHE_SCHEMA), "key")
    store.delete(CACHE, f"key = '{name} {n} 0'")
"""

_INGESTER = """
import sys
from tenure.contracts.corpus import IngestRequest
from tenure.knowledge.base import KnowledgeBase
from tests.knowledge.word_vectors import WordVectors

request = IngestRequest(corpus=sys.argv[3], paths=(sys.argv[2],))
KnowledgeBase(sys.argv[1], WordVectors()).ingest(request, lambda progress: None)
"""


def _run(program: str, *calls: tuple[str, ...]) -> list[tuple[int, bytes]]:
    """Run a program several times at once; return exit codes and all that was printed."""
    running = [
        subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for arguments in calls
    ]
    return [(process.wait(), output) for process in running for output in [process.communicate()[0]]]


def test_writers_of_several_processes_lose_nothing(uri: str) -> None:
    """Three processes that merge and delete in one table at once all see their commits through, in silence."""
    outcomes = _run(_WRITER, *((uri, name) for name in ("one", "two", "three")))
    rows = Store(uri).rows(CACHE, ["key"])["key"].to_pylist()

    assert outcomes == [(0, b"")] * 3
    assert sorted(
        f"{name} {n} {i}" for name in ("one", "two", "three") for n in range(12) for i in range(1, 5)
    ) == sorted(rows)


def test_processes_may_ingest_at_once(uri: str, docs: Path) -> None:
    """Ingestions of one corpus wait for each other, of two corpora go on together; each row is there once."""
    outcomes = _run(_INGESTER, (uri, str(docs), "c"), (uri, str(docs), "c"), (uri, str(docs), "d"))
    ids = Store(uri).rows(chunks_table(256), ["id"])["id"].to_pylist()
    one, two = KnowledgeBase(uri, WordVectors()).corpora()

    assert outcomes == [(0, b"")] * 3
    assert len(ids) == len(set(ids)) == one.chunks + two.chunks
    assert one.chunks == two.chunks


def test_a_reader_sees_what_another_process_wrote(knowledge: KnowledgeBase, uri: str, docs: Path) -> None:
    """An open knowledge base needs no reopening to see the commits of others."""
    assert knowledge.corpora() == ()
    _run(_INGESTER, (uri, str(docs), "c"))

    assert [stats.corpus for stats in knowledge.corpora()] == ["c"]
    assert knowledge.search(SearchRequest(query="bees", corpora=("c",))).passages


def test_a_damaged_table_is_named(ingest: Ingest, docs: Path, uri: str) -> None:
    """A table whose files are damaged gives one clear error, with its name and place."""
    ingest(docs)
    for manifest in Path(uri, f"{SOURCES}.lance").rglob("*.manifest"):
        manifest.write_bytes(b"not a manifest")

    with pytest.raises(CorruptTable, match=f"'{SOURCES}'"):
        KnowledgeBase(uri, WordVectors()).corpora()


def test_long_lists_of_ids_are_asked_in_parts(uri: str) -> None:
    """More ids than fit one condition are all found, with quotes in them."""
    store = Store(uri)
    keys = [f"it's {n}" for n in range(1200)]
    rows = [{"key": key, "model": "m", "vector": [1.0]} for key in keys]
    store.merge(CACHE, pa.Table.from_pylist(rows, schema=CACHE_SCHEMA), "key")

    assert sorted(keys) == sorted(store.rows_in(CACHE, ["key"], "key", keys)["key"].to_pylist())
    store.delete_in(CACHE, "key", keys[:700])
    assert store.count(CACHE) == 500


def test_a_large_table_is_searched_through_an_index(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, uri: str, model: WordVectors
) -> None:
    """From a certain size on there is a vector index, and new rows are found through it as well."""
    monkeypatch.setattr(store_module, "INDEX_ROWS", 300)
    folder = tmp_path / "many"
    folder.mkdir()
    random = np.random.default_rng(1)
    for n in range(320):
        words = " ".join(f"w{word}" for word in random.integers(0, 500, 30))
        (folder / f"{n}.txt").write_text(f"Document number{n} says {words}.", encoding="utf-8")
    knowledge = KnowledgeBase(uri, model)
    request = IngestRequest(corpus="c", paths=(str(folder),))
    knowledge.ingest(request, lambda progress: None)
    text = (folder / "17.txt").read_text(encoding="utf-8")
    (folder / "new.txt").write_text("Zebras graze where nobody counts them.", encoding="utf-8")
    knowledge.ingest(request, lambda progress: None)

    indexes = {index.name: index for index in Store(uri).table(chunks_table(256)).list_indices()}
    assert {"vector_idx", "search_text_idx", "id_idx", "source_id_idx", "corpus_idx"} == set(indexes)
    assert sum(index.num_unindexed_rows or 0 for index in indexes.values()) == 0
    for query, name in ((text, "17"), ("zebras graze", "new")):
        for mode in ("dense", "sparse"):
            request_ = SearchRequest.model_validate({"query": query, "corpora": ("c",), "mode": mode, "k": 1})
            [passage] = knowledge.passages(knowledge.search(request_).passages)
            assert name == Path(passage.uri).stem
