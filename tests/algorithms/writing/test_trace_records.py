"""Test the records of results of a run's steps."""

from tenure.algorithms.writing.trace_records import describe_reasoning, describe_review, describe_sections
from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.contracts.evidence.reasoning import Reasoning, ReasoningStep, RejectedThought
from tenure.contracts.research.report import ReportPart, ReportReview, ReportText, SectionVerdict
from tenure.contracts.result.result import EvaluatedPart, Evaluation

CLAIMS = (Claim(text="Bread rises."), Claim(text="It is old."))
TEXT = ReportText(parts=(ReportPart(kind="section", heading="Bread", draft=Draft(blocks=(Block(claims=CLAIMS),))),))
REVIEW = ReportReview(
    text=TEXT,
    queries=("mould",),
    verdicts=(
        SectionVerdict(heading="bread", action="SEARCH", critique="No mould."),
        SectionVerdict(heading="X", action="NONE"),
    ),
    considerations=("Compare ovens.",),
    evaluation=Evaluation(parts=(EvaluatedPart(part="its cost", answered="no"),), issues=("It is vague.",)),
)


def test_a_version_has_its_sections_with_the_verdicts_on_them() -> None:
    """The text of a writer has no verdict; that after a review has the verdict of its heading, in any case."""
    [first] = describe_sections(TEXT, 1, (), None)
    [second] = describe_sections(TEXT, 2, ("Too bold.",), REVIEW)

    assert (first.topic, first.generation, first.claims, first.critiques, first.reviews) == ("Bread", 1, 2, (), ())
    assert (second.generation, second.critiques) == (2, ("Too bold.",))
    assert [(one.action, one.critique) for one in second.reviews] == [("SEARCH", "No mould.")]


def test_a_review_has_its_searches_and_its_verdict() -> None:
    """The searches that a review asks for are critiques of the version that it has read."""
    record = describe_review(REVIEW, 1)

    assert record.generation == 1 and len(record.critiques) == 1 and "mould" in record.critiques[0]
    assert (record.further_considerations, record.evaluation) == (("Compare ovens.",), REVIEW.evaluation)


def test_a_line_of_reasoning_is_one_line() -> None:
    """A record of a call of the reasoner has its steps and answer, its searches or its rejected thoughts."""
    rejected = RejectedThought(text="Bread is old.", score=0.2, reason="It is beside the point.")
    step = ReasoningStep(kind="hop", claim=CLAIMS[0])
    lines = (
        Reasoning(strategy="self_consistency", steps=(step,), answer="hours", confidence=0.5),
        Reasoning(strategy="multi_hop", queries=("Why?",)),
        Reasoning(strategy="tree", rejected=(rejected,)),
    )

    assert [describe_reasoning(line).summary for line in lines] == [
        "self consistency: 1 steps; answer “hours”",
        "multi hop: nothing to say; searches “Why?”",
        "tree: nothing to say; not followed “Bread is old.” (0.20)",
    ]
