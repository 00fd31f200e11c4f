"""Tests of the use of proposed thoughts and of facts found hop by hop."""

from tenure.roles.base import Evidence
from tenure.roles.reasoning.hop_reasoner import HopReasonerInput, HopReasonerOutput, build_hop
from tenure.roles.reasoning.hop_reasoner import render as render_hop
from tenure.roles.reasoning.thought_proposer import (
    ProposedThought,
    ThoughtProposerInput,
    ThoughtProposerOutput,
    build_thoughts,
)
from tenure.roles.reasoning.thought_proposer import render as render_proposal
from tests.support.passages import passage
from tests.support.worlds import encode

QUESTION = "Is sourdough bread worth the work?"
HARDER = "The work on sourdough bread is harder than with yeast."
EVIDENCE = Evidence((passage(HARDER),), encode)


def test_thoughts_cite_passages() -> None:
    """A thought is cited, a thought without a passage is dropped, and the number of thoughts is limited."""
    said = [ProposedThought(kind="point", text=text, passages=cited) for text, cited in ((HARDER, (1,)), ("No.", ()))]
    found = build_thoughts(
        ThoughtProposerInput(question=QUESTION, breadth=2), ThoughtProposerOutput(thoughts=(*said, said[0])), EVIDENCE
    )

    assert [(step.kind, step.claim.status) for step in found.thoughts] == [("point", "supported")]


def test_an_empty_path_is_omitted() -> None:
    """A first thought has no path in its prompt, and a first hop has no facts."""
    assert "<previous>" not in render_proposal(ThoughtProposerInput(question=QUESTION), EVIDENCE)[1].content
    assert (
        "<previous>" not in render_hop(HopReasonerInput(question=QUESTION, hop_question=QUESTION), EVIDENCE)[1].content
    )


def test_a_fact_needs_a_citation() -> None:
    """A fact becomes a claim with a quote; without a passage or text there is no fact."""

    def said(fact: str, *passages: int) -> HopReasonerOutput:
        return HopReasonerOutput(fact=fact, passages=passages, link=" yeast ", next_question="?", complete=False)

    found = build_hop(HopReasonerInput(question=QUESTION, hop_question=QUESTION), said(HARDER, 1), EVIDENCE)

    assert found.fact is not None and found.fact.status == "supported"
    assert found.link == "yeast"
    assert build_hop(HopReasonerInput(question=QUESTION, hop_question=QUESTION), said(HARDER), EVIDENCE).fact is None
    assert build_hop(HopReasonerInput(question=QUESTION, hop_question=QUESTION), said(" "), EVIDENCE).fact is None
