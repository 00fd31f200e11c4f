"""Tests of positions and of the sentences that take a side."""

import pytest

from tenure.algorithms.retrieval.stance import (
    choose_position,
    find_position,
    find_stance_sentence,
    weigh_terms,
)


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


def test_the_sentence_that_takes_the_stance_is_found() -> None:
    """Of the sentences that take a known side, the nearest one is returned."""
    text = "Coffee comes from Ethiopia. Coffee increases heart disease. Coffee does not increase heart disease."
    position = "Coffee increases heart disease"

    first = find_stance_sentence(position, text, "supporting")
    against = find_stance_sentence(position, text, "contradicting")

    assert first is not None and first.text == "Coffee increases heart disease."
    assert against is not None and against.text == "Coffee does not increase heart disease."
    assert find_stance_sentence(position, "Glaciers are cold.", "supporting") is None


def test_the_common_subject_of_all_texts_takes_no_side() -> None:
    """A sentence that shares only the name of the common subject with a position takes no side."""
    position = "Does compression improve the speed of the Orion database?"
    other = "The Orion database keeps deleted records for a week."
    texts = [
        other,
        "The Orion database writes a log.",
        "The Orion database runs at night.",
        "Compression does not improve the speed of the Orion database.",
    ]
    weights = weigh_terms(position, texts)

    assert find_stance_sentence(position, other, "contradicting")
    assert find_stance_sentence(position, other, "contradicting", weights) is None
    assert find_stance_sentence(position, texts[-1], "contradicting", weights)
