"""Tests of pseudo-relevance feedback."""

from tenure.algorithms.retrieval.query_expansion import extract_feedback_terms
from tests.support.passages import passage

TEXTS = ("Dough ferments with yeast in 1999.", "Yeast ferments the dough.", "The oven has a dough hook, in 1999.")


def test_terms_of_more_passages_come_first() -> None:
    """A word counts by its passages, better ones more, in its first spelling."""
    assert extract_feedback_terms("bread", [passage(text) for text in TEXTS], 9) == ["dough", "ferments", "yeast"]


def test_query_terms_and_single_occurrences_are_omitted() -> None:
    """Words of the query or of a single passage, numbers and short words are omitted."""
    passages = [passage("An ox is big."), passage("An ox is big."), *(passage(text) for text in TEXTS)]

    assert extract_feedback_terms("fermenting dough", passages, 9) == ["yeast"]


def test_number_of_terms_is_bounded() -> None:
    """The list is truncated, and empty without passages."""
    assert extract_feedback_terms("bread", [passage(text) for text in TEXTS], 1) == ["dough"]
    assert extract_feedback_terms("bread", [], 3) == []
