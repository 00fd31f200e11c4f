"""Consolidation of memories on a real store, step by step."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from tenure.contracts.base import RunId, SourceId
from tenure.contracts.knowledge.memory import (
    ConsolidationProgress,
    ConsolidationRequest,
    ConsolidationStep,
    ConsolidationStepReport,
    Episode,
    ForgetRequest,
    Impression,
    MemoriesRequest,
    Memory,
    MemoryPolicy,
    Origin,
    Procedure,
    Recollecting,
    RememberRequest,
)
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.memory import consolidation
from tenure.knowledge.store.errors import ConsolidationCancelled
from tests.knowledge.memory.test_memories import FOUNDED, SAME, put_sources, said_by
from tests.knowledge.word_vectors import WordVectors

NOW = datetime(2030, 1, 1, tzinfo=UTC)
OTHERWISE = FOUNDED.replace("1694", "1695")


def remember(knowledge: KnowledgeBase, *impressions: Impression, owner: str = "", days: float = 0) -> Sequence[str]:
    now = NOW + timedelta(days=days)
    request = RememberRequest(impressions=impressions, owner=owner, now=now)
    return knowledge.memories.remember(request).memories


def consolidate(knowledge: KnowledgeBase, step: ConsolidationStep, days: float = 0) -> ConsolidationStepReport:
    request = ConsolidationRequest(step=step, now=NOW + timedelta(days=days))
    return knowledge.consolidate(request, lambda progress: None)


def all_of(knowledge: KnowledgeBase, owner: str = "") -> dict[str, Memory]:
    page = knowledge.memories.page(MemoriesRequest(owner=owner, most=500))
    return {one.id: one for one in page.memories}


def of_run(number: int, text: str = FOUNDED) -> Impression:
    return Impression(text=text, kind="semantic", origin=Origin(run=RunId(f"run-{number}")))


def use(knowledge: KnowledgeBase, query: str, *occasions: str) -> None:
    for occasion in occasions:
        knowledge.memories.recollect(
            Recollecting(query=query, kinds=("short_term", "semantic"), now=NOW, occasion=occasion)
        )


def test_no_memories_are_no_work(knowledge: KnowledgeBase) -> None:
    """Before anything is remembered every step ends at once."""
    assert consolidate(knowledge, "compare").looked_at == 0


def test_what_says_the_same_becomes_one_memory(knowledge: KnowledgeBase) -> None:
    """Duplicates of several runs are joined with their uses; those of another owner are left alone."""
    first, *_ = remember(knowledge, of_run(1), of_run(2), of_run(3, SAME), of_run(4, "Bees dance."))
    remember(knowledge, of_run(1), owner="ann")
    use(knowledge, FOUNDED, "a", "b")
    report = consolidate(knowledge, "compare")
    left = [one for one in all_of(knowledge).values() if "Bank" in one.text]

    assert [(one.merged, one.uses) for one in left] == [(3, 6)]
    assert (len(all_of(knowledge)), len(all_of(knowledge, "ann"))) == (2, 1)
    assert (report.step, report.looked_at, report.changed) == ("compare", 5, 3)
    assert first


def test_a_second_consolidation_finds_nothing_to_do(knowledge: KnowledgeBase) -> None:
    """Only what is new is compared: a new duplicate joins the old memory, and nothing else is looked at."""
    remember(knowledge, of_run(1), of_run(2, "Bees dance."))
    consolidate(knowledge, "compare")

    assert consolidate(knowledge, "compare").looked_at == 0
    remember(knowledge, of_run(3))
    assert consolidate(knowledge, "compare").looked_at == 1
    assert sorted(one.merged for one in all_of(knowledge).values()) == [1, 2]


def test_pages_that_wait_for_each_other_are_let_in(knowledge: KnowledgeBase, uri: str) -> None:
    """Two memories of one page each, of two sites, become one that nobody has to wait for any more."""
    put_sources(uri, a="https://a.org/1", b="https://b.net/2")
    remember(knowledge, said_by("a"))
    remember(knowledge, said_by("b", text=FOUNDED.rstrip("."), run="s"))
    consolidate(knowledge, "compare")
    [left] = all_of(knowledge).values()

    assert (left.awaiting, left.origin.support, left.merged) == (False, 2, 2)


def test_of_two_that_contradict_each_other_the_better_supported_is_believed(knowledge: KnowledgeBase, uri: str) -> None:
    """Support comes before recency; the other one is marked and counts less, until the first is forgotten."""
    put_sources(uri, a="a.md", b="b.md", c="c.md")
    [old] = remember(knowledge, said_by("a", "b"))
    [new] = remember(knowledge, said_by("c", text=OTHERWISE, run="s"), days=5)
    consolidate(knowledge, "compare")

    assert [all_of(knowledge)[id].disputed for id in (old, new)] == ["", old]
    knowledge.memories.forget(ForgetRequest(ids=(old,)))
    assert all_of(knowledge)[new].disputed == ""


def test_of_two_with_equal_support_the_newer_is_believed(knowledge: KnowledgeBase) -> None:
    """What was remembered later replaces what was remembered before."""
    [old] = remember(knowledge, of_run(1))
    [new] = remember(knowledge, of_run(2, OTHERWISE), days=5)
    consolidate(knowledge, "compare")

    assert [all_of(knowledge)[id].disputed for id in (old, new)] == [new, ""]


def test_what_waits_disputes_nothing(knowledge: KnowledgeBase, uri: str) -> None:
    """A single page cannot cast doubt on what is remembered."""
    put_sources(uri, a="https://a.org/1")
    [old] = remember(knowledge, of_run(1))
    remember(knowledge, said_by("a", text=OTHERWISE), days=5)
    consolidate(knowledge, "compare")

    assert all_of(knowledge)[old].disputed == ""


def test_many_alike_are_compared_with_their_nearest_only(
    knowledge: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a crowd of duplicates the nearest few of each are looked at, and all become one in the end."""
    monkeypatch.setattr(consolidation, "_CROWDED", 10)
    monkeypatch.setattr(consolidation, "_BLOCK", 8)
    remember(knowledge, *(of_run(n) for n in range(30)))
    consolidate(knowledge, "compare")

    assert sum(one.merged for one in all_of(knowledge).values()) == 30
    assert len(all_of(knowledge)) < 6


def test_what_proved_useful_is_kept_for_good(knowledge: KnowledgeBase) -> None:
    """A short-term memory that two runs used becomes what its words are; one that nobody used stays as it is."""
    used, unused = remember(
        knowledge,
        Impression(text="The comb belongs to the Bees.", kind="short_term"),
        Impression(text="loaves in the oven", kind="short_term"),
    )
    use(knowledge, "comb belongs Bees", "one", "two")
    report = consolidate(knowledge, "promote")

    assert report.changed == 1
    assert [all_of(knowledge)[id].kind for id in (used, unused)] == ["long_term", "short_term"]


def episodes(*scores: float, strategy: str = "direct") -> list[Impression]:
    return [
        Impression(
            text=f"{strategy} {number}",
            details=Episode(question=f"Who {number}?", strategy=strategy, score=score, searches=2),
        )
        for number, score in enumerate(scores)
    ]


def test_episodes_become_a_procedure(knowledge: KnowledgeBase) -> None:
    """Three runs of a kind teach how to search; fewer teach nothing; a second time changes nothing."""
    remember(knowledge, *episodes(0.9, 0.8, 0.1), *episodes(0.9, strategy="iterative"))
    report = consolidate(knowledge, "abstract")
    [lesson] = [one for one in all_of(knowledge).values() if one.kind == "procedural"]

    assert report.changed == 1 and consolidate(knowledge, "abstract").changed == 0
    assert isinstance(lesson.details, Procedure)
    assert (lesson.details.strategy, lesson.details.successes, lesson.details.failures) == ("direct", 2, 1)
    assert lesson.text == "A factual question: direct search worked well, with about 2 searches a run."


def test_what_has_faded_goes_and_what_is_used_stays(knowledge: KnowledgeBase) -> None:
    """Short-term memories last a day, lasting ones until their strength is gone, from their last use on."""
    remember(
        knowledge,
        Impression(text="a passing word", kind="short_term"),
        of_run(1),
        Impression(text="nobody asks for this", kind="long_term", importance=0.05),
    )

    assert consolidate(knowledge, "forget", days=2).changed == 1
    assert consolidate(knowledge, "forget", days=200).changed == 1
    assert [one.text for one in all_of(knowledge).values()] == [FOUNDED]


def test_of_too_many_memories_the_weakest_go(uri: str, model: WordVectors) -> None:
    """An owner keeps as many as the policy allows; others have a share of their own."""
    knowledge = KnowledgeBase(uri, model, memory=MemoryPolicy(most=100))
    weak = [Impression(text=f"weak {n}", kind="long_term", importance=0.2) for n in range(5)]
    remember(knowledge, *weak, *(Impression(text=f"m {n}", kind="long_term", importance=0.7) for n in range(98)))
    remember(knowledge, *weak, owner="ann")
    report = consolidate(knowledge, "forget")

    assert report.changed == 3
    assert len(all_of(knowledge)) == 100 and len(all_of(knowledge, "ann")) == 5
    assert sum("weak" in one.text for one in all_of(knowledge).values()) == 2


def test_memories_outlive_their_embedding_model(uri: str) -> None:
    """Those of a model that is gone, whatever its size, are found again once their vectors are made anew."""
    for name, dimensions in (("old", 256), ("older", 128)):
        remember(KnowledgeBase(uri, WordVectors(name, dimensions)), Impression(text=f"Bees of the {name} model dance."))
    knowledge = KnowledgeBase(uri, WordVectors("new"))
    asked = Recollecting(query="bees of the model dance", now=NOW, min_relevance=0.1)

    assert knowledge.memories.recollect(asked).memories == ()
    assert consolidate(knowledge, "embed").changed == 2
    assert len(knowledge.memories.recollect(asked).memories) == 2
    assert consolidate(knowledge, "embed").changed == 0


@pytest.mark.parametrize("step", ["compare", "forget"])
def test_a_consolidation_stops_when_it_is_told_to(knowledge: KnowledgeBase, step: ConsolidationStep) -> None:
    """It says how far it was, and has told so before."""
    remember(knowledge, of_run(1), of_run(2, "Bees dance."))
    told: list[ConsolidationProgress] = []

    with pytest.raises(ConsolidationCancelled, match=f"the step {step} of the consolidation stopped after"):
        knowledge.consolidate(ConsolidationRequest(step=step, now=NOW), told.append, lambda: True)


def test_sources_of_joined_memories_are_kept(knowledge: KnowledgeBase, uri: str) -> None:
    """What two documents say names both, and is surer than either."""
    put_sources(uri, a="a.md", b="b.md")
    remember(knowledge, said_by("a"), said_by("b", run="s"))
    consolidate(knowledge, "compare")
    [left] = all_of(knowledge).values()

    assert set(left.origin.sources) == {SourceId("a"), SourceId("b")}
    assert (left.origin.support, left.confidence) == (2, 0.91)
