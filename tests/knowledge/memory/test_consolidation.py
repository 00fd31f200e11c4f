"""Test the steps of a consolidation of memories on a real store."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from tenure.contracts.base import RunId, SourceId
from tenure.contracts.knowledge.maintenance import UpkeepProgress, UpkeepReport
from tenure.contracts.knowledge.memory import (
    ConsolidationRequest,
    ConsolidationStep,
    EpisodeDetails,
    ForgetRequest,
    MemoriesRequest,
    Memory,
    MemoryOrigin,
    MemorySearchRequest,
    NewMemory,
    ProcedureDetails,
    RememberRequest,
)
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.memory import consolidation
from tenure.knowledge.store.errors import WorkCancelled
from tenure.settings.knowledge import KnowledgeSettings
from tests.knowledge.memory.test_memories import FOUNDED, SAME, put_sources, said_by
from tests.knowledge.word_vectors import WordVectors

NOW = datetime(2030, 1, 1, tzinfo=UTC)
OTHERWISE = FOUNDED.replace("1694", "1695")


def remember(knowledge: KnowledgeBase, *impressions: NewMemory, owner: str = "", days: float = 0) -> Sequence[str]:
    now = NOW + timedelta(days=days)
    request = RememberRequest(memories=impressions, owner=owner, now=now)
    return knowledge.memories.remember(request).memories


def consolidate(knowledge: KnowledgeBase, step: ConsolidationStep, days: float = 0) -> UpkeepReport:
    request = ConsolidationRequest(step=step, now=NOW + timedelta(days=days))
    return knowledge.memories.consolidate(request, lambda progress: None)


def all_of(knowledge: KnowledgeBase, owner: str = "") -> dict[str, Memory]:
    page = knowledge.memories.list_page(MemoriesRequest(owner=owner, limit=500))
    return {one.id: one for one in page.memories}


def of_run(number: int, text: str = FOUNDED) -> NewMemory:
    return NewMemory(text=text, kind="semantic", origin=MemoryOrigin(run=RunId(f"run-{number}")))


LESSON = "Fixtures are in tests/data, as a script writes them."


def of_repository(number: int, path: str, advice: str = LESSON) -> NewMemory:
    situation = f"In the repository {path}"
    details = ProcedureDetails(task="repository", situation=situation, advice=advice, repository=path, successes=1)
    return NewMemory(text=f"{situation}: {advice}", origin=of_run(number).origin, details=details)


def use(knowledge: KnowledgeBase, query: str, *occasions: str) -> None:
    for occasion in occasions:
        knowledge.memories.recall(
            MemorySearchRequest(
                query=query, kinds=("short_term", "semantic"), now=NOW, used_by=occasion, unrestricted=True
            )
        )


def test_empty_store_needs_no_work(knowledge: KnowledgeBase) -> None:
    """Without memories every step ends immediately."""
    assert consolidate(knowledge, "compare").processed == 0


def test_duplicates_are_merged(knowledge: KnowledgeBase) -> None:
    """Duplicates of several runs are merged with their uses; those of another owner stay."""
    first, *_ = remember(knowledge, of_run(1), of_run(2), of_run(3, SAME), of_run(4, "Bees dance."))
    remember(knowledge, of_run(1), owner="ann")
    use(knowledge, FOUNDED, "a", "b")
    report = consolidate(knowledge, "compare")
    left = [one for one in all_of(knowledge).values() if "Bank" in one.text]

    assert [(one.merged_count, one.use_count) for one in left] == [(3, 6)]
    assert (len(all_of(knowledge)), len(all_of(knowledge, "ann"))) == (2, 1)
    assert (report.step, report.processed, report.changed) == ("compare", 5, 3)
    assert first


def test_second_consolidation_compares_only_new_memories(knowledge: KnowledgeBase) -> None:
    """A new duplicate is merged into the old memory, and nothing else is compared."""
    remember(knowledge, of_run(1), of_run(2, "Bees dance."))
    consolidate(knowledge, "compare")

    assert consolidate(knowledge, "compare").processed == 0
    remember(knowledge, of_run(3))
    assert consolidate(knowledge, "compare").processed == 1
    assert sorted(one.merged_count for one in all_of(knowledge).values()) == [1, 2]


def test_lessons_of_another_repository_stay(knowledge: KnowledgeBase) -> None:
    """Similar lessons on a repository are merged with their successes, but not with those on another one."""
    same = "As a script writes them, fixtures are in tests/data."
    remember(knowledge, of_repository(1, "/home/ann/parser"), of_repository(2, "/home/ann/parser", same))
    remember(knowledge, of_repository(3, "/home/ann/parsers"))
    assert len(all_of(knowledge)) == 3
    consolidate(knowledge, "compare")
    lessons = [one.details for one in all_of(knowledge).values() if isinstance(one.details, ProcedureDetails)]

    assert {one.repository: one.successes for one in lessons} == {"/home/ann/parser": 2, "/home/ann/parsers": 1}
    assert len(lessons) == 2


def test_two_sites_confirm_each_other(knowledge: KnowledgeBase, uri: str) -> None:
    """Two unconfirmed memories from pages of two sites become one confirmed memory."""
    put_sources(uri, a="https://a.org/1", b="https://b.net/2")
    remember(knowledge, said_by("a"))
    remember(knowledge, said_by("b", text=FOUNDED.rstrip("."), run="s"))
    consolidate(knowledge, "compare")
    [left] = all_of(knowledge).values()

    assert (left.unconfirmed, left.origin.support, left.merged_count) == (False, 2, 2)


def test_contradiction_prefers_the_better_supported_memory(knowledge: KnowledgeBase, uri: str) -> None:
    """Support counts before recency; the other memory is marked until the first is forgotten."""
    put_sources(uri, a="a.md", b="b.md", c="c.md")
    [old] = remember(knowledge, said_by("a", "b"))
    [new] = remember(knowledge, said_by("c", text=OTHERWISE, run="s"), days=5)
    consolidate(knowledge, "compare")

    assert [all_of(knowledge)[id].contradicted_by for id in (old, new)] == ["", old]
    knowledge.memories.forget(ForgetRequest(ids=(old,)))
    assert all_of(knowledge)[new].contradicted_by == ""


def test_contradiction_with_equal_support_prefers_the_newer_memory(knowledge: KnowledgeBase) -> None:
    """With equal support the newer memory wins."""
    [old] = remember(knowledge, of_run(1))
    [new] = remember(knowledge, of_run(2, OTHERWISE), days=5)
    consolidate(knowledge, "compare")

    assert [all_of(knowledge)[id].contradicted_by for id in (old, new)] == [new, ""]


def test_unconfirmed_memory_contradicts_nothing(knowledge: KnowledgeBase, uri: str) -> None:
    """A single page cannot mark another memory as contradicted."""
    put_sources(uri, a="https://a.org/1")
    [old] = remember(knowledge, of_run(1))
    remember(knowledge, said_by("a", text=OTHERWISE), days=5)
    consolidate(knowledge, "compare")

    assert all_of(knowledge)[old].contradicted_by == ""


def test_many_duplicates_are_compared_with_their_nearest_only(
    knowledge: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the nearest few of each are examined, and all become one memory."""
    monkeypatch.setattr(consolidation, "_BLOCK_ROWS", 8)
    remember(knowledge, *(of_run(n) for n in range(30)))
    consolidate(knowledge, "compare")

    assert sum(one.merged_count for one in all_of(knowledge).values()) == 30
    assert len(all_of(knowledge)) < 6


def test_used_short_term_memory_becomes_permanent(knowledge: KnowledgeBase) -> None:
    """A short-term memory that two runs used is promoted; an unused one is not."""
    used, unused = remember(
        knowledge,
        NewMemory(text="The comb belongs to the Bees.", kind="short_term"),
        NewMemory(text="loaves in the oven", kind="short_term"),
    )
    use(knowledge, "comb belongs Bees", "one", "two")
    report = consolidate(knowledge, "promote")

    assert report.changed == 1
    assert [all_of(knowledge)[id].kind for id in (used, unused)] == ["long_term", "short_term"]


def episodes(*scores: float, strategy: str = "direct") -> list[NewMemory]:
    return [
        NewMemory(
            text=f"{strategy} {number}",
            details=EpisodeDetails(question=f"Who {number}?", strategy=strategy, score=score, searches=2),
        )
        for number, score in enumerate(scores)
    ]


def test_episodes_become_a_procedure(knowledge: KnowledgeBase) -> None:
    """Three episodes of a kind give a procedure, fewer give none, and a repetition changes nothing."""
    remember(knowledge, *episodes(0.9, 0.8, 0.1), *episodes(0.9, strategy="iterative"))
    report = consolidate(knowledge, "abstract")
    [lesson] = [one for one in all_of(knowledge).values() if one.kind == "procedural"]

    assert report.changed == 1 and consolidate(knowledge, "abstract").changed == 0
    assert isinstance(lesson.details, ProcedureDetails)
    assert (lesson.details.strategy, lesson.details.successes, lesson.details.failures) == ("direct", 2, 1)
    assert lesson.text == "A factual question: direct search worked well, with about 2 searches a run."


def test_decayed_memories_are_deleted(knowledge: KnowledgeBase) -> None:
    """Short-term memories last a day, others until their strength is gone, counted from the last use."""
    remember(
        knowledge,
        NewMemory(text="a passing word", kind="short_term"),
        of_run(1),
        NewMemory(text="nobody asks for this", kind="long_term", importance=0.05),
    )

    assert consolidate(knowledge, "forget", days=2).changed == 1
    assert consolidate(knowledge, "forget", days=200).changed == 1
    assert [one.text for one in all_of(knowledge).values()] == [FOUNDED]


def test_weakest_memories_above_the_limit_are_deleted(uri: str, model: WordVectors) -> None:
    """An owner keeps as many as the policy allows; other owners are not affected."""
    knowledge = KnowledgeBase(uri, model, KnowledgeSettings(memory_max_per_owner=100))
    weak = [NewMemory(text=f"weak {n}", kind="long_term", importance=0.2) for n in range(5)]
    remember(knowledge, *weak, *(NewMemory(text=f"m {n}", kind="long_term", importance=0.7) for n in range(98)))
    remember(knowledge, *weak, owner="ann")
    report = consolidate(knowledge, "forget")

    assert report.changed == 3
    assert len(all_of(knowledge)) == 100 and len(all_of(knowledge, "ann")) == 5
    assert sum("weak" in one.text for one in all_of(knowledge).values()) == 2


def test_memories_are_embedded_again_with_another_model(uri: str) -> None:
    """Memories of former models, of any vector size, are found again after the embedding step."""
    for name, dimensions in (("old", 256), ("older", 128)):
        remember(KnowledgeBase(uri, WordVectors(name, dimensions)), NewMemory(text=f"Bees of the {name} model dance."))
    knowledge = KnowledgeBase(uri, WordVectors("new"))
    asked = MemorySearchRequest(query="bees of the model dance", now=NOW, min_relevance=0.1)

    assert knowledge.memories.recall(asked).memories == ()
    assert consolidate(knowledge, "embed").changed == 2
    assert len(knowledge.memories.recall(asked).memories) == 2
    assert consolidate(knowledge, "embed").changed == 0


@pytest.mark.parametrize("step", ["compare", "forget"])
def test_consolidation_can_be_cancelled(knowledge: KnowledgeBase, step: ConsolidationStep) -> None:
    """The error and the reports contain the progress."""
    remember(knowledge, of_run(1), of_run(2, "Bees dance."))
    told: list[UpkeepProgress] = []

    with pytest.raises(WorkCancelled, match=f"consolidation step {step} stopped after"):
        knowledge.memories.consolidate(ConsolidationRequest(step=step, now=NOW), told.append, lambda: True)


def test_merged_memory_keeps_all_sources(knowledge: KnowledgeBase, uri: str) -> None:
    """A statement of two documents names both and has a higher confidence."""
    put_sources(uri, a="a.md", b="b.md")
    remember(knowledge, said_by("a"), said_by("b", run="s"))
    consolidate(knowledge, "compare")
    [left] = all_of(knowledge).values()

    assert set(left.origin.sources) == {SourceId("a"), SourceId("b")}
    assert (left.origin.support, left.confidence) == (2, 0.91)
