"""Words that passages share and a query lacks."""

from tenure.algorithms.retrieval.query_expansion import shared_words
from tests.passages import passage

TEXTS = ("Dough ferments with yeast in 1999.", "Yeast ferments the dough.", "The oven has a dough hook, in 1999.")


def test_words_of_most_passages_come_first() -> None:
    """A word counts by the passages that have it, the better ones more, as it is spelt where it is met first."""
    assert shared_words("bread", [passage(text) for text in TEXTS], 9) == ["dough", "ferments", "yeast"]


def test_words_of_the_query_and_of_one_passage_are_left_out() -> None:
    """Only what the query lacks and two authors say is worth asking for; numbers and short words are not."""
    passages = [passage("An ox is big."), passage("An ox is big."), *(passage(text) for text in TEXTS)]

    assert shared_words("fermenting dough", passages, 9) == ["yeast"]


def test_no_more_words_than_wanted() -> None:
    """The list is cut, and without passages empty."""
    assert shared_words("bread", [passage(text) for text in TEXTS], 1) == ["dough"]
    assert shared_words("bread", [], 3) == []
