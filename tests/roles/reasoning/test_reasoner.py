"""The reasoner's twin for every strategy, its prompt, and the line of thought made of an answer."""

from typing import get_args

import pytest

from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import Citation, Claim
from tenure.contracts.evidence.reasoning import MOST_STEPS, ReasoningStep, ReasoningStrategy, StepKind
from tenure.roles.base import Evidence
from tenure.roles.reasoning.reasoner import WAYS, ReasonedStep, ReasonerInput, ReasonerOutput, offline, reasoned, render
from tests.passages import passage
from tests.worlds import encode

COLD = "The dough of rye bread rises slowly in a cold kitchen."
SO = "Therefore the bakers of rye bread have to heat the kitchen before dawn."
PASSAGES = (passage(f"{COLD} {SO}"), passage("Salt is added late.", "salt"))
QUESTION = "Why do bakers of rye bread heat the cold kitchen for the dough?"


def twin(strategy: ReasoningStrategy, *so_far: ReasoningStep, question: str = QUESTION) -> ReasonerOutput:
    return offline(ReasonerInput(question=question, strategy=strategy, so_far=so_far), Evidence(PASSAGES, encode))


def thought(kind: StepKind, text: str, *follows: int) -> ReasoningStep:
    quote = Citation(source=SourceId("bread"), chunk=PASSAGES[0].chunk, start=0, end=len(COLD), quote=COLD)
    return ReasoningStep(kind=kind, claim=Claim(text=text, citations=(quote,)), follows=follows)


def written(text: str, *passages: int, follows: tuple[int, ...] = ()) -> ReasonedStep:
    return ReasonedStep(kind="premise", text=text, passages=passages, follows=follows, link=" by name ")


def line(*steps: ReasonedStep, conclusion: int = 0) -> ReasonerOutput:
    return ReasonerOutput(steps=steps, conclusion=conclusion, answer=" yes ", confidence=0.7)


@pytest.mark.parametrize("strategy", ["chain", "causal"])
def test_the_twin_ends_in_what_a_source_concludes(strategy: ReasoningStrategy) -> None:
    """The conclusion is the last step, with the step it follows from and the passage that says both."""
    found = twin(strategy)

    assert [(step.kind, step.text, step.passages, step.follows) for step in found.steps] == [
        ("premise", COLD, (1,), ()),
        ("inference", SO, (1,), (1,)),
    ]
    assert found.conclusion == 2
    assert 0 < found.confidence <= 1


@pytest.mark.parametrize("strategy", ["analogical", "counterfactual", "self_consistency", "tree", "multi_hop"])
def test_the_twin_says_nothing_where_it_has_nothing_sound(strategy: ReasoningStrategy) -> None:
    """A strategy that the evidence does not bear makes no line of thought."""
    assert twin(strategy) == ReasonerOutput(steps=(), conclusion=0, answer="", confidence=0.0)


def test_the_twin_weighs_only_what_has_two_sides() -> None:
    """Thoughts of a tree are set out where both sides have their say; the weighing is left to the reader."""
    both = twin("tree", thought("for", "It is better."), thought("against", "It is harder.", 1))

    assert [(step.kind, step.follows) for step in both.steps] == [("for", ()), ("against", (1,))]
    assert both.conclusion == 0
    assert twin("tree", thought("for", "It is better."), thought("for", "It is best.")).steps == ()


def test_the_twin_ends_a_chain_of_facts_with_the_last() -> None:
    """The last of several hops answers the question."""
    found = twin("multi_hop", thought("hop", COLD), thought("hop", SO, 1))

    assert (found.conclusion, [step.passages for step in found.steps]) == (2, [(1,), (1,)])
    assert found.confidence == 0.5


def test_an_answer_becomes_a_line_of_thought() -> None:
    """Named passages become quotes, an inference cites what its steps cite, and the conclusion stands apart."""
    output = line(written(COLD, 1), written("So heat it.", follows=(1, 1, 7)), conclusion=2)
    found = reasoned(ReasonerInput(question=QUESTION, strategy="chain"), output, PASSAGES)

    assert [step.claim.status for step in found.steps] == ["supported"]
    assert found.conclusion is not None
    assert (found.conclusion.claim.citations[0].quote, found.conclusion.follows) == (SO, (1,))
    assert (found.conclusion.link, found.answer, found.confidence) == ("by name", "yes", 0.7)


def test_what_comes_after_the_conclusion_is_left_out() -> None:
    """A line of thought ends where it answers the question; a number that names no step concludes nothing."""
    ask = ReasonerInput(question=QUESTION, strategy="chain")
    early = reasoned(ask, line(written("a", 1), written("b", 1), written("c", 1), conclusion=2), PASSAGES)
    wrong = reasoned(ask, line(written("a", 1), conclusion=5), PASSAGES)
    empty = reasoned(ask, line(), PASSAGES)

    assert (len(early.steps), early.conclusion and early.conclusion.claim.text) == (1, "b")
    assert (len(wrong.steps), wrong.conclusion) == (1, None)
    assert (empty.steps, empty.answer, empty.confidence) == ((), "", 0.0)


def test_every_strategy_is_explained_to_a_model() -> None:
    """The prompt says how to reason, and how long a line of thought may be."""
    assert set(WAYS) == set(get_args(ReasoningStrategy))
    for strategy in WAYS:
        system, user = render(ReasonerInput(question=QUESTION, strategy=strategy), Evidence(PASSAGES))
        assert WAYS[strategy] in user.content and str(MOST_STEPS) in system.content


def test_a_citation_of_nothing_is_none() -> None:
    """A passage that does not exist leaves the step without a source."""
    found = reasoned(ReasonerInput(question=QUESTION, strategy="chain"), line(written("a", 9)), PASSAGES)

    assert found.steps[0].claim.status == "invalid_source"
    assert ChunkId("x") not in {citation.chunk for citation in found.steps[0].claim.citations}
