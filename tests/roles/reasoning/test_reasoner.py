"""Tests of the reasoner's fallback for every strategy, of its prompt, and of the reasoning built from an answer."""

from typing import get_args

import pytest

from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import Citation, Claim
from tenure.contracts.evidence.reasoning import MAX_REASONING_STEPS, ReasoningStep, ReasoningStrategy, StepKind
from tenure.roles.base import Evidence
from tenure.roles.reasoning.reasoner import (
    STRATEGY_PROMPTS,
    ReasonerInput,
    ReasonerOutput,
    ReasonerStep,
    build_reasoning,
    fallback,
    render,
)
from tests.support.passages import passage
from tests.support.worlds import encode

COLD = "The dough of rye bread rises slowly in a cold kitchen."
SO = "Therefore the bakers of rye bread have to heat the kitchen before dawn."
PASSAGES = (passage(f"{COLD} {SO}"), passage("Salt is added late.", "salt"))
QUESTION = "Why do bakers of rye bread heat the cold kitchen for the dough?"


def twin(strategy: ReasoningStrategy, *so_far: ReasoningStep, question: str = QUESTION) -> ReasonerOutput:
    return fallback(
        ReasonerInput(question=question, strategy=strategy, earlier_steps=so_far), Evidence(PASSAGES, encode)
    )


def thought(kind: StepKind, text: str, *follows: int) -> ReasoningStep:
    quote = Citation(source=SourceId("bread"), chunk=PASSAGES[0].chunk, start=0, end=len(COLD), quote=COLD)
    return ReasoningStep(kind=kind, claim=Claim(text=text, citations=(quote,)), follows=follows)


def written(text: str, *passages: int, follows: tuple[int, ...] = ()) -> ReasonerStep:
    return ReasonerStep(kind="premise", text=text, passages=passages, follows=follows, link=" by name ")


def line(*steps: ReasonerStep, conclusion: int = 0) -> ReasonerOutput:
    return ReasonerOutput(steps=steps, conclusion=conclusion, answer=" yes ", confidence=0.7)


@pytest.mark.parametrize("strategy", ["chain", "causal"])
def test_the_fallback_ends_with_a_conclusion_of_a_source(strategy: ReasoningStrategy) -> None:
    """The conclusion is the last step, with the step it follows from and the passage that contains both."""
    found = twin(strategy)

    assert [(step.kind, step.text, step.passages, step.follows) for step in found.steps] == [
        ("premise", COLD, (1,), ()),
        ("inference", SO, (1,), (1,)),
    ]
    assert found.conclusion == 2
    assert 0 < found.confidence <= 1


@pytest.mark.parametrize("strategy", ["analogical", "counterfactual", "self_consistency", "tree", "multi_hop"])
def test_the_fallback_returns_no_steps_without_support(strategy: ReasoningStrategy) -> None:
    """A strategy that the evidence does not support gives no steps."""
    assert twin(strategy) == ReasonerOutput(steps=(), conclusion=0, answer="", confidence=0.0)


def test_thoughts_need_two_sides() -> None:
    """Thoughts of a tree are returned if both sides are present; the reader weighs them."""
    both = twin("tree", thought("for", "It is better."), thought("against", "It is harder.", 1))

    assert [(step.kind, step.follows) for step in both.steps] == [("for", ()), ("against", (1,))]
    assert both.conclusion == 0
    assert twin("tree", thought("for", "It is better."), thought("for", "It is best.")).steps == ()


def test_the_last_hop_is_the_conclusion() -> None:
    """The last of several hops answers the question."""
    found = twin("multi_hop", thought("hop", COLD), thought("hop", SO, 1))

    assert (found.conclusion, [step.passages for step in found.steps]) == (2, [(1,), (1,)])
    assert found.confidence == 0.5


def test_reasoning_is_built_from_an_answer() -> None:
    """Passages become quotes, an inference cites the passages of its steps, and the conclusion is separate."""
    output = line(written(COLD, 1), written("So heat it.", follows=(1, 1, 7)), conclusion=2)
    found = build_reasoning(ReasonerInput(question=QUESTION, strategy="chain"), output, Evidence(PASSAGES, encode))

    assert [step.claim.status for step in found.steps] == ["supported"]
    assert found.conclusion is not None
    assert (found.conclusion.claim.citations[0].quote, found.conclusion.follows) == (SO, (1,))
    assert (found.conclusion.link, found.answer, found.confidence) == ("by name", "yes", 0.7)


def test_steps_after_the_conclusion_are_omitted() -> None:
    """The reasoning ends with the conclusion; a number without a step gives no conclusion."""
    ask = ReasonerInput(question=QUESTION, strategy="chain")
    early = build_reasoning(
        ask, line(written("a", 1), written("b", 1), written("c", 1), conclusion=2), Evidence(PASSAGES, encode)
    )
    wrong = build_reasoning(ask, line(written("a", 1), conclusion=5), Evidence(PASSAGES, encode))
    empty = build_reasoning(ask, line(), Evidence(PASSAGES, encode))

    assert (len(early.steps), early.conclusion and early.conclusion.claim.text) == (1, "b")
    assert (len(wrong.steps), wrong.conclusion) == (1, None)
    assert (empty.steps, empty.answer, empty.confidence) == ((), "", 0.0)


def test_every_strategy_is_explained_to_a_model() -> None:
    """The prompt contains the instructions of the strategy and the maximum number of steps."""
    assert set(STRATEGY_PROMPTS) == set(get_args(ReasoningStrategy))
    for strategy in STRATEGY_PROMPTS:
        system, user = render(ReasonerInput(question=QUESTION, strategy=strategy), Evidence(PASSAGES))
        assert STRATEGY_PROMPTS[strategy] in user.content and str(MAX_REASONING_STEPS) in system.content


def test_an_invalid_passage_is_not_cited() -> None:
    """A step with an invalid passage has no citation."""
    found = build_reasoning(
        ReasonerInput(question=QUESTION, strategy="chain"), line(written("a", 9)), Evidence(PASSAGES, encode)
    )

    assert found.steps[0].claim.status == "invalid_source"
    assert ChunkId("x") not in {citation.chunk for citation in found.steps[0].claim.citations}
