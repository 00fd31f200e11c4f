"""Tests of the reasoner's prompt, and of the reasoning built from an answer."""

from typing import get_args

from tenure.contracts.choices import ReasoningStrategy
from tenure.contracts.evidence.reasoning import MAX_REASONING_STEPS, Reasoning
from tenure.roles.base import Evidence
from tenure.roles.reasoning.reasoner import ReasonerInput, build_reasoning, render
from tenure.roles.reasoning_entries import parse_reasoning
from tests.support.passages import passage
from tests.support.worlds import encode

COLD = "The dough of rye bread rises slowly in a cold kitchen."
SO = "Therefore the bakers of rye bread have to heat the kitchen before dawn."
EVIDENCE = Evidence((passage(f"{COLD} {SO}"), passage("Salt is added late.", "salt")), encode)
QUESTION = "Why do bakers of rye bread heat the cold kitchen for the dough?"


def build(answer: str, **fields: object) -> Reasoning:
    """Return the reasoning of an answer of the model."""
    asked = ReasonerInput.model_validate({"question": QUESTION, "strategy": "chain", **fields})
    return build_reasoning(asked, parse_reasoning(answer), EVIDENCE)


def test_reasoning_is_built_from_an_answer() -> None:
    """Passages become quotes, an inference cites the passages of its steps, and the conclusion is separate."""
    found = build(f"STEP 5 premise: {COLD[:-1]} [1].\nCONCLUSION after 5, 7 via cold: So heat it.\nANSWER: yes")

    assert [step.claim.status for step in found.steps] == ["supported"]
    assert found.conclusion is not None
    assert (found.conclusion.claim.citations[0].quote, found.conclusion.follows) == (SO, (1,))
    assert (found.conclusion.link, found.answer, found.confidence) == ("cold", "yes", 0.5)


def test_an_empty_line_has_no_answer() -> None:
    """An answer without a step is none, and searches count only if they can follow."""
    assert build("ANSWER: yes\nCONFIDENCE: 0.9\nSEARCH: Who is that?") == Reasoning(strategy="chain")
    assert build("SEARCH: Who is that?", strategy="multi_hop", may_search=True).queries == ("Who is that?",)


def test_every_strategy_is_explained_after_the_passages() -> None:
    """Each strategy has instructions of its own, which follow a beginning that is the same for all."""
    prompts = {
        strategy: render(ReasonerInput(question=QUESTION, strategy=strategy), EVIDENCE)
        for strategy in get_args(ReasoningStrategy)
    }
    beginnings = {(system.content, user.content.partition("How to reason: ")[0]) for system, user in prompts.values()}

    assert len(beginnings) == 1 and f"two to {MAX_REASONING_STEPS} steps" in beginnings.pop()[1]
    assert len({user.content for _, user in prompts.values()}) == len(prompts)


def test_a_sample_cites_only_its_own_passages() -> None:
    """A step that names an invalid passage, or one of another sample, has no citation of it."""
    answer = "STEP 1 premise: a [9].\nSTEP 2 premise: Salt is added late [1, 2]."
    found = build(answer, strategy="self_consistency", numbers=(2,))

    assert [step.claim.status for step in found.steps] == ["missing_citation", "supported"]
    assert {citation.source for citation in found.steps[1].claim.citations} == {"salt"}
    asked = ReasonerInput(question=QUESTION, strategy="self_consistency", numbers=(1, 2))
    assert "Reason only from the passages 1-2." in render(asked, EVIDENCE)[-1].content
