"""Which passages are evidence."""

from tenure.algorithms.acceptance import BESIDE, evidence
from tests.passages import reference

STRONG, WEAK, NOISE = reference(0.5, "a"), reference(0.4 * (1 + BESIDE) / 2, "b"), reference(0.01, "c")


def test_weaker_passages_count_beside_a_strong_one() -> None:
    """Where the corpus has something, what supports it is evidence too, in the order of the search; noise is not."""
    assert evidence([NOISE, WEAK, STRONG], 0.4) == (WEAK, STRONG)


def test_without_a_strong_passage_there_is_no_evidence() -> None:
    """Many passages a little like the question make no evidence together."""
    assert evidence([WEAK, NOISE, WEAK], 0.4) == ()


def test_no_passages_are_no_evidence() -> None:
    """A search that found nothing brings nothing."""
    assert evidence([], 0.0) == ()
