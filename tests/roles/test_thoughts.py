"""The twins that propose and judge thoughts and find facts hop by hop, and what is made of their answers."""

from tenure.roles.base import Evidence
from tenure.roles.reasoning.hop_reasoner import HopReasonerInput, HopReasonerOutput, hopped
from tenure.roles.reasoning.hop_reasoner import offline as hop
from tenure.roles.reasoning.hop_reasoner import render as render_hop
from tenure.roles.reasoning.thought_evaluator import ThoughtEvaluatorInput
from tenure.roles.reasoning.thought_evaluator import offline as evaluate
from tenure.roles.reasoning.thought_evaluator import render as render_evaluation
from tenure.roles.reasoning.thought_proposer import (
    ProposedThought,
    ThoughtProposerInput,
    ThoughtProposerOutput,
    proposed,
)
from tenure.roles.reasoning.thought_proposer import offline as propose
from tenure.roles.reasoning.thought_proposer import render as render_proposal
from tests.passages import passage
from tests.worlds import encode

QUESTION = "Is sourdough bread worth the work?"
HARDER = "The work on sourdough bread is harder than with yeast."
EVIDENCE = Evidence((passage(HARDER),), encode)


def test_the_twin_proposes_what_takes_a_side() -> None:
    """A sentence that plainly speaks against is a thought with its passage."""
    found = propose(ThoughtProposerInput(question=QUESTION), EVIDENCE)

    assert found.thoughts == (ProposedThought(kind="against", text=HARDER, passages=(1,)),)


def test_thoughts_rest_on_passages() -> None:
    """A thought is cited, one that rests on nothing is dropped, and no more are taken than were asked for."""
    said = [ProposedThought(kind="point", text=text, passages=cited) for text, cited in ((HARDER, (1,)), ("No.", ()))]
    found = proposed(ThoughtProposerOutput(thoughts=(*said, said[0])), 2, EVIDENCE.passages)

    assert [(step.kind, step.claim.status) for step in found.thoughts] == [("point", "supported")]


def test_the_path_is_shown_where_there_is_one() -> None:
    """A beginning has no line of thought before it, and neither has a first hop facts."""
    assert "<previous>" not in render_proposal(ThoughtProposerInput(question=QUESTION), EVIDENCE)[1].content
    assert "<previous>" not in render_hop(HopReasonerInput(question=QUESTION, asked=QUESTION), EVIDENCE)[1].content


def test_the_twin_scores_every_thought() -> None:
    """Each thought gets a verdict with its number, the nearer one the better."""
    found = evaluate(ThoughtEvaluatorInput(question=QUESTION, thoughts=(HARDER, "Milk is white.")), EVIDENCE)

    assert [one.thought for one in found.scores] == [1, 2]
    assert found.scores[0].score > found.scores[1].score
    assert (
        "1. The work"
        in render_evaluation(ThoughtEvaluatorInput(question=QUESTION, thoughts=(HARDER,)), EVIDENCE)[1].content
    )


def test_the_twin_finds_a_fact_or_none() -> None:
    """What the passages bring for a hop is told with its passage; where they bring nothing the chain is over."""
    found = hop(HopReasonerInput(question="Is work on sourdough harder?", asked="?"), EVIDENCE)
    none = hop(HopReasonerInput(question="Where do swallows sleep?", asked="?"), EVIDENCE)

    assert (found.fact, found.passages) == (HARDER, (1,))
    assert (none.fact, none.passages, none.complete) == ("", (), True)


def test_a_fact_is_cited_or_it_is_none() -> None:
    """A fact becomes a claim with a quote; without a passage, or without words, there is no fact."""

    def said(fact: str, *passages: int) -> HopReasonerOutput:
        return HopReasonerOutput(fact=fact, passages=passages, link=" yeast ", next_question="?", complete=False)

    found = hopped(said(HARDER, 1), EVIDENCE.passages)

    assert found.fact is not None and found.fact.status == "supported"
    assert found.link == "yeast"
    assert hopped(said(HARDER), EVIDENCE.passages).fact is None
    assert hopped(said(" "), EVIDENCE.passages).fact is None
