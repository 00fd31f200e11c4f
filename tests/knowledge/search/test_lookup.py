"""Terms in the whole of some sources, and results that are kept beside a corpus."""

from pathlib import Path

import pytest

from tenure.contracts.base import SourceId
from tenure.contracts.evidence.passages import SearchRequest
from tenure.contracts.research.tools import LookupReply, LookupRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.schema import source_id
from tenure.sources.parsers.tool_text import calculation_document
from tests.knowledge.conftest import Ingest

TERMS = {
    "a.md": "# Doughs\n\nBakers keep sourdough in a jar. Sourdough is cool.\n\n"
    "A sourdough is a dough that wild yeast has fermented.\n\n| dough | days |\n|---|---|\n| sourdough | 7 |\n",
    "b.md": "# Loaves\n\nSourdough loaves keep fresh. The rye is sown in autumn.\n",
}


@pytest.fixture
def folder(tmp_path: Path, ingest: Ingest) -> Path:
    """A folder with two documents on sourdough, ingested into the corpus c."""
    made = tmp_path / "terms"
    made.mkdir()
    for name, text in TERMS.items():
        (made / name).write_text(text, encoding="utf-8")
    ingest(made)
    return made


def looked_up(knowledge: KnowledgeBase, folder: Path, term: str, *names: str, most: int = 12) -> LookupReply:
    sources = tuple(source_id("c", str(folder / name)) for name in names or TERMS)
    return knowledge.lookup(LookupRequest(term=term, sources=sources, most=most))


def test_what_a_term_is_comes_first(folder: Path, knowledge: KnowledgeBase) -> None:
    """A definition is told before mentions, and these by source and place; a passage holds each of them."""
    reply = looked_up(knowledge, folder, "SOURDOUGH")
    said = [one.sentence for one in reply.found]
    passages = knowledge.passages([one.passage for one in reply.found])

    assert said[0] == "A sourdough is a dough that wild yeast has fermented."
    assert said[1] == "Bakers keep sourdough in a jar." and said[-1] == "Sourdough loaves keep fresh."
    assert reply.count == len(said)
    assert all(one in passage.text for one, passage in zip(said, passages, strict=True))


def test_only_the_named_sources_are_looked_through(folder: Path, knowledge: KnowledgeBase) -> None:
    """Sources that are not named say nothing, and no more sentences come than are wanted."""
    assert [one.sentence for one in looked_up(knowledge, folder, "sourdough", "b.md").found] == [
        "Sourdough loaves keep fresh."
    ]
    few = looked_up(knowledge, folder, "sourdough", most=1)
    assert (len(few.found), few.count > 1) == (1, True)
    assert looked_up(knowledge, folder, "glacier") == LookupReply()
    assert knowledge.lookup(LookupRequest(term="rye", sources=())) == LookupReply()


def test_a_term_in_a_table_is_found_by_its_row(folder: Path, knowledge: KnowledgeBase) -> None:
    """Where a term stands in no sentence of its passage, the line that has it is told."""
    assert [one.sentence for one in looked_up(knowledge, folder, "7").found] == ["| sourdough | 7 |"]


def test_a_result_is_kept_beside_its_corpus(folder: Path, knowledge: KnowledgeBase) -> None:
    """A result is cited as no document, no search finds it, repeating changes nothing, and it goes with the corpus."""
    document = calculation_document("Days", "3 + 4 = 7")
    kept = knowledge.keep_result("c", "calculation: 3 + 4", document, "How many days?")

    assert knowledge.keep_result("c", "calculation: 3 + 4", document, "How many days?") == kept
    (passage, *_) = knowledge.passages(kept)
    assert passage.text.startswith("Days: 3 + 4 = 7.") and passage.uri == "calculation: 3 + 4"
    found = knowledge.search(SearchRequest(query="Days: 3 + 4 = 7", corpora=("c",), k=50)).passages
    assert passage.source not in {one.source for one in found}
    known = knowledge.sources([passage.source, found[0].source])
    assert [known[one].derived for one in (passage.source, found[0].source)] == [True, False]
    assert knowledge.drop("c") and knowledge.sources([SourceId(passage.source)]) == {}
    assert catalogue.results_corpus("c") not in {one.corpus for one in knowledge.corpora()}
