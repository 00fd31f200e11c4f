"""Tests of the self-evaluator's fallback and of the scores computed from an evaluation."""

from tenure.algorithms.claims.self_evaluation import COMPLETENESS_ERROR
from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.contracts.research.report import SectionDraft
from tenure.roles.writing.report_reflector import ReportCritique
from tenure.roles.writing.self_evaluator import (
    QuestionComponent,
    SelfEvaluatorInput,
    SelfEvaluatorOutput,
    assess,
    fallback,
)
from tests.roles.cases import EVIDENCE


def section(topic: str, *claims: Claim) -> SectionDraft:
    return SectionDraft(topic=topic, draft=Draft(blocks=(Block(claims=claims),)) if claims else Draft())


BREAD = section("Bread", Claim(text="Bread rises for hours.", status="supported"), Claim(text="It is baked."))
QUESTION = "For how many hours does bread rise, and how is wine made in cellars?"


def test_the_fallback_names_unanswered_parts() -> None:
    """A part of the question that no sentence answers is an issue; it causes no other generation of the report."""
    given = SelfEvaluatorInput(question=QUESTION, sections=(BREAD,))
    found = assess(given, fallback(given, EVIDENCE), EVIDENCE)

    assert found.evaluation.missing == ("How is wine made in cellars?",)
    assert 0.0 < (found.evaluation.completeness or 0.0) < 1.0
    assert (found.evaluation.completeness_error, found.evaluation.factuality) == (COMPLETENESS_ERROR, 0.5)
    assert "wine" in found.evaluation.issues[0]
    assert (found.critiques, found.evaluation.suggestions) == ((), ())


def test_a_report_without_claims_has_no_rephrasings() -> None:
    """Without claims there are no rephrasings and no false statements."""
    given = SelfEvaluatorInput(question="How does bread rise?", sections=(section("Bread"),))
    said = fallback(given, EVIDENCE)

    assert said.rephrasings == ()
    assert assess(given, said, EVIDENCE).evaluation.consistency is None


def test_a_models_answer_is_scored_by_the_program() -> None:
    """Rephrasings, contradictions and components come from the model, factuality from the claim checks."""
    said = SelfEvaluatorOutput(
        rephrasings=("Bread rises.", "Bread rises.", " "),
        contradictions=("It rises and does not rise.",),
        components=(QuestionComponent(component="bread", addressed=True),),
        issues=("Too short.",),
        suggestions=(ReportCritique(topic=" ", critique="Say more.", query=" wine "),),
    )
    found = assess(SelfEvaluatorInput(question=QUESTION, sections=(BREAD,)), said, EVIDENCE)

    assert (found.evaluation.consistency, found.evaluation.completeness) == (0.5, 1.0)
    assert found.evaluation.completeness_error is None
    assert found.evaluation.issues == ("Too short.",)
    assert [(one.topic, one.query) for one in found.critiques] == [(None, "wine")]
