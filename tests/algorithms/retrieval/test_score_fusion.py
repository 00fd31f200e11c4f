"""Tests of score fusion."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.retrieval.score_fusion import REFERENCE_RANK, blend_scores, scale_min_max

_SCORES = st.dictionaries(st.integers(0, 300), st.floats(-10, 100, allow_nan=False), max_size=200)


def test_scores_are_scaled_between_hundredth_and_best() -> None:
    """The best has 1, the hundredth and all below it have 0."""
    scale = scale_min_max({rank: float(-rank) for rank in range(1, 121)})

    assert scale[1] == 1
    assert scale[REFERENCE_RANK] == scale[120] == 0
    assert 0 < scale[50] < 1


def test_short_list_is_scaled_from_the_floor() -> None:
    """Below a hundred results the floor has 0, or the last result if no floor is given."""
    assert scale_min_max({"a": 8.0, "b": 4.0}, floor=0.0) == {"a": 1.0, "b": 0.5}
    assert scale_min_max({"a": 8.0, "b": 4.0}) == {"a": 1.0, "b": 0.0}


def test_equal_scores_scale_to_one() -> None:
    """Equal results all have 1; no results have no scores."""
    assert scale_min_max({"a": 2.0, "b": 2.0}) == {"a": 1.0, "b": 1.0}
    assert scale_min_max({}) == {}


def test_alpha_weighs_dense_against_sparse() -> None:
    """At 1 only dense scores count, at 0 only sparse ones, in between both."""
    dense, sparse = {"a": 0.9, "b": 0.1}, {"b": 5.0, "c": 2.5}

    assert blend_scores(dense, sparse, 1) == {"a": 1.0, "b": 0.0, "c": 0.0}
    assert blend_scores(dense, sparse, 0) == {"a": 0.0, "b": 1.0, "c": 0.5}
    assert blend_scores(dense, sparse, 0.5) == {"a": 0.5, "b": 0.5, "c": 0.25}


@given(_SCORES, _SCORES, st.floats(0, 1))
def test_blended_scores_are_in_range(dense: dict[int, float], sparse: dict[int, float], alpha: float) -> None:
    """Every result of either retriever is present, with a score from 0 to 1."""
    blended = blend_scores(dense, sparse, alpha)

    assert dense.keys() | sparse.keys() == blended.keys()
    assert all(0 <= score <= 1 + 1e-9 for score in blended.values())


def test_invalid_alpha_is_rejected() -> None:
    """Alpha must be between 0 and 1."""
    with pytest.raises(ValueError, match="alpha"):
        blend_scores({}, {}, 1.1)
