"""Test reading the graphs of corpora from memory and from the tables."""

from pathlib import Path

import pyarrow as pa
import pytest

from tenure.knowledge.graph import corpus_graphs
from tenure.knowledge.graph.corpus_graphs import GraphReader, LoadedRows, StoredRows, open_graphs
from tenure.knowledge.graph.graph import refresh_graph
from tenure.knowledge.graph.walks import EntityGraph
from tenure.knowledge.store.schema import ENTITIES, GRAPHS, MENTIONS, MENTIONS_SCHEMA, RELATIONS
from tenure.knowledge.store.store import Store
from tests.knowledge.conftest import Ingest
from tests.support.tiers import slow

TEXTS = {
    "a": "In Ghent, an iron press was built. Ada Comb came to Ghent.",
    "b": "An iron press came from Ghent.",
    "c": "Nobody knew Ada Comb.",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three documents that name the same things."""
    made = tmp_path / "folder"
    made.mkdir()
    for name, text in TEXTS.items():
        (made / f"{name}.md").write_text(f"# Ada Comb {name}\n\n{text}\n", encoding="utf-8")
    return made


@slow
def test_graphs_in_memory_and_in_tables_are_equal(folder: Path, ingest: Ingest, uri: str) -> None:
    """Both readers give the same answers, and leave unknown keys out."""
    ingest(folder)
    store = Store(uri)
    chunks, names, pairs = (
        [*store.read_rows(table, [column])[column].to_pylist(), "unknown"]
        for table, column in ((MENTIONS, "id"), (ENTITIES, "name"), (RELATIONS, "pair"))
    )
    loaded, stored = GraphReader([LoadedRows(store, "c")]), GraphReader([StoredRows(store, ["c"])])

    assert len(chunks) == 4
    assert len(pairs) > 1
    assert loaded.load_passages(chunks) == stored.load_passages(chunks)
    assert loaded.load_entities(names) == stored.load_entities(names)
    assert loaded.load_terms(chunks) == stored.load_terms(chunks)
    assert loaded.load_titled(chunks) == stored.load_titled(chunks)
    assert loaded.load_pair_chunks(pairs) == stored.load_pair_chunks(pairs)
    assert "unknown" not in {*loaded.load_passages(chunks), *loaded.load_entities(names)}


@slow
def test_only_a_changed_graph_is_loaded_again(folder: Path, ingest: Ingest, uri: str) -> None:
    """An ingestion into one corpus leaves the loaded graph of another as it is."""
    ingest(folder)
    ingest(folder / "b.md", corpus="other")
    store = Store(uri)
    [old, kept] = open_graphs(store, ["other", "c"])
    (folder / "a.md").unlink()
    ingest(folder)

    [new, same] = open_graphs(store, ["c", "other"])
    assert same is kept
    assert new is not old
    assert len(GraphReader([new]).load_titled(store.read_rows(MENTIONS, ["id"])["id"].to_pylist())) == 2


@slow
def test_chunks_of_an_unfinished_ingestion_are_read_from_the_tables(folder: Path, ingest: Ingest, uri: str) -> None:
    """A chunk that is newer than the loaded graph has its links."""
    ingest(folder / "a.md", folder / "b.md")
    store = Store(uri)
    graph = EntityGraph(store, ["c"])
    assert graph.compute_title_share([]) == 0
    rows = store.read_rows(MENTIONS, MENTIONS_SCHEMA.names).slice(0, 1).to_pylist()
    new = pa.Table.from_pylist([rows[0] | {"id": "new", "named": True}], schema=MENTIONS_SCHEMA)
    open_graphs(store, ["c"])
    store.upsert(MENTIONS, new, "id")

    assert graph.compute_title_share(["new"]) == 1
    assert "new" in graph.walk("nothing known", {"new": 1.0}).shares
    assert len(graph.walk("nothing known", {"new": 1.0}).shares) > 1


@slow
def test_corpora_that_are_too_large_together_are_read_from_the_tables(
    folder: Path, ingest: Ingest, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The smallest graphs are kept in memory, and walks lead through all of them."""
    ingest(folder)
    ingest(folder / "b.md", corpus="other")
    store = Store(uri)
    start = dict.fromkeys(store.read_rows(MENTIONS, ["id"], "corpus = 'other'")["id"].to_pylist(), 1.0)
    whole = EntityGraph(store, ["c", "other"]).walk("nothing known", start).shares
    monkeypatch.setattr(corpus_graphs, "MAX_LOADED_CHUNKS", 3)

    [kept, stored] = open_graphs(store, ["c", "other"])
    assert [graph is kept for graph in open_graphs(store, ["c", "other"])] == [True, False]
    assert len(GraphReader([stored]).load_titled(store.read_rows(MENTIONS, ["id"])["id"].to_pylist())) == 3
    assert EntityGraph(store, ["c", "other"]).walk("nothing known", start).shares == pytest.approx(whole)
    assert len(whole) > 2


@slow
def test_a_graph_that_no_ingestion_has_finished_is_read_from_the_tables(folder: Path, ingest: Ingest, uri: str) -> None:
    """A corpus whose graph has no version is kept in memory only from its first version on."""
    ingest(folder)
    store = Store(uri)
    chunks = store.read_rows(MENTIONS, ["id"])["id"].to_pylist()
    store.delete_rows(GRAPHS, "true")

    [graph] = open_graphs(store, ["c"])
    [other] = open_graphs(store, ["c"])
    refresh_graph(store, "c")
    [kept] = open_graphs(store, ["c"])
    assert other is not graph
    assert open_graphs(store, ["c"]) == [kept]
    assert GraphReader([graph]).load_titled(chunks) == GraphReader([kept]).load_titled(chunks) != {}
