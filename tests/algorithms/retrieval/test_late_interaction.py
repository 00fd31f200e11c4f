"""Late interaction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.retrieval.late_interaction import late_interaction, max_sim
from tenure.algorithms.text.passage import Vectors

EAST, NORTH, NORTH_EAST = [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]

TOKENS = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)).filter(any), min_size=1, max_size=6)


def tokens(*rows: list[float]) -> Vectors:
    return np.array(rows, dtype=np.float32).reshape(-1, 2)


def unit(rows: list[tuple[int, int]]) -> Vectors:
    vectors = np.array(rows, dtype=np.float32)
    length: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return length


def test_each_token_of_the_question_takes_its_best_match() -> None:
    """By hand: east finds itself, north finds 0.8 in the north-east; the mean is 0.9."""
    assert max_sim(tokens(EAST, NORTH), tokens(NORTH_EAST, EAST)) == pytest.approx(0.9)


def test_a_token_of_the_passage_may_serve_several_of_the_question() -> None:
    """By hand: both tokens of the question meet the one of the passage, with 0.6 and 0.8."""
    assert max_sim(tokens(EAST, NORTH), tokens(NORTH_EAST)) == pytest.approx(0.7)


@pytest.mark.parametrize(("question", "passage"), [(tokens(), tokens(EAST)), (tokens(EAST), tokens()), (tokens(),) * 2])
def test_nothing_to_compare_scores_nothing(question: Vectors, passage: Vectors) -> None:
    """A question or passage without tokens is neither like nor unlike anything."""
    assert max_sim(question, passage) == 0.0


def test_passages_are_scored_in_their_order() -> None:
    """Each passage has its own score, at its own place."""
    assert late_interaction(tokens(EAST), [tokens(NORTH), tokens(EAST), tokens()]) == pytest.approx([0, 1, 0])


@given(TOKENS, TOKENS, TOKENS)
def test_more_words_never_hurt(
    question: list[tuple[int, int]], passage: list[tuple[int, int]], more: list[tuple[int, int]]
) -> None:
    """A passage that goes on scores at least what its beginning does, and nothing scores beyond 1."""
    shorter, longer = max_sim(unit(question), unit(passage)), max_sim(unit(question), unit([*passage, *more]))

    assert -1 - 1e-6 <= shorter <= longer + 1e-6 <= 1 + 1e-5


@given(TOKENS)
def test_a_text_answers_to_itself(text: list[tuple[int, int]]) -> None:
    """Every token finds itself."""
    assert max_sim(unit(text), unit(text)) == pytest.approx(1, abs=1e-5)
