"""Which strategy a question gets, how answers are counted, and what is left of a line of thought after its check."""

import pytest

from tenure.algorithms.reasoning import strategies as reasoning
from tenure.contracts.base import ChunkId, SourceId
from tenure.contracts.evidence.passages import Block, Citation, Claim, ClaimStatus, Draft
from tenure.contracts.evidence.reasoning import Considered, Reasoning, ReasoningStep
from tenure.contracts.run.run import Complexity, QueryType
from tests.passages import reference


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
    """Return a line of thought."""
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
def test_the_type_of_a_question_chooses(question: str, kind: QueryType | None, expected: str) -> None:
    """Each type has its way to reason; of a factual question its words decide."""
    assert reasoning.chosen(question, kind, "moderate") == expected


@pytest.mark.parametrize("complexity", ["simple", "complex"])
def test_a_person_overrides_the_choice(complexity: Complexity) -> None:
    """What a person chose holds whatever the question; a simple one gets nothing by itself."""
    assert reasoning.chosen("Why?", "causal", complexity, "tree") == "tree"
    assert reasoning.chosen("Why?", "causal", complexity, "none") == "none"
    assert reasoning.chosen("Why?", "causal", "simple") == "none"


def test_samples_share_no_source() -> None:
    """Sources are dealt out in turn, and a sample that gets none is left out."""
    passages = [reference(0.9, "a", "a1"), reference(0.8, "b", "b1"), reference(0.7, "a", "a2")]
    found = reasoning.samples(passages, 3)

    assert [[p.chunk for p in sample] for sample in found] == [["a1", "a2"], ["b1"]]


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
def test_answers_agree_by_what_they_say(one: str, other: str, same: bool) -> None:
    """Case and small words do not matter; other numbers, denials and other words do."""
    assert reasoning.agree(one, other) is same


def test_votes_are_counted() -> None:
    """The answer that most give comes first; no answer is no vote."""
    found = reasoning.vote(["1848", "1890", "", "in 1848"])

    assert [(votes.members, round(votes.share, 2)) for votes in found] == [((0, 3), 0.67), ((1,), 0.33)]


def test_the_winning_line_carries_the_vote() -> None:
    """The surest line with the winning answer is told, with the sentences that agree and what was outvoted."""
    lines = [
        line(concludes=step("It was in 1848."), answer="1848", sure=0.5),
        line(concludes=step("It was in 1890."), answer="1890", sure=0.9),
        line(step("Given."), concludes=step("In 1848 it was.", 1), answer="in 1848", sure=0.7),
    ]
    won = reasoning.outvoted(lines)

    assert won is not None and won.conclusion is not None
    assert won.conclusion.claim.text == "In 1848 it was."
    assert [(one.kind, one.claim.text) for one in won.steps] == [("premise", "Given."), ("answer", "It was in 1848.")]
    assert won.confidence == 0.667
    assert won.considered == (Considered(text="1890", score=0.333, why="1 of 3 lines of thought came to it"),)


def test_a_single_answer_is_no_vote() -> None:
    """One line alone keeps its own confidence, and none at all is nothing."""
    won = reasoning.outvoted([line(step("a"), concludes=step("b", 1), answer="b", sure=0.4), line()])

    assert won is not None and won.confidence == 0.4
    assert reasoning.outvoted([line(), line()]) is None
    same = [line(step("a"), answer="b"), line(concludes=step("b"), answer="b"), line(concludes=step("B."), answer="b")]
    agreed = reasoning.outvoted(same)
    assert agreed is not None and [one.claim.text for one in agreed.steps] == ["a", "b"]


def test_the_best_thoughts_are_kept() -> None:
    """As many as the tree is broad are followed, none of them below the bar."""
    found = reasoning.pruned([0.4, 0.9, 0.1, 0.8], 2)

    assert (found.kept, found.dropped) == ((1, 3), (0, 2))
    assert reasoning.pruned([0.1], 3).kept == ()


def test_scores_go_to_their_thoughts() -> None:
    """A verdict on no thought is ignored, and a thought without a verdict is worth nothing."""
    found = reasoning.scores([(2, 0.7, "good\nindeed"), (9, 1.0, "what?")], 2)

    assert [(one.score, one.why) for one in found] == [(0.0, "it was not judged"), (0.7, "good indeed")]


def test_a_tree_is_read_branch_by_branch() -> None:
    """Thoughts follow those they grew from, their numbers are those of the reading, and repetitions are left out."""
    grown = [step("a"), step("b"), step("b1", 2), step("a1", 1)]

    assert [one.claim.text for one in reasoning.fresh([step("a"), step("c"), step("C.")], ["A"])] == ["c"]
    assert reasoning.path(grown, 4) == ("a", "a1")
    assert reasoning.path(grown, 0) == ()
    assert [(one.claim.text, one.follows) for one in reasoning.ordered(grown)] == [
        ("a", ()),
        ("a1", (1,)),
        ("b", ()),
        ("b1", (3,)),
    ]


def test_steps_fall_with_what_they_rest_on() -> None:
    """A step that was taken out takes those along that follow from it, and the others are counted anew."""
    thought = line(step("a"), step("b"), step("of a", 1), step("of b", 2), concludes=step("end", 4))
    checked = [draft if n else Draft() for n, draft in enumerate(reasoning.drafts(thought))]
    held = reasoning.held(thought, checked)

    assert held is not None and held.conclusion is not None
    assert [(one.claim.text, one.follows) for one in held.steps] == [("b", ()), ("of b", (1,))]
    assert held.conclusion.follows == (2,)
    assert held.confidence == 0.48


def test_a_conclusion_falls_with_its_last_step() -> None:
    """A conclusion whose ground is gone is not drawn; too little left is no reasoning; what is open weakens it."""
    thought = line(step("a"), step("b"), step("c"), concludes=step("end", 3))
    checked = list(reasoning.drafts(thought))
    checked[2] = Draft()
    held = reasoning.held(thought, checked)

    assert held is not None and held.conclusion is None and len(held.steps) == 2
    assert reasoning.held(line(step("a"), concludes=step("b", 1)), [Draft(), checked[1]]) is None
    assert reasoning.held(line(), ()) is None

    half = [checked[0], Draft(blocks=(Block(claims=(claim("b", "neutral"),)),))]
    doubted = reasoning.held(line(step("a"), step("b")), half)
    assert doubted is not None and doubted.confidence == 0.4


def test_a_step_that_cites_nothing_is_taken_out() -> None:
    """Whatever a model says without a source is not part of a line of thought."""
    bare = ReasoningStep(kind="premise", claim=Claim(text="a", status="missing_citation"))
    thought = line(bare, step("b"), step("c"))
    held = reasoning.held(thought, reasoning.drafts(thought))

    assert held is not None and [one.claim.text for one in held.steps] == ["b", "c"]


def test_what_the_report_says_already_is_left_out() -> None:
    """A line of thought most of whose sentences stand in the report is not set out again."""
    thought = line(step("a"), concludes=step("b", 1))
    written = Draft(blocks=(Block(claims=(claim("A."), claim("B."))),))
    half = Draft(blocks=(Block(claims=(claim("A."),)),))
    within = Draft(blocks=(Block(claims=(claim("A, so b."),)),))

    assert reasoning.beside(thought, [written]) is None
    assert reasoning.beside(thought, [within]) is None
    assert reasoning.beside(thought, [half]) == thought
    assert reasoning.beside(None, [written]) is None


def test_writers_read_a_line_of_thought_as_text() -> None:
    """Steps, conclusion and confidence are told, and which passages they rest on is known."""
    thought = line(step("a"), concludes=step("b", 1))

    assert reasoning.as_text(thought) == "1. (premise) a\nConclusion: b\nConfidence: 80%"
    assert reasoning.as_text(line(step("a"))) == "1. (premise) a\nConfidence: 80%"
    assert reasoning.as_text(None) == ""
    cited = reasoning.cited(thought, [reference(0.5, chunk="a"), reference(0.4, chunk="x")])
    assert [passage.chunk for passage in cited] == ["a"]
    assert reasoning.cited(None, [reference(0.5)]) == ()
