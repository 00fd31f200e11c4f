"""Tests of scores for answers."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.writing.brief import score_answers
from tests.support.worlds import encode

QUESTION = "When was the tower of Marrow Point built?"


def score(*units: tuple[str, str]) -> list[float]:
    """Score units for the question about the tower."""
    return [float(one) for one in score_answers(QUESTION, units, encode)]


def test_the_answer_has_the_best_score() -> None:
    """A sentence with the requested date is better than one without, and both are better than another subject."""
    dated, undated, other = score(
        ("Lights", "The tower of Marrow Point was built in 1828."),
        ("Lights", "The tower of Marrow Point was built of stone."),
        ("Lights", "A lamp of oil was lit by the keeper in 1828."),
    )

    assert dated > undated > other


def test_a_title_completes_a_sentence() -> None:
    """A sentence is read with the title of its document, but the title alone is no answer."""
    titled, untitled, unrelated = score(
        ("Marrow Point", "The tower was built in 1828."),
        ("Ember Rock", "The tower was built in 1828."),
        ("Marrow Point", "Wine is pressed from ripe grapes."),
    )

    assert titled > untitled
    assert unrelated == -1.0


@given(st.lists(st.sampled_from(["The tower was built.", "Wine is old.", "Marrow Point has a tower."]), min_size=1))
@settings(deadline=None, max_examples=40)
def test_scores_are_bounded_and_deterministic(texts: list[str]) -> None:
    """Each unit has one score, at most that of a perfect answer."""
    units = [("Title", text) for text in texts]
    scores = score_answers(QUESTION, units, encode)

    assert scores.shape == (len(texts),)
    assert scores.max() <= 1.65 + 1e-6
    assert np.array_equal(scores, score_answers(QUESTION, units, encode))
