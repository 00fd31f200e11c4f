"""Tests of the self-evaluator's fallback and of the use of a model's verdict."""

from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.contracts.research.report import ReportAssessment, SectionDraft
from tenure.roles.writing.self_evaluator import (
    SelfEvaluatorInput,
    SelfEvaluatorOutput,
    assess,
    fallback,
    render,
)
from tests.roles.cases import EVIDENCE


def section(topic: str, *claims: Claim) -> SectionDraft:
    return SectionDraft(topic=topic, draft=Draft(blocks=(Block(claims=claims),)) if claims else Draft())


BREAD = section("Bread", Claim(text="Bread rises for hours.", status="supported"), Claim(text="It is baked."))
QUESTION = "For how many hours does bread rise, and how is wine made in cellars?"


def test_without_a_model_there_is_no_verdict() -> None:
    """The fallback judges nothing and asks for no other generation of the report."""
    given = SelfEvaluatorInput(question=QUESTION, sections=(BREAD,))

    assert assess(given, fallback(given, EVIDENCE), EVIDENCE) == ReportAssessment(evaluation=None)


def test_the_verdict_of_the_model_asks_for_a_revision() -> None:
    """A part without an answer is searched for in the nearest section, and a contradiction is a critique of its own."""
    answers = {"bread": "yes", "yeast": "partly", "wine in Bread": "no"}
    said = SelfEvaluatorOutput.model_validate(
        {
            "contradictions": ["Bread rises for hours, and does not."],
            "components": [{"component": name, "addressed": answer} for name, answer in answers.items()],
            "issues": ["Too short."],
        }
    )
    given = SelfEvaluatorInput(question=QUESTION, sections=(section("Wine"), BREAD))
    found = assess(given, said, EVIDENCE)

    assert found.evaluation is not None
    assert {one.part: one.answered for one in found.evaluation.parts} == answers
    assert (found.evaluation.missing, found.evaluation.issues) == (("wine in Bread",), ("Too short.",))
    assert found.evaluation.contradictions == said.contradictions
    assert [(one.topic, one.critique, one.query) for one in found.critiques] == [
        ("Wine", "Nothing answers “wine in Bread”.", "wine in Bread"),
        ("Bread", "Both cannot be true: Bread rises for hours, and does not.", ""),
    ]


def test_unsupported_sentences_stay_marked() -> None:
    """The prompt and issues that repeat sentences mark those that are not confirmed."""
    doubtful = Claim(text="Bread rises for a week.", status="neutral")
    given = SelfEvaluatorInput(question=QUESTION, sections=(section("Bread", doubtful),))
    said = SelfEvaluatorOutput(contradictions=(), components=(), issues=("“Bread rises for a week.” is odd.",))

    assert "Bread rises for a week. [not confirmed]" in render(given, EVIDENCE)[1].content
    evaluation = assess(given, said, EVIDENCE).evaluation
    assert evaluation is not None and evaluation.issues == ("“Bread rises for a week. [not confirmed]” is odd.",)
