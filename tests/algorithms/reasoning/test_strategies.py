"""Tests of reasoning strategies, votes and verified lines of reasoning."""

import pytest

from tenure.algorithms.reasoning import strategies as reasoning
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.choices import Complexity
from tenure.contracts.evidence.passages import Block, Citation, Claim, ClaimStatus, Draft
from tenure.contracts.evidence.reasoning import Reasoning, ReasoningStep, RejectedThought
from tenure.contracts.run.run import QueryType
from tests.support.passages import reference


def claim(text: str, status: ClaimStatus = "supported") -> Claim:
    """Return a claim that cites a passage of its own."""
    quote = Citation(source=SourceId("s"), chunk=ChunkId(text), start=0, end=1, quote="q")
    return Claim(text=text, status=status, citations=(quote,))


def step(text: str, *follows: int) -> ReasoningStep:
    """Return a step."""
    return ReasoningStep(kind="premise", claim=claim(text), follows=follows)


def line(
    *steps: ReasoningStep, concludes: ReasoningStep | None = None, answer: str = "", sure: float = 0.8
) -> Reasoning:
    """Return a line of reasoning."""
    return Reasoning(strategy="chain", steps=steps, conclusion=concludes, answer=answer, confidence=sure)


@pytest.mark.parametrize(
    ("question", "kind", "expected"),
    [
        ("How does bread rise?", "analytical", "chain"),
        ("Why does bread rise?", "analytical", "causal"),
        ("Compare bread and cheese", "comparative", "analogical"),
        ("How do I bake bread?", "procedural", "chain"),
        ("Is bread worth it?", "evaluative", "tree"),
        ("What if there were no bread?", "hypothetical", "counterfactual"),
        ("Why should bread rest?", "evaluative", "causal"),
        ("What causes hunger?", "causal", "causal"),
        ("History of bread", "temporal", "chain"),
        ("Who baked the first bread?", "factual", "self_consistency"),
        ("What is bread?", "factual", "none"),
        ("Who wrote Middlemarch, and where was that author born?", "factual", "multi_hop"),
        ("What would happen if bread was gone?", None, "counterfactual"),
    ],
)
def test_query_type_chooses_the_strategy(question: str, kind: QueryType | None, expected: str) -> None:
    """Each query type has a strategy; for a factual question the wording decides."""
    assert reasoning.choose_reasoning_strategy(question, kind, "moderate") == expected


@pytest.mark.parametrize("complexity", ["simple", "complex"])
def test_requested_strategy_overrides_the_choice(complexity: Complexity) -> None:
    """A requested strategy applies to any question; a simple question has none by default."""
    assert reasoning.choose_reasoning_strategy("Why?", "causal", complexity, "tree") == "tree"
    assert reasoning.choose_reasoning_strategy("Why?", "causal", complexity, "none") == "none"
    assert reasoning.choose_reasoning_strategy("Why?", "causal", "simple") == "none"


def test_samples_share_no_source() -> None:
    """Sources are distributed in turn, and empty samples are omitted."""
    passages = [reference(0.9, "a", "a1"), reference(0.8, "b", "b1"), reference(0.7, "a", "a2")]
    found = reasoning.partition_by_source(passages, 3)

    assert found == [(1, 3), (2,)]


def test_numbers_are_grouped_into_ranges() -> None:
    """Consecutive numbers are one range; no numbers give an empty text."""
    assert reasoning.group_numbers((1, 2, 3, 7, 9, 10)) == "1-3, 7, 9-10"
    assert reasoning.group_numbers(()) == ""


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1848", "in 1848", True),
        ("1848", "1849", False),
        ("Guido", "Guido van Rossum", True),
        ("yes", "Yes.", True),
        ("yes", "no", False),
        ("bread rises", "bread never rises", False),
        ("warm fresh bread", "fresh bread loaf", True),
        ("bread", "cheese", False),
    ],
)
def test_equivalent_answers_agree(one: str, other: str, same: bool) -> None:
    """Case and stop words are ignored; different numbers, negations and words are not."""
    assert reasoning.is_same_answer(one, other) is same


def test_votes_are_counted() -> None:
    """The most frequent answer comes first; an empty answer is no vote."""
    found = reasoning.count_votes(["1848", "1890", "", "in 1848"])

    assert [(votes.members, round(votes.share, 2)) for votes in found] == [((0, 3), 0.67), ((1,), 0.33)]


def test_majority_line_is_selected() -> None:
    """The most confident line with the majority answer is returned, with agreeing and outvoted answers."""
    lines = [
        line(concludes=step("It was in 1848."), answer="1848", sure=0.5),
        line(concludes=step("It was in 1890."), answer="1890", sure=0.9),
        line(step("Given."), concludes=step("In 1848 it was.", 1), answer="in 1848", sure=0.7),
    ]
    won = reasoning.select_majority(lines)

    assert won is not None and won.conclusion is not None
    assert won.conclusion.claim.text == "In 1848 it was."
    assert [(one.kind, one.claim.text) for one in won.steps] == [("premise", "Given."), ("answer", "It was in 1848.")]
    assert won.rejected == (
        RejectedThought(text="1890", score=0.333, reason="1 of 3 lines of reasoning gave this answer"),
    )


def test_a_single_answer_wins() -> None:
    """The only line with an answer is returned, and no answer returns None."""
    won = reasoning.select_majority([line(step("a"), concludes=step("b", 1), answer="b", sure=0.4), line()])

    assert won is not None and won.answer == "b"
    assert reasoning.select_majority([line(), line()]) is None
    same = [line(step("a"), answer="b"), line(concludes=step("b"), answer="b"), line(concludes=step("B."), answer="b")]
    agreed = reasoning.select_majority(same)
    assert agreed is not None and [one.claim.text for one in agreed.steps] == ["a", "b"]


def test_dependent_steps_are_removed() -> None:
    """A removed step removes the steps that follow from it, and the rest is renumbered."""
    thought = line(step("a"), step("b"), step("of a", 1), step("of b", 2), concludes=step("end", 4))
    checked = [draft if n else Draft() for n, draft in enumerate(reasoning.to_drafts(thought))]
    held = reasoning.apply_verification(thought, checked)

    assert held is not None and held.conclusion is not None
    assert [(one.claim.text, one.follows) for one in held.steps] == [("b", ()), ("of b", (1,))]
    assert held.conclusion.follows == (2,)


def test_conclusion_is_removed_with_its_step() -> None:
    """A conclusion needs its step; too few sentences return None."""
    thought = line(step("a"), step("b"), step("c"), concludes=step("end", 3))
    checked = list(reasoning.to_drafts(thought))
    checked[2] = Draft()
    held = reasoning.apply_verification(thought, checked)

    assert held is not None and held.conclusion is None and len(held.steps) == 2
    assert reasoning.apply_verification(line(step("a"), concludes=step("b", 1)), [Draft(), checked[1]]) is None
    assert reasoning.apply_verification(line(), ()) is None


def test_step_without_citation_is_removed() -> None:
    """A sentence of a model without a source is not part of a line of reasoning."""
    bare = ReasoningStep(kind="premise", claim=Claim(text="a", status="missing_citation"))
    thought = line(bare, step("b"), step("c"))
    held = reasoning.apply_verification(thought, reasoning.to_drafts(thought))

    assert held is not None and [one.claim.text for one in held.steps] == ["b", "c"]


def test_repeated_reasoning_is_discarded() -> None:
    """A line of reasoning is discarded if the report already contains most of it."""
    thought = line(step("a"), concludes=step("b", 1))
    written = Draft(blocks=(Block(claims=(claim("A."), claim("B."))),))
    half = Draft(blocks=(Block(claims=(claim("A."),)),))
    within = Draft(blocks=(Block(claims=(claim("A, so b."),)),))

    assert reasoning.discard_if_repeated(thought, [written]) is None
    assert reasoning.discard_if_repeated(thought, [within]) is None
    assert reasoning.discard_if_repeated(thought, [half]) == thought
    assert reasoning.discard_if_repeated(None, [written]) is None
