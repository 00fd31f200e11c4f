"""Tests of the positions that questions contain."""

import pytest

from tenure.algorithms.retrieval.positions import choose_position, find_position


@pytest.mark.parametrize(
    ("question", "position"),
    [
        ("Should I knead dough?", "Should I knead dough?"),
        ("Does coffee cause heart disease?", "Does coffee cause heart disease?"),
        ("Is rye flour healthier than wheat flour?", "Is rye flour healthier than wheat flour?"),
        ("Is it true that bread needs salt?", "Is it true that bread needs salt?"),
        ("Is cold fermentation worth the time?", "Is cold fermentation worth the time?"),
        ("What is kneading? Is kneading better than folding?", "Is kneading better than folding?"),
        ("Does it make sense to cache pages?", "Does it make sense to cache pages?"),
        ("What are the pros and cons of rye?", "What are the pros and cons of rye?"),
        ("Is one oven enough for us?", "Is one oven enough for us?"),
        ("Should I knead dough or not?", "Should I knead dough or not?"),
        ("Should I knead the dough first or fold it?", ""),
        ("Is it safe to bake with one or two ovens?", "Is it safe to bake with one or two ovens?"),
        ("Is Anna older than Berta?", ""),
        ("Were Anna and Berta of the same nationality?", ""),
        ("Does the oven have a window?", ""),
        ("How did rye come to Europe?", ""),
        ("What is rather than other than?", ""),
    ],
)
def test_questions_that_assert_something_contain_a_position(question: str, position: str) -> None:
    """Advice, evaluations, comparisons and effects are positions; questions for facts contain none."""
    assert find_position(question) == position


def test_a_task_takes_the_position_of_its_query_first() -> None:
    """A query without a position takes that of the question; without any, the query itself is the position."""
    assert choose_position("Should I fold dough?", "Should I knead dough?") == "Should I fold dough?"
    assert choose_position("kinds of dough", "Should I knead dough?") == "Should I knead dough?"
    assert choose_position("kinds of dough", "What is dough?") == "kinds of dough"
