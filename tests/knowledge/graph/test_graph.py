"""The graph of a corpus: written with its chunks, kept in step with them, and walked."""

from pathlib import Path

import lancedb
import pytest

from tenure.contracts.evidence.passages import SearchRequest, Strategy
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.graph.graph import Graph
from tenure.knowledge.store.schema import ENTITIES, MENTIONS, RELATIONS, key_of
from tenure.knowledge.store.store import Store
from tests.knowledge.conftest import Ingest

PAGES = {
    "journal": ("Journal of Bee Science", "The Journal of Bee Science is a review issued by the Apiary Society."),
    "society": ("Apiary Society", "The Apiary Society was founded in a tavern. Its first president was Ada Comb."),
    "guild": ("Weavers Guild", "The Weavers Guild was founded in a barn. Its first president was Tom Loom."),
    "choir": ("Harbour Choir", "The Harbour Choir sings shanties on Sundays."),
}
QUESTION = "Who was the first president of what issues the Journal of Bee Science?"


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """A small encyclopaedia in which one page leads to another."""
    folder = tmp_path / "pages"
    folder.mkdir()
    for name, (title, text) in PAGES.items():
        (folder / f"{name}.md").write_text(f"# {title}\n\n{text}\n", encoding="utf-8")
    return folder


def _entities(uri: str) -> dict[str, tuple[int, int]]:
    rows = Store(uri).rows(ENTITIES, ["name", "titled_count", "mentioned_count"]).to_pylist()
    return {row["name"]: (row["titled_count"], row["mentioned_count"]) for row in rows}


def _titles(knowledge: KnowledgeBase, query: str, strategy: Strategy) -> list[str]:
    found = knowledge.search(SearchRequest(query=query, corpora=("c",), strategy=strategy)).passages
    return [passage.title for passage in knowledge.passages(found)]


def test_a_walk_finds_what_the_question_does_not_name(pages: Path, ingest: Ingest, knowledge: KnowledgeBase) -> None:
    """The page that a named page leads to stands before a page that is as like the question."""
    ingest(pages)

    for strategy in ("graph", "adaptive"):
        assert _titles(knowledge, QUESTION, strategy)[:2] == ["Journal of Bee Science", "Apiary Society"]


def test_a_passage_found_by_links_says_so(pages: Path, ingest: Ingest, knowledge: KnowledgeBase) -> None:
    """Passages carry their rank in the walk, and relevance means what it means in any search."""
    ingest(pages)
    walked = knowledge.search(SearchRequest(query=QUESTION, corpora=("c",), strategy="graph")).passages
    dense = knowledge.search(SearchRequest(query=QUESTION, corpora=("c",), strategy="dense")).passages

    assert walked[0].graph_rank == 1
    assert {ref.graph_rank for ref in dense} == {None}
    near = {ref.chunk: ref.relevance for ref in dense}
    assert near == pytest.approx({ref.chunk: ref.relevance for ref in walked}, abs=1e-5)


def test_entities_follow_the_files(pages: Path, ingest: Ingest, uri: str) -> None:
    """A changed file changes what its corpus names; a removed one takes its names with it."""
    ingest(pages)
    assert _entities(uri)["apiary society"] == (1, 2)

    (pages / "journal.md").write_text("# Journal of Bee Science\n\nIt is out of print.\n", encoding="utf-8")
    ingest(pages)
    assert _entities(uri)["apiary society"] == (1, 1)

    (pages / "society.md").unlink()
    ingest(pages)
    assert "apiary society" not in _entities(uri)
    assert Store(uri).count(MENTIONS) == 3


def test_what_an_older_version_called_relations_is_kept(
    pages: Path, ingest: Ingest, uri: str, knowledge: KnowledgeBase
) -> None:
    """A knowledge base of an older version is searched with its names, in the table of their present name."""
    ingest(pages)
    older = lancedb.connect(uri)
    rows = older.open_table(MENTIONS).to_arrow().drop_columns(["phrases", "beside"])
    older.drop_table(RELATIONS)
    older.create_table(RELATIONS, rows)
    older.drop_table(MENTIONS)

    assert Store(uri).count(MENTIONS) == rows.num_rows
    assert key_of(Store(uri).table(MENTIONS).schema) == "id"
    assert Store(uri).count(RELATIONS) == 0


def test_pairs_that_share_sentences_lead_from_one_passage_to_another(tmp_path: Path, ingest: Ingest, uri: str) -> None:
    """Two passages in which the same two things share a sentence are linked; relations follow the files."""
    for name, text in (
        ("a", "In Ghent, an iron press was built."),
        ("b", "An iron press came from Ghent."),
        ("c", "Rain."),
    ):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\n{text}\n", encoding="utf-8")
    files = [tmp_path / f"{name}.md" for name in "abc"]
    ingest(*files)
    [row] = Store(uri).rows(RELATIONS, ["pair", "count", "chunk_count", "chunks"]).to_pylist()

    assert (row["pair"], row["count"], row["chunk_count"]) == ("\tghent\tiron press\t", 2, 2)
    assert Graph(Store(uri), ["c"]).walk("no such thing", {row["chunks"][0]: 1.0}).keys() == set(row["chunks"])
    assert Graph(Store(uri), ["c"]).walk("an iron press", {}).keys() == set(row["chunks"])

    files[1].write_text("# b\n\nNothing.\n", encoding="utf-8")
    ingest(*files)
    assert Store(uri).count(RELATIONS) == 0


def test_a_dropped_corpus_leaves_no_names(pages: Path, ingest: Ingest, uri: str, knowledge: KnowledgeBase) -> None:
    """The graph of a corpus goes with it, and that of another stays."""
    ingest(pages)
    ingest(pages, corpus="other")
    before = Store(uri).count(ENTITIES)

    assert knowledge.drop("c")
    assert Store(uri).count(ENTITIES) == before / 2
    assert Store(uri).count(MENTIONS) == len(PAGES)


def test_corpora_are_walked_together(pages: Path, ingest: Ingest, uri: str) -> None:
    """A link may lead from one corpus into another when both are searched, and never when one is."""
    for corpus, page in (("a", "journal"), ("b", "society")):
        ingest(pages / f"{page}.md", corpus=corpus)
    [start] = Store(uri).rows(MENTIONS, ["id"], "corpus = 'a'")["id"].to_pylist()

    assert len(Graph(Store(uri), ["a", "b"]).walk(QUESTION, {start: 1.0})) == 2
    assert len(Graph(Store(uri), ["a"]).walk(QUESTION, {start: 1.0})) == 1


def test_a_corpus_without_names_is_searched_all_the_same(
    docs: Path, ingest: Ingest, uri: str, knowledge: KnowledgeBase
) -> None:
    """Where nothing is named, the walk stays where it began, and the order is that of the hybrid search."""
    ingest(docs)

    assert _titles(knowledge, "queen in winter", "graph") == _titles(knowledge, "queen in winter", "hybrid")
    assert Graph(Store(uri), ["c"]).walk("nothing known", {}) == {}
    assert Graph(Store(uri), ["c"]).encyclopaedic([]) == 0


def test_a_large_graph_is_read_around_the_walk(
    pages: Path, ingest: Ingest, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A graph that is too large to be kept in memory leads the same ways."""
    ingest(pages)
    start = {chunk: 1.0 for chunk in Store(uri).rows(MENTIONS, ["id"])["id"].to_pylist()[:1]}
    small = Graph(Store(uri), ["c"]).walk(QUESTION, start)
    monkeypatch.setattr("tenure.knowledge.graph.graph.INDEX_ROWS", 0)

    assert Graph(Store(uri), ["c"]).walk(QUESTION, start) == pytest.approx(small)
    assert Graph(Store(uri), ["c"]).encyclopaedic(list(small)) == 1
