"""Test that the facts of runs become relations of the graph of their corpora, on a real store."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tenure.algorithms.memory.known_facts import collect_facts
from tenure.contracts.base import RunId, SourceId
from tenure.contracts.knowledge.graph import RelatedReply, RelatedRequest
from tenure.contracts.knowledge.memory import FactDetails, MemoriesRequest, RememberRequest
from tenure.contracts.result.result import Result, ResultCitation, ResultClaim, ResultSection, SourceEntry
from tenure.contracts.run.run import Usage
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.graph.facts import QuotedFact, add_facts
from tenure.knowledge.graph.graph import make_pair_key, refresh_graph
from tenure.knowledge.store import catalogue
from tenure.knowledge.store.schema import RELATIONS, STATEMENTS
from tenure.knowledge.store.store import Store
from tests.knowledge.conftest import Ingest
from tests.knowledge.word_vectors import WordVectors

NOW = datetime(2030, 1, 1, tzinfo=UTC)
FOUNDED = "The Bank of England was founded by William Paterson in 1694."
TEXT = f"# Money\n\nBanks lend money. {FOUNDED} It lends money to the state.\n"


@pytest.fixture
def money(tmp_path: Path, ingest: Ingest) -> Path:
    """One document in a corpus."""
    folder = tmp_path / "money"
    folder.mkdir()
    (folder / "money.md").write_text(TEXT, encoding="utf-8")
    ingest(folder)
    return folder


def report(uri: str, said: str = FOUNDED, quote: str = FOUNDED) -> Result:
    """Return the result of a run with one statement that quotes the document."""
    [source] = catalogue.list_source_ids(Store(uri), "c")
    start = TEXT.index(quote)
    citation = ResultCitation(source=1, start=start, end=start + len(quote), quote=quote)
    return Result(
        id=RunId("r"),
        mode="RESEARCH",
        question="Who founded the Bank of England?",
        title="Money",
        abstract="",
        sections=(
            ResultSection(
                topic="t",
                markdown="",
                claims=(ResultClaim(text=said, status="supported", citations=(citation,)),),
            ),
        ),
        sources=(SourceEntry(n=1, id=SourceId(source), uri="money.md", title="Money", accessed="2030"),),
        usage=Usage(),
        status="done",
    )


def keep(knowledge: KnowledgeBase, result: Result) -> None:
    """Store the facts of a run."""
    knowledge.memories.remember(RememberRequest(memories=collect_facts(result, ("c",)), now=NOW))


def related(knowledge: KnowledgeBase) -> RelatedReply:
    return knowledge.graph.find_relations(RelatedRequest(entity="Bank of England", corpora=("c",)))


def test_a_fact_of_a_run_is_a_relation_of_its_corpus(money: Path, knowledge: KnowledgeBase, uri: str) -> None:
    """The memory has subject, relation and object; the graph has them with the sentence, once."""
    for _ in range(2):
        keep(knowledge, report(uri))
    [memory] = knowledge.memories.list_page(MemoriesRequest()).memories
    reply = related(knowledge)

    fact = FactDetails(subject="Bank of England", predicate="was founded by", object="William Paterson")
    assert (memory.kind, memory.details) == ("semantic", fact)
    [relation] = [one for one in reply.relations if one.predicate == fact.predicate]
    assert (relation.subject, relation.object, relation.count) == (fact.subject, fact.object, 1)
    assert [one.sentence for one in relation.evidence] == [FOUNDED]
    refresh_graph(Store(uri), "c")
    pairs = Store(uri).read_rows(RELATIONS, ["pair"])["pair"].to_pylist()
    assert make_pair_key(fact.subject, fact.object) in pairs


def test_a_fact_needs_its_words_in_the_passage(
    money: Path, knowledge: KnowledgeBase, uri: str, model: WordVectors
) -> None:
    """A paraphrase with a name that the passage lacks, and a quote at another position, add nothing to the graph."""
    keep(knowledge, report(uri, said="The Old Lady of London was founded by William Paterson."))
    [new] = collect_facts(report(uri), ("c",))
    assert isinstance(new.details, FactDetails)
    moved = [quote.model_copy(update={"start": quote.start + 10_000}) for quote in new.quotes]
    store = Store(uri)

    assert add_facts(store, model.dimensions, []) == 0
    assert store.count_rows(STATEMENTS) == 0
    assert add_facts(store, model.dimensions, [QuotedFact(new.details, moved)]) == 0
    assert store.count_rows(STATEMENTS) == 0


def test_a_deleted_document_takes_its_relations_along(
    money: Path, knowledge: KnowledgeBase, uri: str, ingest: Ingest
) -> None:
    """The graph has no fact of a document that is gone."""
    keep(knowledge, report(uri))
    (money / "money.md").unlink()
    (money / "other.md").write_text("# Other\n\nNothing on banks.\n", encoding="utf-8")
    ingest(money)

    assert Store(uri).count_rows(STATEMENTS) == 0
