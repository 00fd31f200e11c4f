"""Test the search modes against each other: each ranks in its own order, and one without its means says so."""

from pathlib import Path

import pytest

from tenure.contracts.choices import SearchMode
from tenure.contracts.evidence.passages import SearchReply, SearchRequest
from tenure.knowledge.base import KnowledgeBase
from tests.knowledge.conftest import Ingest

PAGES = {
    "Journal of Bee Science": "The Journal of Bee Science is a review issued by the Apiary Society.",
    "Apiary Society": "The Apiary Society was founded in a tavern. Its first president was Ada Comb.",
    "Weavers Guild": "The Weavers Guild was founded in a barn. Its first president was Loom.",
    "Harbour Choir": "The Harbour Choir sings shanties on Sundays.",
    "Honeybees": "Who keeps bees issues what bees need. "
    + "Who first keeps bees keeps a journal of bees, of honey and of the first bloom.",
    "Presidents": "Presidents issue what presidents issued first, and presidencies issue presidents.",
}
QUESTION = "Who was the first president of what issues the Journal of Bee Science?"
ORDERS: dict[SearchMode, str] = {
    "dense": "Journal Honeybees Weavers Apiary Harbour Presidents",
    "sparse": "Journal Honeybees Presidents Weavers Apiary",
    "rrf": "Journal Honeybees Weavers Presidents Apiary Harbour",
    "hybrid": "Journal Honeybees Weavers Apiary Presidents Harbour",
    "graph": "Journal Apiary Honeybees Weavers Presidents Harbour",
    "adaptive": "Journal Apiary Honeybees Weavers Presidents Harbour",
}
"""First words of the titles, in the order of each mode."""


def write_pages(folder: Path, pages: dict[str, str]) -> Path:
    """Write one file for each page and return the folder."""
    folder.mkdir()
    for number, (title, text) in enumerate(pages.items()):
        (folder / f"{number}.md").write_text(f"# {title}\n\n{text}\n", encoding="utf-8")
    return folder


def search(knowledge: KnowledgeBase, query: str, mode: SearchMode) -> tuple[str, SearchReply]:
    """Return the first words of the titles that a search finds, and its reply."""
    reply = knowledge.retrieval.search(SearchRequest(query=query, corpora=("c",), mode=mode))
    return " ".join(one.title.split()[0] for one in knowledge.corpora.load_passages(reply.passages)), reply


@pytest.mark.parametrize("mode", ORDERS)
def test_each_mode_ranks_in_its_own_order(
    tmp_path: Path, ingest: Ingest, knowledge: KnowledgeBase, mode: SearchMode
) -> None:
    """No two modes rank alike, except that `adaptive` follows links here; none reports missing links."""
    ingest(write_pages(tmp_path / "pages", PAGES))

    order, reply = search(knowledge, QUESTION, mode)

    assert order == ORDERS[mode]
    assert not reply.lacks_links
    assert len(set(ORDERS.values())) == len(ORDERS) - 1


def test_a_search_along_links_without_links_says_so(tmp_path: Path, ingest: Ingest, knowledge: KnowledgeBase) -> None:
    """It ranks like `hybrid` and reports it; an adaptive search does not, since it never promised links."""
    ingest(write_pages(tmp_path / "pages", {"rain": "It rained at dawn.", "snow": "It snowed and rained at dusk."}))

    along, reply = search(knowledge, "when has it rained", "graph")

    assert along == search(knowledge, "when has it rained", "hybrid")[0]
    assert reply.passages and reply.lacks_links
    assert not search(knowledge, "when has it rained", "adaptive")[1].lacks_links
