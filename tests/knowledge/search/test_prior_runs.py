"""Inheriting: what related runs leave, on a real knowledge base."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.evidence.filters import Filter
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.learning import Inherited, InheritRequest, Related
from tenure.contracts.research.report import Topic
from tenure.contracts.research.spiral import Aim, AnalysisRequest, Candidate
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store.errors import UnknownCorpus
from tests.knowledge.conftest import FoundIn

QUESTION = "What do bees dance on the comb for?"
TEXTS = {
    "dance.md": "# Karl Frisch\n\nBees dance on the comb for nectar, as Karl Frisch found at Lake Wolfgang.\n",
    "lake.md": "# Lake Wolfgang\n\nWater of great depth, with steamers since 1873.\n",
    "oven.md": "# Ovens\n\nThe oven bakes loaves in forty minutes.\n",
}
LATER = datetime.now(UTC) + timedelta(days=1)


@pytest.fixture
def found(found_in: FoundIn) -> dict[str, PassageRef]:
    """The passage of each document of a small corpus, by the document's name."""
    return found_in(TEXTS, "bees oven lake")


def accept(knowledge: KnowledgeBase, run: str, *passages: PassageRef) -> None:
    """Let a run accept passages."""
    aim = Aim(topic=Topic(heading="Bees", question="bees dance comb nectar lake water oven loaves minutes"))
    knowledge.analyze(
        AnalysisRequest(
            run=RunId(run),
            cycle=1,
            question=QUESTION,
            corpora=("c",),
            aims=(aim,),
            candidates=tuple(Candidate(topic="Bees", query=f"asked by {run}", passage=one) for one in passages),
            min_relevance=0.0,
            min_novelty=0.0,
        )
    )


def left(knowledge: KnowledgeBase, *runs: str, at: datetime = LATER, filters: tuple[Filter, ...] = ()) -> Inherited:
    """Return what runs leave that ended at a time."""
    related = tuple(Related(run=RunId(run), question=QUESTION, at=at, relevance=1.0) for run in runs)
    return knowledge.inherit(
        InheritRequest(runs=related, question=QUESTION, corpora=("c",), filters=filters, min_relevance=0.3)
    )


Names = Callable[[Inherited], list[str]]


@pytest.fixture
def names(found: dict[str, PassageRef]) -> Names:
    """Return what tells the names of inherited documents."""
    known = {ref.chunk: name for name, ref in found.items()}
    return lambda inherited: [known[one.passage.chunk] for one in inherited.passages]


def test_what_resembles_the_question_or_is_linked_to_that_is_left(
    knowledge: KnowledgeBase, found: dict[str, PassageRef], names: Names
) -> None:
    """A passage about the question comes along, one its names lead to as well, and one of another subject does not."""
    accept(knowledge, "one", *found.values())
    inherited = left(knowledge, "one")

    assert names(inherited) == ["dance", "lake"]
    assert [one.passage.graph_rank for one in inherited.passages] == [None, 1]
    assert {(one.query, one.run) for one in inherited.passages} == {("asked by one", "one")}


def test_links_alone_are_no_evidence(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """Where nothing that was accepted resembles the question, nothing is left."""
    accept(knowledge, "one", found["lake"], found["oven"])

    assert left(knowledge, "one").passages == ()


def test_the_nearer_run_counts(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """A passage that two runs have accepted is left by the one whose question is nearer."""
    accept(knowledge, "one", found["dance"])
    accept(knowledge, "two", found["dance"])

    assert [one.run for one in left(knowledge, "two", "one").passages] == ["two"]


def test_filters_hold_for_what_is_left(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """What a run may not read it does not inherit."""
    accept(knowledge, "one", *found.values())

    assert left(knowledge, "one", filters=(Filter(field="suffix", equals=".pdf"),)).passages == ()


def test_a_run_is_unchanged_while_nothing_new_is_in_its_corpora(
    knowledge: KnowledgeBase, found: dict[str, PassageRef]
) -> None:
    """Queries of a run that ended before a document came would find more today; so may those of one that read less."""
    accept(knowledge, "one", found["dance"])

    assert left(knowledge, "one", "nothing").unchanged == ("one",)
    assert left(knowledge, "one", at=LATER - timedelta(days=9)).unchanged == ()


def test_an_unknown_corpus_is_told(knowledge: KnowledgeBase) -> None:
    """There is nothing to inherit where no corpus is."""
    with pytest.raises(UnknownCorpus):
        left(knowledge, "one")
