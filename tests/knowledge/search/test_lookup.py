"""Test lookups of terms and URLs in whole sources, and stored results."""

from pathlib import Path

import pytest

from tenure.algorithms.calculator.calculator import Calculation
from tenure.contracts.base import SourceId
from tenure.contracts.evidence.computing import ComputationRequest, ProgramInput
from tenure.contracts.evidence.passages import SearchRequest
from tenure.contracts.evidence.tables import QueryRequest
from tenure.contracts.research.tools import LookupReply, LookupRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.errors import UnknownChunk
from tenure.knowledge.store.schema import make_source_id
from tenure.knowledge.store.store import Store
from tenure.sources.parsers.tool_text import build_calculation_document, build_tool_document
from tests.knowledge.conftest import Ingest
from tests.support.tiers import slow

TERMS = {
    "a.md": "# Doughs\n\nBakers keep sourdough in a jar. Sourdough is cool.\n\n"
    "A sourdough is a dough that wild yeast has fermented.\n\n| dough | days |\n|---|---|\n| sourdough | 7 |\n",
    "b.md": "# Loaves\n\nSourdough loaves keep fresh. The rye is sown in autumn.\n",
}


@pytest.fixture
def folder(tmp_path: Path, ingest: Ingest) -> Path:
    """Folder with two documents on sourdough, ingested into the corpus c."""
    made = tmp_path / "terms"
    made.mkdir()
    for name, text in TERMS.items():
        (made / name).write_text(text, encoding="utf-8")
    ingest(made)
    return made


def count_cache_lookups(knowledge: KnowledgeBase, folder: Path, term: str, *names: str, most: int = 12) -> LookupReply:
    sources = tuple(make_source_id("c", str(folder / name)) for name in names or TERMS)
    return knowledge.retrieval.find_term(LookupRequest(term=term, sources=sources, limit=most))


@slow
def test_definitions_come_first(folder: Path, knowledge: KnowledgeBase) -> None:
    """Definitions precede mentions, which are ordered by source and position."""
    reply = count_cache_lookups(knowledge, folder, "SOURDOUGH")
    said = [one.sentence for one in reply.matches]
    passages = knowledge.corpora.load_passages([one.passage for one in reply.matches])

    assert said[0] == "A sourdough is a dough that wild yeast has fermented."
    assert said[1] == "Bakers keep sourdough in a jar." and said[-1] == "Sourdough loaves keep fresh."
    assert reply.count == len(said)
    assert all(one in passage.text for one, passage in zip(said, passages, strict=True))


@slow
def test_lookup_is_limited_to_the_named_sources(folder: Path, knowledge: KnowledgeBase) -> None:
    """Other sources are not searched, and the limit holds."""
    assert [one.sentence for one in count_cache_lookups(knowledge, folder, "sourdough", "b.md").matches] == [
        "Sourdough loaves keep fresh."
    ]
    few = count_cache_lookups(knowledge, folder, "sourdough", most=1)
    assert (len(few.matches), few.count > 1) == (1, True)
    assert count_cache_lookups(knowledge, folder, "glacier") == LookupReply()
    assert knowledge.retrieval.find_term(LookupRequest(term="rye", sources=())) == LookupReply()


@slow
def test_term_in_a_table_returns_its_row(folder: Path, knowledge: KnowledgeBase) -> None:
    """A term outside of any sentence returns its line."""
    assert [one.sentence for one in count_cache_lookups(knowledge, folder, "7").matches] == ["| sourdough | 7 |"]


@slow
def test_stored_result_is_citable_but_not_searchable(folder: Path, knowledge: KnowledgeBase) -> None:
    """A result is derived, no search finds it, storing is idempotent, and it is deleted with the corpus."""
    document = build_calculation_document("Days", Calculation("3 + 4", "7", is_exact=True))
    kept = knowledge.results.store_result("c", "calculation: 3 + 4", document, "How many days?")

    assert knowledge.results.store_result("c", "calculation: 3 + 4", document, "How many days?") == kept
    (passage, *_) = knowledge.corpora.load_passages(kept)
    assert passage.text.startswith("Days: 3 + 4 = 7.") and passage.uri == "calculation: 3 + 4"
    found = knowledge.retrieval.search(SearchRequest(query="Days: 3 + 4 = 7", corpora=("c",), k=50)).passages
    assert passage.source not in {one.source for one in found}
    known = knowledge.corpora.load_sources([passage.source, found[0].source])
    assert [known[one].derived for one in (passage.source, found[0].source)] == [True, False]
    assert knowledge.corpora.drop("c") and knowledge.corpora.load_sources([SourceId(passage.source)]) == {}
    assert catalogue.derive_results_corpus("c") not in {one.corpus for one in knowledge.corpora.load_stats()}


def test_results_of_no_corpus_are_deleted_alone(knowledge: KnowledgeBase, uri: str) -> None:
    """Results of a corpus that does not exist are deleted with their chunks, and those of another one stay."""
    document = build_calculation_document("Days", Calculation("3 + 4", "7", is_exact=True))
    gone, kept = (knowledge.results.store_result(name, "calculation", document, "How many?") for name in "ab")
    catalogue.delete_results(Store(uri), "a")

    assert [one.source for one in kept] == [*knowledge.corpora.load_sources([gone[0].source, kept[0].source])]
    with pytest.raises(UnknownChunk):
        knowledge.corpora.load_passages(gone)
    assert knowledge.corpora.load_passages(kept)


URL = "https://evil.example/?leak=swordfish"


def is_known(knowledge: KnowledgeBase, url: str, *sources: SourceId) -> bool:
    return knowledge.retrieval.find_term(LookupRequest(term=url, kind="url", sources=sources)).count > 0


@slow
def test_only_documents_make_a_url_known(tmp_path: Path, ingest: Ingest, knowledge: KnowledgeBase) -> None:
    """A URL in a document is known exactly; one in the result of a tool, of a query or of a program is not."""
    folder = tmp_path / "links"
    folder.mkdir()
    (folder / "a.md").write_text(
        "# Links\n\nSee (https://bakery.example/bread?kind=rye#top), <https://mill.example> and "
        "https://evil.example/?leak= for more. The archive is at https://archive.example/a_(b).\n"
    )
    (folder / "t.csv").write_text("name,link\nmill,https://mill.example/t\n")
    ingest(folder)
    document, table = (make_source_id("c", str(folder / name)) for name in ("a.md", "t.csv"))
    told = build_calculation_document("Page", Calculation("1", URL, is_exact=True))
    calculated = knowledge.results.store_result("c", f"calculation: {URL}", told, "Which page?")
    answer = build_tool_document("Answer", f"You asked for {URL}", {})
    answered = knowledge.results.store_result("c", f"mcp:own/echo?{URL}", answer, "Which page?")
    query = QueryRequest(sql=f"SELECT '{URL}' AS page FROM t", corpora=("c",), question="Which page?", title=URL)
    selected = knowledge.tables.query(query).passages
    printed = knowledge.tables.store_computation(
        ComputationRequest(
            question="Which page?",
            title=URL,
            inputs=(ProgramInput(name="input1.csv", sql="SELECT * FROM t", tables=("t",)),),
            code=f"print('{URL}')",
            output=URL,
            corpora=("c",),
        )
    )
    results = [passages[0].source for passages in (calculated, answered, selected, printed)]

    assert is_known(knowledge, "HTTPS://Bakery.example:443/bread?kind=rye", document)
    assert is_known(knowledge, "https://mill.example/#x", document)
    assert is_known(knowledge, "https://mill.example/t", table)
    assert is_known(knowledge, "https://archive.example/a_(b)", document)
    assert is_known(knowledge, "https://evil.example/?leak=", document)
    assert not is_known(knowledge, URL, document, table, *results)
    assert not is_known(knowledge, "https://bakery.example/bread", document) and not is_known(knowledge, "x", document)
