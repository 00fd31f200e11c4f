"""Test what a run recalls of earlier runs, on a real knowledge base."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.knowledge.memory import (
    EpisodeDetails,
    MemoriesRequest,
    MemoryOrigin,
    MemorySearchRequest,
    NewMemory,
    RememberRequest,
)
from tenure.contracts.research.learning import Experience, ExperienceRequest, InheritRequest
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.experience import recall_experience
from tenure.knowledge.store.schema import MEMORY_USES
from tenure.knowledge.store.store import Store
from tests.knowledge.conftest import FoundIn
from tests.knowledge.search.test_prior_runs import QUESTION, TEXTS, accept

NOW = datetime.now(UTC) + timedelta(days=1)
FACT = "Bees dance on the comb for nectar."


@pytest.fixture
def found(found_in: FoundIn) -> dict[str, PassageRef]:
    """Passage of each document of a small corpus, by document name."""
    return found_in(TEXTS, "bees oven lake")


@pytest.fixture
def earlier(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> KnowledgeBase:
    """Knowledge base with a run that has answered the question from one passage, and with a preference."""
    accept(knowledge, "one", found["dance"])
    origin = MemoryOrigin(run=RunId("one"), corpora=("c",))
    episode = EpisodeDetails(
        question=QUESTION, score=1.0, strategy="direct", query_type="factual", queries=("bees dance comb",)
    )
    memories = (
        NewMemory(text=f"“{QUESTION}” was answered.", origin=origin, details=episode),
        NewMemory(text=FACT, kind="semantic", origin=origin),
        NewMemory(text="We use metric units.", kind="preference"),
    )
    knowledge.memories.remember(RememberRequest(memories=memories, now=NOW))
    return knowledge


def recall(knowledge: KnowledgeBase, *corpora: str, **options: Any) -> Experience:
    """Return the experience of a second run on the question."""
    search = MemorySearchRequest(query=QUESTION, corpora=corpora, now=NOW, used_by="two")
    findings = InheritRequest(question=QUESTION, corpora=corpora, min_relevance=0.3) if corpora else None
    request = ExperienceRequest(run=RunId("two"), memories=search, findings=findings, **options)
    return recall_experience(knowledge.memories, knowledge.retrieval, knowledge.results, request)


def test_a_run_recalls_related_runs(earlier: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """A run starts with passages, queries, facts and strategies of a related run, and with the preferences."""
    recalled = recall(earlier, "c")

    assert [one.run for one in recalled.related] == ["one"]
    assert [one.passage.chunk for one in recalled.passages] == [found["dance"].chunk]
    assert recalled.queries == ("bees dance comb",)
    assert [fact.text for fact in recalled.facts] == [FACT]
    assert [record.strategy for record in recalled.records] == ["direct"]
    assert recalled.preferences == ("We use metric units.",)
    assert recalled.repeated == ()


def test_uses_are_counted_in_one_commit(earlier: KnowledgeBase, uri: str) -> None:
    """A recall counts one use of each recalled memory, and a repetition of its activity writes nothing."""
    uses = Store(uri).open_table(MEMORY_USES)
    before = uses.version
    for _ in range(2):
        recall(earlier, "c")

    assert uses.version == before + 1
    assert [memory.use_count for memory in earlier.memories.list_page(MemoriesRequest()).memories] == [1, 1, 1]


def test_the_memories_of_a_repeated_run_are_left_out(earlier: KnowledgeBase) -> None:
    """A run whose answers may be cached recalls nothing of a run on the same question and documents."""
    recalled = recall(earlier, "c", reuses_answers=True)

    assert recalled.repeated == ("one",)
    assert not (recalled.related or recalled.passages or recalled.queries or recalled.facts)
    assert recalled.preferences == ("We use metric units.",)
    used = [memory.text for memory in earlier.memories.list_page(MemoriesRequest()).memories if memory.use_count]
    assert used == ["We use metric units."]


def test_a_run_without_corpora_has_no_findings(earlier: KnowledgeBase) -> None:
    """Without a corpus nothing is inherited or left out, and memories of corpora are not recalled."""
    recalled = recall(earlier, reuses_answers=True)

    assert not (recalled.repeated or recalled.related or recalled.passages or recalled.facts)


@pytest.mark.parametrize(("option", "kept"), [("inherits", ()), ("repeats_queries", ("passages",))])
def test_a_run_can_search_again(earlier: KnowledgeBase, option: str, kept: tuple[str, ...]) -> None:
    """A run that makes all searches again inherits no passages, or no queries; it still knows the related run."""
    recalled = recall(earlier, "c", **{option: False})

    assert [one.run for one in recalled.related] == ["one"] and not recalled.queries
    assert bool(recalled.passages) is ("passages" in kept)


def test_an_empty_knowledge_base_recalls_nothing(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """The first run recalls nothing, also if answers may be cached."""
    assert recall(knowledge, "c", reuses_answers=True) == Experience()
