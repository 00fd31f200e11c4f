"""Tests of the question rewriter's fallback."""

from tenure.roles.base import Evidence
from tenure.roles.research.question_rewriter import ROLE, QuestionRewriterInput, QuestionRewriterOutput, fallback
from tests.support.passages import passage


def rewritten(question: str, *texts: str, earlier: tuple[str, ...] = ("Who wrote Dune?",), kind: str = "prose") -> str:
    evidence = Evidence(tuple(passage(text, start=n, kind=kind) for n, text in enumerate(texts)))
    return fallback(
        QuestionRewriterInput(question=question, sub_question=question, earlier_questions=earlier), evidence
    ).question


def test_a_reference_is_replaced_by_the_answer() -> None:
    """A name in the evidence that answers the earlier question replaces the reference."""
    assert rewritten("What did that author do before?", "Frank Herbert wrote Dune.") == (
        "What did Frank Herbert do before?"
    )


def test_the_nearest_earlier_question_counts() -> None:
    """Of several earlier questions the last one with an answer is used."""
    texts = ("Frank Herbert wrote Dune.", "Denis Villeneuve directed the film.")

    assert rewritten("When was he born?", *texts, earlier=("Who wrote Dune?", "Who directed the film?")) == (
        "When was Denis Villeneuve born?"
    )


def test_without_an_answer_the_question_keeps_its_context() -> None:
    """If the evidence contains no name, or is code, the earlier question stays before the question."""
    asked = "Who wrote Dune? When was he born?"

    assert rewritten("When was he born?") == asked
    assert rewritten("When was he born?", "Frank Herbert wrote Dune.", kind="code") == asked


def test_a_question_without_a_reference_needs_no_context() -> None:
    """A question that names its subject is unchanged."""
    assert rewritten("How is bread made?") == "How is bread made?"


def test_a_calculation_with_a_figure_that_nobody_has_named_is_left_out() -> None:
    """The figures of a calculation come from the question or from an earlier answer."""
    asked = QuestionRewriterInput(
        question="How many loaves?",
        sub_question="Two of them?",
        earlier_questions=("How many loaves?",),
        earlier_answers=("12,000 loaves.",),
    )
    written = [QuestionRewriterOutput(question="Two?", calculation=text) for text in ("12000 * 2", "12000 * 90")]

    assert [ROLE.postprocess(asked, output, Evidence()).calculation for output in written] == ["12000 * 2", ""]
