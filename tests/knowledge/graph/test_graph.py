"""Test the graph of a corpus: construction, updates and walks."""

from pathlib import Path

import pytest

from tenure.contracts.choices import SearchMode
from tenure.contracts.evidence.passages import SearchRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.graph.walks import EntityGraph
from tenure.knowledge.store.schema import ENTITIES, MENTIONS, RELATIONS
from tenure.knowledge.store.store import Store
from tests.knowledge.conftest import Ingest
from tests.support.tiers import slow

PAGES = {
    "journal": ("Journal of Bee Science", "The Journal of Bee Science is a review issued by the Apiary Society."),
    "society": ("Apiary Society", "The Apiary Society was founded in a tavern. Its first president was Ada Comb."),
    "guild": ("Weavers Guild", "The Weavers Guild was founded in a barn. Its first president was Tom Loom."),
    "choir": ("Harbour Choir", "The Harbour Choir sings shanties on Sundays."),
}
QUESTION = "Who was the first president of what issues the Journal of Bee Science?"


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """Small encyclopaedia in which one page links to another."""
    folder = tmp_path / "pages"
    folder.mkdir()
    for name, (title, text) in PAGES.items():
        (folder / f"{name}.md").write_text(f"# {title}\n\n{text}\n", encoding="utf-8")
    return folder


def _entities(uri: str) -> dict[str, tuple[int, int]]:
    rows = Store(uri).read_rows(ENTITIES, ["name", "titled", "mentioned_count"]).to_pylist()
    return {row["name"]: (len(row["titled"]), row["mentioned_count"]) for row in rows}


def _titles(knowledge: KnowledgeBase, query: str, strategy: SearchMode) -> list[str]:
    found = knowledge.retrieval.search(SearchRequest(query=query, corpora=("c",), mode=strategy)).passages
    return [passage.title for passage in knowledge.corpora.load_passages(found)]


def test_walk_finds_pages_that_the_question_does_not_name(
    pages: Path, ingest: Ingest, knowledge: KnowledgeBase
) -> None:
    """A page linked from a named page ranks before a page that is as similar to the question."""
    ingest(pages)

    for strategy in ("graph", "adaptive"):
        assert _titles(knowledge, QUESTION, strategy)[:2] == ["Journal of Bee Science", "Apiary Society"]


def test_linked_passages_carry_their_graph_rank(pages: Path, ingest: Ingest, knowledge: KnowledgeBase) -> None:
    """Passages carry their rank in the walk, and their relevance is that of any search mode."""
    ingest(pages)
    walked = knowledge.retrieval.search(SearchRequest(query=QUESTION, corpora=("c",), mode="graph")).passages
    dense = knowledge.retrieval.search(SearchRequest(query=QUESTION, corpora=("c",), mode="dense")).passages

    assert walked[0].graph_rank == 1
    assert {ref.graph_rank for ref in dense} == {None}
    near = {ref.chunk: ref.relevance for ref in dense}
    assert near == pytest.approx({ref.chunk: ref.relevance for ref in walked}, abs=1e-5)


@slow
def test_entities_are_updated_with_the_files(pages: Path, ingest: Ingest, uri: str) -> None:
    """A changed file changes the entities of its corpus; a removed one removes them."""
    ingest(pages)
    assert _entities(uri)["apiary society"] == (1, 2)

    (pages / "journal.md").write_text("# Journal of Bee Science\n\nIt is out of print.\n", encoding="utf-8")
    ingest(pages)
    assert _entities(uri)["apiary society"] == (1, 1)

    (pages / "society.md").unlink()
    ingest(pages)
    assert "apiary society" not in _entities(uri)
    assert Store(uri).count_rows(MENTIONS) == 3


@slow
def test_shared_pairs_link_passages(tmp_path: Path, ingest: Ingest, uri: str) -> None:
    """Two passages whose sentences share the same pair are linked; relations are updated with the files."""
    for name, text in (
        ("a", "In Ghent, an iron press was built."),
        ("b", "An iron press came from Ghent."),
        ("c", "Rain."),
    ):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\n{text}\n", encoding="utf-8")
    files = [tmp_path / f"{name}.md" for name in "abc"]
    ingest(*files)
    [row] = Store(uri).read_rows(RELATIONS, ["pair", "chunks"]).to_pylist()

    assert (row["pair"], len(row["chunks"])) == ("\tghent\tiron press\t", 2)
    assert EntityGraph(Store(uri), ["c"]).walk("no such thing", {row["chunks"][0]: 1.0}).shares.keys() == set(
        row["chunks"]
    )
    assert EntityGraph(Store(uri), ["c"]).walk("an iron press", {}).shares.keys() == set(row["chunks"])

    files[1].write_text("# b\n\nNothing.\n", encoding="utf-8")
    ingest(*files)
    assert Store(uri).count_rows(RELATIONS) == 0


@slow
def test_dropping_a_corpus_deletes_its_graph(pages: Path, ingest: Ingest, uri: str, knowledge: KnowledgeBase) -> None:
    """The graphs of other corpora stay."""
    ingest(pages)
    ingest(pages, corpus="other")
    before = Store(uri).count_rows(ENTITIES)

    assert knowledge.corpora.drop("c")
    assert Store(uri).count_rows(ENTITIES) == before / 2
    assert Store(uri).count_rows(MENTIONS) == len(PAGES)


@slow
def test_walk_crosses_the_searched_corpora(pages: Path, ingest: Ingest, uri: str) -> None:
    """A link leads into another corpus only if both are searched."""
    for corpus, page in (("a", "journal"), ("b", "society")):
        ingest(pages / f"{page}.md", corpus=corpus)
    [start] = Store(uri).read_rows(MENTIONS, ["id"], "corpus = 'a'")["id"].to_pylist()

    assert len(EntityGraph(Store(uri), ["a", "b"]).walk(QUESTION, {start: 1.0}).shares) == 2
    assert len(EntityGraph(Store(uri), ["a"]).walk(QUESTION, {start: 1.0}).shares) == 1


@slow
def test_graph_search_without_entities_equals_hybrid_search(
    docs: Path, ingest: Ingest, uri: str, knowledge: KnowledgeBase
) -> None:
    """Without entities the walk stays at its start, and the order is that of the hybrid search."""
    ingest(docs)

    assert _titles(knowledge, "queen in winter", "graph") == _titles(knowledge, "queen in winter", "hybrid")
    assert EntityGraph(Store(uri), ["c"]).walk("nothing known", {}).shares == {}
    assert EntityGraph(Store(uri), ["c"]).compute_title_share([]) == 0


@slow
def test_large_graph_gives_the_same_walk(
    pages: Path, ingest: Ingest, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A graph that is too large for memory gives the same result."""
    ingest(pages)
    start = {chunk: 1.0 for chunk in Store(uri).read_rows(MENTIONS, ["id"])["id"].to_pylist()[:1]}
    small = EntityGraph(Store(uri), ["c"]).walk(QUESTION, start).shares
    monkeypatch.setattr("tenure.knowledge.graph.corpus_graphs.MAX_LOADED_CHUNKS", 0)

    assert EntityGraph(Store(uri), ["c"]).walk(QUESTION, start).shares == pytest.approx(small)
    assert EntityGraph(Store(uri), ["c"]).compute_title_share(list(small)) == 1
