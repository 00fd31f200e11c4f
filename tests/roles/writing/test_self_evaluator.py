"""Tests of the self-evaluator's fallback and of the scores computed from an evaluation."""

from tenure.algorithms.claims.self_evaluation import COMPLETENESS_ERROR
from tenure.contracts.evidence.passages import Block, Claim, Draft
from tenure.contracts.research.report import SectionDraft
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


def test_the_fallback_names_unanswered_parts() -> None:
    """A part of the question that no sentence answers is an issue; it causes no other generation of the report."""
    given = SelfEvaluatorInput(question=QUESTION, sections=(BREAD,))
    found = assess(given, fallback(given, EVIDENCE), EVIDENCE)

    assert found.evaluation.missing == ("How is wine made in cellars?",)
    assert 0.0 < (found.evaluation.completeness or 0.0) < 1.0
    assert (found.evaluation.completeness_error, found.evaluation.factuality) == (COMPLETENESS_ERROR, 0.5)
    assert "wine" in found.evaluation.issues[0]
    assert (found.critiques, found.evaluation.suggestions) == ((), ())


def test_the_fallback_estimates_nothing_about_a_text_of_a_model() -> None:
    """Of a text that a model wrote, the fallback gives the checked sentences only, and names no unanswered part."""
    given = SelfEvaluatorInput(question=QUESTION, sections=(BREAD,), written_by_model=True)
    found = assess(given, fallback(given, EVIDENCE), EVIDENCE).evaluation

    assert (found.consistency, found.completeness, found.completeness_error) == (None, None, None)
    assert (found.factuality, found.overall, found.parts, found.missing, found.issues) == (0.5, 0.5, 0, (), ())


def test_a_report_without_claims_has_no_consistency() -> None:
    """Without claims there are no versions of the answer and no false statements."""
    given = SelfEvaluatorInput(question="How does bread rise?", sections=(section("Bread"),))

    assert assess(given, fallback(given, EVIDENCE), EVIDENCE).evaluation.consistency is None


def test_a_models_answer_is_scored_by_the_program() -> None:
    """Contradictions and components come from the model; versions of the answer and verdicts are computed."""
    answers = {"bread": "yes", "yeast": "partly", "wine in Bread": "no"}
    said = SelfEvaluatorOutput.model_validate(
        {
            "contradictions": ["It rises and does not rise."],
            "components": [{"component": name, "addressed": answer} for name, answer in answers.items()],
            "issues": ["Too short."],
        }
    )
    given = SelfEvaluatorInput(question=QUESTION, sections=(section("Wine"), BREAD))
    found = assess(given, said, EVIDENCE)
    calm = assess(given, said.model_copy(update={"contradictions": ()}), EVIDENCE)

    assert (found.evaluation.completeness, found.evaluation.completeness_error) == (0.5, None)
    assert (found.evaluation.issues, found.evaluation.missing) == (("Too short.",), ("wine in Bread",))
    assert (found.evaluation.consistency or 0) < (calm.evaluation.consistency or 0)
    assert [(one.topic, one.query) for one in found.critiques] == [("Wine", "wine in Bread")]


def test_unsupported_sentences_stay_marked() -> None:
    """The prompt and issues that repeat sentences mark those that are not confirmed."""
    doubtful = Claim(text="Bread rises for a week.", status="neutral")
    given = SelfEvaluatorInput(question=QUESTION, sections=(section("Bread", doubtful),))
    said = SelfEvaluatorOutput(contradictions=(), components=(), issues=("“Bread rises for a week.” is odd.",))

    assert "Bread rises for a week. [not confirmed]" in render(given, EVIDENCE)[1].content
    assert assess(given, said, EVIDENCE).evaluation.issues == ("“Bread rises for a week. [not confirmed]” is odd.",)
