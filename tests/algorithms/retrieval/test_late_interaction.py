"""Tests of late interaction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.retrieval.reranking import compute_maxsim
from tenure.algorithms.text.passage import Vectors

EAST, NORTH, NORTH_EAST = [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]

TOKENS = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)).filter(any), min_size=1, max_size=6)


def tokens(*rows: list[float]) -> Vectors:
    return np.array(rows, dtype=np.float32).reshape(-1, 2)


def unit(rows: list[tuple[int, int]]) -> Vectors:
    vectors = np.array(rows, dtype=np.float32)
    length: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return length


def test_question_tokens_take_their_best_match() -> None:
    """By hand: east matches itself, north matches north-east with 0.8; the mean is 0.9."""
    assert compute_maxsim(tokens(EAST, NORTH), tokens(NORTH_EAST, EAST)) == pytest.approx(0.9)


def test_passage_token_may_match_several_question_tokens() -> None:
    """By hand: both question tokens match the single passage token, with 0.6 and 0.8."""
    assert compute_maxsim(tokens(EAST, NORTH), tokens(NORTH_EAST)) == pytest.approx(0.7)


@pytest.mark.parametrize(("question", "passage"), [(tokens(), tokens(EAST)), (tokens(EAST), tokens()), (tokens(),) * 2])
def test_missing_tokens_score_zero(question: Vectors, passage: Vectors) -> None:
    """A question or passage without tokens scores 0."""
    assert compute_maxsim(question, passage) == 0.0


@given(TOKENS, TOKENS, TOKENS)
def test_longer_passage_never_scores_less(
    question: list[tuple[int, int]], passage: list[tuple[int, int]], more: list[tuple[int, int]]
) -> None:
    """A passage scores at least as much as its beginning, and at most 1."""
    shorter, longer = (
        compute_maxsim(unit(question), unit(passage)),
        compute_maxsim(unit(question), unit([*passage, *more])),
    )

    assert -1 - 1e-6 <= shorter <= longer + 1e-6 <= 1 + 1e-5


@given(TOKENS)
def test_text_matches_itself(text: list[tuple[int, int]]) -> None:
    """Every token matches itself."""
    assert compute_maxsim(unit(text), unit(text)) == pytest.approx(1, abs=1e-5)
