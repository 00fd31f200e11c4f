"""The question rewriter's twin."""

from tenure.roles.base import Evidence
from tenure.roles.research.question_rewriter import QuestionRewriterInput, offline
from tests.passages import passage


def rewritten(question: str, *texts: str, earlier: tuple[str, ...] = ("Who wrote Dune?",), kind: str = "prose") -> str:
    evidence = Evidence(tuple(passage(text, start=n, kind=kind) for n, text in enumerate(texts)))
    return offline(QuestionRewriterInput(question=question, part=question, earlier=earlier), evidence).question


def test_the_answer_takes_the_place_of_what_points_to_it() -> None:
    """A name in the evidence that answers the earlier question stands where the question pointed back."""
    assert rewritten("What did that author do before?", "Frank Herbert wrote Dune.") == (
        "What did Frank Herbert do before?"
    )


def test_the_nearest_earlier_question_counts() -> None:
    """Of several earlier questions the last one with an answer is the one that is pointed to."""
    texts = ("Frank Herbert wrote Dune.", "Denis Villeneuve directed the film.")

    assert rewritten("When was he born?", *texts, earlier=("Who wrote Dune?", "Who directed the film?")) == (
        "When was Denis Villeneuve born?"
    )


def test_without_an_answer_the_question_stays() -> None:
    """Where the evidence names nobody, or is code, nothing is put in."""
    assert rewritten("When was he born?") == "When was he born?"
    assert rewritten("When was he born?", "Frank Herbert wrote Dune.", kind="code") == "When was he born?"
