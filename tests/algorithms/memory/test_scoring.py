"""Tests of memory scoring: kinds, importance, decay, support, duplicates and forgetting."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from tenure.algorithms.memory import scoring as thinking
from tenure.algorithms.memory.scoring import SourceEvidence, SourceSupport
from tenure.algorithms.text.near_duplicates import compute_fingerprint
from tenure.contracts.base import SourceId
from tenure.contracts.choices import MemoryKind
from tenure.contracts.knowledge.memory import (
    EpisodeDetails,
    FactDetails,
    Memory,
    MemoryDetails,
    MemoryOrigin,
    NewMemory,
    ProcedureDetails,
    StrategyRecord,
)
from tenure.contracts.knowledge.memory_policy import MemoryPolicy

NOW = datetime(2030, 1, 1, tzinfo=UTC)
DAY = 86_400.0
FOUNDED = "The Bank of England was founded by William Paterson in 1694."
PROCEDURE = ProcedureDetails(situation="A factual question", advice="Search once", successes=2, failures=1)


def memory(id: str = "a", text: str = FOUNDED, **others: object) -> Memory:
    return Memory.model_validate({"id": id, "kind": "semantic", "text": text, "created_at": NOW, **others})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (FOUNDED, "semantic"),
        ("Who founded it?", "short_term"),
        ("The draft is in progress until tomorrow.", "short_term"),
        ("The run on bees found nothing after nine searches.", "episodic"),
        ("When a question compares two things, search for each by itself.", "procedural"),
        ("Reports are read aloud in the office.", "long_term"),
    ],
)
def test_kind_by_text(text: str, kind: MemoryKind) -> None:
    """Kind by text."""
    assert thinking.classify_memory(NewMemory(text=text)) == kind


@pytest.mark.parametrize(
    ("details", "kind"),
    [
        (EpisodeDetails(question="Who?"), "episodic"),
        (PROCEDURE, "procedural"),
        (FactDetails(subject="Ghent", predicate="lies on", object="Scheldt"), "semantic"),
    ],
)
def test_kind_by_details(details: MemoryDetails, kind: MemoryKind) -> None:
    """A given kind takes precedence."""
    assert thinking.classify_memory(NewMemory(text="Who?", details=details)) == kind
    assert thinking.classify_memory(NewMemory(text="Who?", details=details, kind="long_term")) == "long_term"


def test_importance() -> None:
    """Outcome, support, figures and emphasis add to it, back references subtract, and a given importance is kept."""
    plain = thinking.compute_importance(NewMemory(text="reports are short"), "long_term", 0)

    assert thinking.compute_importance(NewMemory(text="reports are short", valence=-1.0), "long_term", 0) == plain + 0.2
    assert thinking.compute_importance(NewMemory(text="reports are short"), "long_term", 3) == plain + 0.2
    assert thinking.compute_importance(NewMemory(text="reports have 3 pages"), "long_term", 0) == plain + 0.1
    assert thinking.compute_importance(NewMemory(text="reports must be short"), "long_term", 0) == plain + 0.3
    assert thinking.compute_importance(NewMemory(text="This is short."), "long_term", 0) == plain - 0.2
    assert thinking.compute_importance(NewMemory(text="never", importance=0.1), "long_term", 9) == 0.1


def test_important_or_used_memories_are_promoted() -> None:
    """Important or used memories are promoted."""
    assert thinking.promote_kind("short_term", FOUNDED, 0.9) == "semantic"
    assert thinking.promote_kind("short_term", "Who founded it?", 0.1, uses=2) == "long_term"
    assert thinking.promote_kind("short_term", FOUNDED, 0.1, uses=1) == "short_term"
    assert thinking.promote_kind("episodic", FOUNDED, 0.9) == "episodic"


def test_entity_keys() -> None:
    """Names and terms of a text and both ends of a fact are keys, whatever their spelling."""
    keys = thinking.extract_entity_keys(
        "It lies there.", FactDetails(subject="Ghent", predicate="lies on", object="the Scheldt")
    )

    assert keys[:2] == ("ghent", "scheldt")
    assert "bank of england" in thinking.extract_entity_keys(FOUNDED)
    assert "bank of england" in thinking.extract_query_keys("who began the bank of england")
    assert len(thinking.extract_entity_keys(" and ".join(f"Mr Name{n}x" for n in range(40)))) == thinking.MAX_ENTITIES


def test_freshness_halves_per_half_life() -> None:
    """Episodes have a third of the half-life."""
    policy = MemoryPolicy(half_life_days=90)
    fresh = thinking.compute_freshness(["semantic", "episodic"], np.asarray([90 * DAY, 30 * DAY]), policy)

    assert fresh.tolist() == pytest.approx([0.5, 0.5])
    assert thinking.compute_freshness([], np.zeros(0), policy).tolist() == []


def test_relevance_dominates_the_score() -> None:
    """Relevance dominates the score."""
    best = thinking.score_memory(0.9, 1.0, 1.0, 1.0, 50, disputed=False)
    old = thinking.score_memory(0.9, 0.0, 1.0, 1.0, 50, disputed=False)
    unused = thinking.score_memory(0.9, 1.0, 1.0, 1.0, 0, disputed=False)
    disputed = thinking.score_memory(0.9, 1.0, 1.0, 1.0, 50, disputed=True)

    assert best > unused > old == pytest.approx(disputed)
    assert thinking.score_memory(0.05, 1.0, 1.0, 1.0, 50, disputed=False) < unused * 0.1


def test_duplicates_have_equal_names_numbers_and_negations() -> None:
    """Duplicates have equal names numbers and negations."""
    same = "In 1694 William Paterson founded the Bank of England."

    assert thinking.is_duplicate(FOUNDED, same, 0.97, 0.94)
    assert not thinking.is_duplicate(FOUNDED, same, 0.9, 0.94)
    assert not thinking.is_duplicate(FOUNDED, FOUNDED.replace("1694", "1695"), 0.99, 0.94)
    assert not thinking.is_duplicate(FOUNDED, FOUNDED.replace("Paterson", "Pitt"), 0.99, 0.94)
    assert not thinking.is_duplicate(FOUNDED, FOUNDED.replace("was", "was not"), 0.99, 0.94)


def page(uri: str, text: str) -> SourceEvidence:
    return SourceEvidence(SourceId(uri), uri, compute_fingerprint(text))


def test_copies_and_pages_of_one_site_are_not_independent() -> None:
    """Copies and pages of one site are not independent."""
    text = "the bank was founded long ago by a merchant of the city who needed money for a war"
    one, sibling = (
        page("https://www.a.co.uk/1", text),
        page("https://blog.a.co.uk/2", "quite other words stand here now"),
    )
    mirror, other = page("https://mirror.net/1", text), page("https://b.org/1", "a merchant of the city began the bank")

    assert thinking.count_independent_sources([one, sibling]).independent == 1
    assert thinking.count_independent_sources([one, mirror]).independent == 1
    assert thinking.count_independent_sources([one, other]) == SourceSupport(2, 0)
    assert (
        not thinking.count_independent_sources([one]).is_sufficient
        and thinking.count_independent_sources([one, other]).is_sufficient
    )


def test_document_of_the_user_is_sufficient() -> None:
    """Document of the user is sufficient."""
    own = thinking.count_independent_sources([SourceEvidence(SourceId("s"), "notes/bank.md", ())])

    assert own == SourceSupport(1, 1) and own.is_sufficient


@pytest.mark.parametrize(
    ("uri", "site"),
    [
        ("docs/a.md", ""),
        ("https://www.example.com/x", "example.com"),
        ("https://news.bbc.co.uk/", "bbc.co.uk"),
        ("https://a.x.io/", "x.io"),
        ("https://news.bbc.com/", "bbc.com"),
        ("http://127.0.0.1:80/x", "127.0.0.1"),
        ("http://[::1]/x", "::1"),
        ("docs://manual/1", "docs"),
        ("http://localhost/", "localhost"),
    ],
)
def test_site_of_urls(uri: str, site: str) -> None:
    """The name below a public suffix, a network address, or the scheme of another protocol."""
    assert thinking.extract_site(uri) == site


def test_merge_keeps_sources_and_age() -> None:
    """Independent sources raise the confidence."""
    old = memory("old", created_at=NOW - timedelta(days=9), kind="short_term", importance=0.9, confidence=0.6)
    strong = memory(
        "strong",
        origin=MemoryOrigin(sources=(SourceId("s"),), support=1),
        last_used_at=NOW,
        use_count=2,
        confidence=0.8,
    )
    made = thinking.merge_memories([old, strong], SourceSupport(2, 0))

    assert (made.id, made.kind, made.created_at, made.merged_count) == ("strong", "semantic", old.created_at, 2)
    assert (made.importance, made.confidence, made.use_count, made.last_used_at) == (0.9, 0.92, 2, NOW)
    assert (made.origin.sources, made.origin.support, made.unconfirmed) == (("s",), 2, False)
    assert thinking.merge_memories([strong, strong], SourceSupport(1, 0)).confidence == 0.8


def test_support_confirms_a_memory() -> None:
    """Unconfirmed memories stay so until support is sufficient."""
    waiting = [memory(id, unconfirmed=True, kind="short_term") for id in "ab"]

    assert thinking.merge_memories(waiting, SourceSupport(1, 0)).unconfirmed
    assert not thinking.merge_memories(waiting, SourceSupport(2, 0)).unconfirmed
    assert thinking.merge_memories([waiting[0], memory("0", use_count=0)], SourceSupport(0, 0)).kind == "semantic"


def test_merged_procedures_sum_their_trials() -> None:
    """Merged procedures sum their trials."""
    made = thinking.merge_memories([memory(id, details=PROCEDURE) for id in "ab"], SourceSupport(0, 0))

    assert isinstance(made.details, ProcedureDetails)
    assert (made.details.successes, made.details.failures) == (4, 2)
    assert thinking.compute_confidence(made.details) == 0.625


@pytest.mark.parametrize(
    ("kind", "days", "strong", "unconfirmed", "gone"),
    [
        ("short_term", 2, 0.9, False, True),
        ("short_term", 0.5, 0.0, False, False),
        ("short_term", 2, 0.9, True, False),
        ("semantic", 9_999, 0.5, False, False),
        ("semantic", 0, 0.01, False, True),
        ("semantic", 31, 0.9, True, True),
    ],
)
def test_forgetting_follows_the_policy(
    kind: MemoryKind, days: float, strong: float, unconfirmed: bool, gone: bool
) -> None:
    """Short-term memories expire by hours, weak ones by strength, unconfirmed ones by days."""
    assert thinking.is_faded(kind, days * DAY, strong, unconfirmed=unconfirmed, policy=MemoryPolicy()) == gone


@pytest.mark.parametrize(("score", "words"), [(2.7, "worked well"), (1.2, "worked in part"), (0.3, "worked badly")])
def test_lesson_describes_the_mean_score(score: float, words: str) -> None:
    """Lesson describes the mean score."""
    record = StrategyRecord(query_type="causal", strategy="multi_hop", episodes=3, score=score, searches=15)
    lesson = thinking.build_lesson(record, 2)

    assert (
        thinking.format_procedure(lesson)
        == f"A causal question: multi_hop search {words}, with about 5 searches a run."
    )
    assert (lesson.successes, lesson.failures) == (2, 1)
