"""Recall: what runs have accepted before, on a real knowledge base."""

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.evidence.retrieval import Recalled, RecallRequest
from tenure.contracts.research.report import Topic
from tenure.contracts.research.spiral import Aim, AnalysisRequest, Candidate
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store.errors import InvalidSearch, UnknownCorpus
from tests.knowledge.conftest import FoundIn

QUERY = "bees dance nectar queen"
TEXTS = {
    "dance.md": "Bees dance on the comb for nectar.\n",
    "winter.md": "Bees keep the queen warm in winter.\n",
    "oven.md": "The oven bakes loaves in forty minutes.\n",
}


@pytest.fixture
def found(found_in: FoundIn) -> dict[str, PassageRef]:
    """The passage of each document of a small corpus, by the document's name."""
    return found_in(TEXTS, "bees oven")


def accept(knowledge: KnowledgeBase, run: str, query: str, *passages: PassageRef) -> None:
    """Let a run accept passages that a query has found."""
    aim = Aim(topic=Topic(heading="Bees", question="bees dance nectar queen winter oven loaves minutes"))
    knowledge.analyze(
        AnalysisRequest(
            run=RunId(run),
            cycle=1,
            question=query,
            corpora=("c",),
            aims=(aim,),
            candidates=tuple(Candidate(topic="Bees", query=query, passage=passage) for passage in passages),
            min_relevance=0.0,
            min_novelty=0.0,
        )
    )


def recalled(
    knowledge: KnowledgeBase, query: str = QUERY, most: int = 9, corpora: tuple[str, ...] = ("c",)
) -> Recalled:
    return knowledge.recall(
        RecallRequest(query=query, run=RunId("this"), corpora=corpora, min_relevance=0.2, most=most)
    )


def test_nothing_is_remembered_at_first(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """A corpus that no run has worked on recalls nothing."""
    assert found
    assert recalled(knowledge) == Recalled()


def test_what_the_run_accepted_is_known(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """The run's own findings are known to it, and neither they nor their queries are offered to it again."""
    accept(knowledge, "this", "What do bees do?", found["dance"])

    assert recalled(knowledge) == Recalled(known=(found["dance"].chunk,))


def test_what_more_runs_accepted_comes_first(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """Passages count by the runs that accepted them, queries by what they found; what is far from the query is not."""
    accept(knowledge, "one", "What do bees do?", *found.values())
    accept(knowledge, "two", "How do bees live?", found["winter"])
    memory = recalled(knowledge)

    assert [passage.chunk for passage in memory.passages] == [found["winter"].chunk, found["dance"].chunk]
    assert memory.queries == ("What do bees do?", "How do bees live?")
    assert memory.known == ()
    assert [passage.chunk for passage in recalled(knowledge, most=1).passages] == [found["winter"].chunk]


def test_a_question_that_cannot_be_searched_is_refused(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """An empty query and a corpus that is not there are errors, as in a search."""
    assert found
    with pytest.raises(InvalidSearch):
        recalled(knowledge, query=" ")
    with pytest.raises(UnknownCorpus):
        recalled(knowledge, corpora=("nowhere",))
