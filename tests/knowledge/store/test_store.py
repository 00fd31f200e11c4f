"""Commits under competition, indexes, and tables that cannot be read."""

import subprocess
import sys
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa
import pytest
from lancedb.index import FTS

from tenure.contracts.evidence.corpora import IngestRequest
from tenure.contracts.evidence.passages import SearchRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store import indexes
from tenure.knowledge.store.errors import CorruptTable
from tenure.knowledge.store.schema import (
    CACHE,
    CACHE_SCHEMA,
    FILTERABLE,
    SOURCES,
    SOURCES_SCHEMA,
    chunks_schema,
    chunks_table,
    key_of,
)
from tenure.knowledge.store.store import Store
from tests.conftest import slow_form
from tests.knowledge.conftest import Ingest
from tests.knowledge.word_vectors import WordVectors

_WRITER = """
import sys
import pyarrow as pa
from tenure.knowledge.store.schema import CACHE, CACHE_SCHEMA
from tenure.knowledge.store.store import Store

store, name = Store(sys.argv[1]), sys.argv[2]
store.table(CACHE)
print("ready", flush=True)
sys.stdin.readline()
for n in range(3):
    own = [{"key": f"{name} {n} {i}", "model": name, "vector": [1.0]} for i in range(3)]
    common = [{"key": f"common {n} {i}", "model": name, "vector": [1.0]} for i in range(3)]
    store.merge(CACHE, pa.Table.from_pylist(own + common, schema=CACHE_SCHEMA), "key")
    store.delete(CACHE, f"key = '{name} {n} 0'")
"""

_INGESTER = """
import sys
from tenure.contracts.evidence.corpora import IngestRequest
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


def _together(program: str, *calls: tuple[str, ...]) -> list[tuple[int, bytes]]:
    """Run a program several times, letting all go at the same moment once the last one says that it is ready."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    running = [subprocess.Popen([sys.executable, "-c", program, *call], **pipes) for call in calls]  # type: ignore[call-overload]
    for process in running:
        assert process.stdout.readline() == b"ready\n"
    for process in running:
        process.stdin.write(b"go\n")
        process.stdin.flush()
    return [(process.wait(), output) for process in running for output in [process.communicate()[0]]]


@pytest.mark.timeout(300)  # eight interpreters start on however few cores there are
def test_eight_writers_lose_nothing_and_write_nothing_twice(uri: str) -> None:
    """Eight processes that merge and delete in one table at once, also the same keys, leave each row there once."""
    names = [f"w{n}" for n in range(8)]
    Store(uri).table(CACHE)
    outcomes = _together(_WRITER, *((uri, name) for name in names))
    rows = Store(uri).rows(CACHE, ["key"])["key"].to_pylist()

    assert outcomes == [(0, b"")] * 8
    assert sorted(
        [f"{name} {n} {i}" for name in names for n in range(3) for i in (1, 2)]
        + [f"common {n} {i}" for n in range(3) for i in range(3)]
    ) == sorted(rows)


@slow_form
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
    monkeypatch.setattr(indexes, "INDEX_ROWS", 300)
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

    there = {index.name: index for index in Store(uri).figures(chunks_table(256)).indexes}
    filtered = {f"{field.column}_idx" for field in FILTERABLE.values()}
    assert {"vector_idx", "search_text_idx", "id_idx", "corpus_idx", *filtered} == set(there)
    assert sum(index.num_unindexed_rows or 0 for index in there.values()) == 0
    for query, name in ((text, "17"), ("zebras graze", "new")):
        for strategy in ("dense", "sparse"):
            request_ = SearchRequest.model_validate({"query": query, "corpora": ("c",), "strategy": strategy, "k": 1})
            [passage] = knowledge.passages(knowledge.search(request_).passages)
            assert name == Path(passage.uri).stem


def test_a_table_of_an_older_version_gains_its_columns_and_its_key(uri: str) -> None:
    """Rows written before a column existed stay, empty in it, and are merged by key with new ones without a vector."""
    schema = chunks_schema(2)
    old = pa.schema(
        [
            field.remove_metadata().with_nullable(False)
            for field in schema
            if field.name not in ("author", "published", "suffix")
        ]
    )
    values: dict[str, object] = {"ordinal": 0, "start": 0, "end": 3, "heading_path": [], "vector": [1.0, 0.0]}
    row = {name: values.get(name, "old") for name in schema.names}
    lancedb.connect(uri).create_table(chunks_table(2), pa.Table.from_pylist([row], schema=old))

    store = Store(uri)
    new = {**row, "id": "new", "suffix": ".md", "vector": None}
    store.merge(chunks_table(2), pa.Table.from_pylist([row, new], schema=schema), "id")
    rows = store.rows(chunks_table(2), ["id", "text", "suffix"]).sort_by("id").to_pylist()

    assert rows == [{"id": "new", "text": "old", "suffix": ".md"}, {"id": "old", "text": "old", "suffix": "old"}]
    assert key_of(store.table(chunks_table(2)).schema) == "id"
    assert store.count(chunks_table(2), "vector IS NULL") == 1


def test_sources_of_an_older_version_have_no_pages(uri: str) -> None:
    """A list that older rows lack is nothing in them."""
    old = pa.schema([field for field in SOURCES_SCHEMA if field.name != "pages"])
    row = {field.name: 0 if pa.types.is_integer(field.type) else "old" for field in old}
    lancedb.connect(uri).create_table(SOURCES, pa.Table.from_pylist([row], schema=old))

    assert Store(uri).rows(SOURCES, ["id", "pages"]).to_pylist() == [{"id": "old", "pages": None}]


def test_a_table_with_foreign_columns_is_refused(uri: str) -> None:
    """Something else under the name of a table is named as such, and left alone."""
    lancedb.connect(uri).create_table(SOURCES, pa.table({"id": ["a"], "colour": ["red"]}))

    with pytest.raises(CorruptTable, match="Nothing was changed"):
        Store(uri).rows(SOURCES, ["id"])
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
    """Quoted words alone have to follow each other; words count in any of their forms."""
    request = SearchRequest(query=query, corpora=("c",), strategy="sparse")
    passages = knowledge.passages(knowledge.search(request).passages)

    assert sorted(Path(passage.uri).stem for passage in passages) == found


def test_an_index_without_word_places_is_built_anew(phrases: Path, uri: str) -> None:
    """A full-text index of an older version, which knew no phrases, is replaced by the next refresh."""
    store = Store(uri)
    store.table(chunks_table(256)).create_index("search_text", config=FTS(with_position=False))

    assert store.refresh_indexes(chunks_table(256)) == 1
    assert store.refresh_indexes(chunks_table(256)) == 0
    assert store.matching(chunks_table(256), ["id"], '"quick brown fox"', "corpus = 'c'", 5).num_rows == 1


def test_a_small_table_is_read_anew_when_somebody_wrote_to_it(uri: str) -> None:
    """What is kept of a small table is as new as the table, whoever wrote to it."""
    reader, writer = Store(uri), Store(uri)
    seen = []
    for n in range(3):
        rows = [{"key": str(n), "model": "m", "vector": [1.0]}]
        writer.merge(CACHE, pa.Table.from_pylist(rows, schema=CACHE_SCHEMA), "key")
        seen += [reader.all_rows(CACHE, ["key"]).num_rows for _ in range(2)]

    assert seen == [1, 1, 2, 2, 3, 3]
