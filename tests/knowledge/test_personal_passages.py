"""Test statements of a person as passages that a report can cite."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tenure.contracts.base import RunId
from tenure.contracts.evidence.passages import SearchRequest
from tenure.contracts.knowledge.memory import (
    ForgetRequest,
    MemoryOrigin,
    MemorySearchRequest,
    NewMemory,
    RememberRequest,
    WriteMemoryRequest,
    is_personal,
)
from tenure.contracts.research.learning import Experience, ExperienceRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.experience import recall_experience
from tests.knowledge.conftest import Ingest

NOW = datetime(2030, 1, 2, tzinfo=UTC)
QUESTION = "Who owns the oven, and what is done if the oven is cold?"
FACT = "The oven is owned by the Orion team."
PROCEDURE = "If the oven is cold, first check the fuse, then call Orion."


def tell(knowledge: KnowledgeBase, *texts: str) -> list[str]:
    """Write memories as a person; return their ids."""
    replies = [knowledge.memories.write(WriteMemoryRequest(text=text, now=NOW)) for text in texts]
    return [reply.memory.id for reply in replies if reply.memory]


def recall(knowledge: KnowledgeBase, corpus: str = "c") -> Experience:
    """Return the experience of a run that reads a corpus."""
    search = MemorySearchRequest(query=QUESTION, corpora=("c",), now=NOW + timedelta(days=1), min_relevance=0)
    request = ExperienceRequest(run=RunId("two"), memories=search, personal_corpus=corpus)
    return recall_experience(knowledge.memories, knowledge.retrieval, knowledge.results, request)


def test_facts_and_procedures_of_a_person_become_passages(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """A fact and a procedure of a person can be cited; facts of runs and preferences cannot."""
    ingest(docs)
    tell(knowledge, FACT, PROCEDURE)
    knowledge.memories.write(WriteMemoryRequest(text="The oven is named in bold.", kind="preference", now=NOW))
    found = NewMemory(text="The oven is heated by wood.", kind="semantic", origin=MemoryOrigin(run=RunId("one")))
    knowledge.memories.remember(RememberRequest(memories=(found,), now=NOW))
    recalled = recall(knowledge)

    assert {one.text for one in recalled.personal} == {FACT, PROCEDURE}
    passages = knowledge.corpora.load_passages([one.passage for one in recalled.personal])
    assert [passage.text for passage in passages] == [one.text for one in recalled.personal]
    assert {passage.title for passage in passages} == {"Statement of a person, 2030-01-02"}
    assert all(is_personal(passage.uri) for passage in passages)
    sources = knowledge.corpora.load_sources([passage.source for passage in passages])
    assert all(source.derived for source in sources.values())
    assert not {fact.text for fact in recalled.facts} & {FACT, PROCEDURE}


def test_no_search_finds_the_statement_of_a_person(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """A statement is evidence for the runs that recall it, and another owner of the corpus finds nothing of it."""
    ingest(docs)
    tell(knowledge, FACT)
    statement = recall(knowledge).personal[0].passage
    found = knowledge.retrieval.search(SearchRequest(query=FACT, corpora=("c",), k=50)).passages

    assert statement.chunk not in {passage.chunk for passage in found}


def test_without_a_corpus_a_statement_is_a_fact_to_find(knowledge: KnowledgeBase) -> None:
    """A run that may not cite statements receives them like other facts."""
    tell(knowledge, FACT)
    recalled = recall(knowledge, corpus="")

    assert not recalled.personal
    assert [fact.text for fact in recalled.facts] == [FACT]


def test_a_forgotten_statement_is_deleted(knowledge: KnowledgeBase, ingest: Ingest, docs: Path) -> None:
    """Forgetting a memory deletes the passage made of it, and no other one."""
    ingest(docs)
    first, _ = tell(knowledge, FACT, PROCEDURE)
    sources = {one.text: one.passage.source for one in recall(knowledge).personal}
    knowledge.memories.forget(ForgetRequest(ids=(first,)))

    assert list(knowledge.corpora.load_sources(list(sources.values()))) == [sources[PROCEDURE]]
    assert [one.text for one in recall(knowledge).personal] == [PROCEDURE]
