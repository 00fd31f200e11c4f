"""Test recalling findings of earlier runs on a real knowledge base."""

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.evidence.retrieval import RecallReply, RecallRequest
from tenure.contracts.research.report import Topic
from tenure.contracts.research.spiral import AnalysisRequest, CandidatePassage, TopicState
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store.errors import InvalidSearch, UnknownCorpus
from tests.knowledge.conftest import FoundIn
from tests.support.tiers import slow

QUERY = "bees dance nectar queen"
TEXTS = {
    "dance.md": "Bees dance on the comb for nectar.\n",
    "winter.md": "Bees keep the queen warm in winter.\n",
    "oven.md": "The oven bakes loaves in forty minutes.\n",
}


@pytest.fixture
def found(found_in: FoundIn) -> dict[str, PassageRef]:
    """Passage of each document of a small corpus, by document name."""
    return found_in(TEXTS, "bees oven")


def accept(knowledge: KnowledgeBase, run: str, query: str, *passages: PassageRef) -> None:
    """Let a run accept passages that a query has found."""
    aim = TopicState(topic=Topic(heading="Bees", question="bees dance nectar queen winter oven loaves minutes"))
    knowledge.retrieval.analyze_candidates(
        AnalysisRequest(
            run=RunId(run),
            cycle=1,
            question=query,
            corpora=("c",),
            topics=(aim,),
            candidates=tuple(CandidatePassage(topic="Bees", query=query, passage=passage) for passage in passages),
            min_relevance=0.0,
            min_novelty=0.0,
        )
    )


def recalled(
    knowledge: KnowledgeBase, query: str = QUERY, most: int = 9, corpora: tuple[str, ...] = ("c",)
) -> RecallReply:
    return knowledge.retrieval.recall_findings(
        RecallRequest(query=query, run=RunId("this"), corpora=corpora, min_relevance=0.2, limit=most)
    )


@slow
def test_new_corpus_recalls_nothing(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """A corpus without findings recalls nothing."""
    assert found
    assert recalled(knowledge) == RecallReply()


@slow
def test_own_findings_are_known_and_not_recalled(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """The run's own findings are returned as known, and neither they nor their queries are recalled."""
    accept(knowledge, "this", "What do bees do?", found["dance"])

    assert recalled(knowledge) == RecallReply(known=(found["dance"].chunk,))


@slow
def test_findings_of_more_runs_come_first(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """Passages are ordered by runs, queries by what they found; irrelevant passages are omitted."""
    accept(knowledge, "one", "What do bees do?", *found.values())
    accept(knowledge, "two", "How do bees live?", found["winter"])
    memory = recalled(knowledge)

    assert [passage.chunk for passage in memory.passages] == [found["winter"].chunk, found["dance"].chunk]
    assert memory.queries == ("What do bees do?", "How do bees live?")
    assert memory.known == ()
    assert [passage.chunk for passage in recalled(knowledge, most=1).passages] == [found["winter"].chunk]


@slow
def test_invalid_queries_are_rejected(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """An empty query and an unknown corpus raise errors, as in a search."""
    assert found
    with pytest.raises(InvalidSearch):
        recalled(knowledge, query=" ")
    with pytest.raises(UnknownCorpus):
        recalled(knowledge, corpora=("nowhere",))
