"""Test which findings of related runs a new run inherits, on a real knowledge base."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from tenure.contracts.base import RunId
from tenure.contracts.evidence.filters import Filter
from tenure.contracts.evidence.passages import PassageRef
from tenure.contracts.research.learning import InheritReply, InheritRequest, RelatedRun
from tenure.contracts.research.report import Topic
from tenure.contracts.research.spiral import AnalysisRequest, CandidatePassage, TopicState
from tenure.knowledge.base import KnowledgeBase
from tenure.knowledge.store.errors import UnknownCorpus
from tests.knowledge.conftest import FoundIn
from tests.support.tiers import slow

QUESTION = "What do bees dance on the comb for?"
TEXTS = {
    "dance.md": "# Karl Frisch\n\nBees dance on the comb for nectar, as Karl Frisch found at Lake Wolfgang.\n",
    "lake.md": "# Lake Wolfgang\n\nWater of great depth, with steamers since 1873.\n",
    "oven.md": "# Ovens\n\nThe oven bakes loaves in forty minutes.\n",
}
LATER = datetime.now(UTC) + timedelta(days=1)


@pytest.fixture
def found(found_in: FoundIn) -> dict[str, PassageRef]:
    """Passage of each document of a small corpus, by document name."""
    return found_in(TEXTS, "bees oven lake")


def accept(knowledge: KnowledgeBase, run: str, *passages: PassageRef) -> None:
    """Let a run accept passages."""
    aim = TopicState(topic=Topic(heading="Bees", question="bees dance comb nectar lake water oven loaves minutes"))
    knowledge.retrieval.analyze_candidates(
        AnalysisRequest(
            run=RunId(run),
            cycle=1,
            question=QUESTION,
            corpora=("c",),
            topics=(aim,),
            candidates=tuple(CandidatePassage(topic="Bees", query=f"asked by {run}", passage=one) for one in passages),
            min_relevance=0.0,
            min_novelty=0.0,
        )
    )


def left(knowledge: KnowledgeBase, *runs: str, at: datetime = LATER, filters: tuple[Filter, ...] = ()) -> InheritReply:
    """Return the findings that runs pass on, given the time at which they ended."""
    related = tuple(RelatedRun(run=RunId(run), question=QUESTION, ended_at=at, relevance=1.0) for run in runs)
    return knowledge.retrieval.inherit_findings(
        InheritRequest(runs=related, question=QUESTION, corpora=("c",), filters=filters, min_relevance=0.3)
    )


Names = Callable[[InheritReply], list[str]]


@pytest.fixture
def names(found: dict[str, PassageRef]) -> Names:
    """Return a function from inherited findings to document names."""
    known = {ref.chunk: name for name, ref in found.items()}
    return lambda inherited: [known[one.passage.chunk] for one in inherited.passages]


@slow
def test_similar_and_linked_findings_are_inherited(
    knowledge: KnowledgeBase, found: dict[str, PassageRef], names: Names
) -> None:
    """A passage about the question and one linked to it are inherited, one about another subject is not."""
    accept(knowledge, "one", *found.values())
    inherited = left(knowledge, "one")

    assert names(inherited) == ["dance", "lake"]
    assert [one.passage.graph_rank for one in inherited.passages] == [None, 1]
    assert {(one.query, one.run) for one in inherited.passages} == {("asked by one", "one")}


@slow
def test_links_without_a_relevant_finding_inherit_nothing(
    knowledge: KnowledgeBase, found: dict[str, PassageRef]
) -> None:
    """Without a finding that is similar to the question nothing is inherited."""
    accept(knowledge, "one", found["lake"], found["oven"])

    assert left(knowledge, "one").passages == ()


@slow
def test_most_similar_run_counts(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """A passage accepted by two runs is inherited from the one with the more similar question."""
    accept(knowledge, "one", found["dance"])
    accept(knowledge, "two", found["dance"])

    assert [one.run for one in left(knowledge, "two", "one").passages] == ["two"]


@slow
def test_filters_apply_to_inherited_findings(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """A run does not inherit what its filters exclude."""
    accept(knowledge, "one", *found.values())

    assert left(knowledge, "one", filters=(Filter(field="suffix", equals=".pdf"),)).passages == ()


@slow
def test_run_is_unchanged_without_new_documents(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """A run is changed by a later document, and by a corpus that it did not read."""
    accept(knowledge, "one", found["dance"])

    assert left(knowledge, "one", "nothing").unchanged == ("one",)
    assert left(knowledge, "one", at=LATER - timedelta(days=9)).unchanged == ()


@slow
def test_runs_before_a_change_are_changed(knowledge: KnowledgeBase, found: dict[str, PassageRef]) -> None:
    """Of runs with several ends, exactly those that ended before the last change of a document are changed."""
    days = {"newest": 1, "new": 0.5, "old": -1, "oldest": -9}
    for run in days:
        accept(knowledge, run, found["dance"])
    runs = tuple(
        RelatedRun(run=RunId(run), question=QUESTION, ended_at=datetime.now(UTC) + timedelta(days=at), relevance=1.0)
        for run, at in days.items()
    )
    request = InheritRequest(runs=runs[::-1], question=QUESTION, corpora=("c",), min_relevance=0.3)

    assert knowledge.retrieval.list_unchanged_runs(request) == ("new", "newest")


def test_unknown_corpus_raises_an_error(knowledge: KnowledgeBase) -> None:
    """An unknown corpus raises an error."""
    with pytest.raises(UnknownCorpus):
        left(knowledge, "one")
