"""Tests of the reasoner's prompt, and of the reasoning built from an answer."""

from typing import get_args

from tenure.contracts.base import ChunkId
from tenure.contracts.evidence.reasoning import MAX_REASONING_STEPS, ReasoningStrategy
from tenure.roles.base import Evidence
from tenure.roles.reasoning.reasoner import (
    STRATEGY_PROMPTS,
    ReasonerInput,
    ReasonerOutput,
    ReasonerStep,
    build_reasoning,
    render,
)
from tests.support.passages import passage
from tests.support.worlds import encode

COLD = "The dough of rye bread rises slowly in a cold kitchen."
SO = "Therefore the bakers of rye bread have to heat the kitchen before dawn."
PASSAGES = (passage(f"{COLD} {SO}"), passage("Salt is added late.", "salt"))
QUESTION = "Why do bakers of rye bread heat the cold kitchen for the dough?"


def written(text: str, *passages: int, follows: tuple[int, ...] = ()) -> ReasonerStep:
    return ReasonerStep(kind="premise", text=text, passages=passages, follows=follows, link=" by name ")


def line(*steps: ReasonerStep, conclusion: int = 0) -> ReasonerOutput:
    return ReasonerOutput(steps=steps, conclusion=conclusion, answer=" yes ", confidence=0.7)


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
