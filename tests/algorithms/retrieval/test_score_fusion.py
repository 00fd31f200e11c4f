"""One ranking out of two kinds of scores."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.retrieval.score_fusion import REFERENCE, blend, stretched

_SCORES = st.dictionaries(st.integers(0, 300), st.floats(-10, 100, allow_nan=False), max_size=200)


def test_scores_are_stretched_between_the_hundredth_and_the_best() -> None:
    """The best counts 1, the hundredth 0, and nothing behind it less."""
    scale = stretched({rank: float(-rank) for rank in range(1, 121)})

    assert scale[1] == 1
    assert scale[REFERENCE] == scale[120] == 0
    assert 0 < scale[50] < 1


def test_a_short_list_is_stretched_from_what_was_not_found() -> None:
    """Below a hundred results the floor counts 0, or the last where there is no floor."""
    assert stretched({"a": 8.0, "b": 4.0}, floor=0.0) == {"a": 1.0, "b": 0.5}
    assert stretched({"a": 8.0, "b": 4.0}) == {"a": 1.0, "b": 0.0}


def test_equal_scores_all_count_in_full() -> None:
    """Where nothing tells results apart, each is the best; no results stay none."""
    assert stretched({"a": 2.0, "b": 2.0}) == {"a": 1.0, "b": 1.0}
    assert stretched({}) == {}


def test_alpha_weighs_likeness_against_words() -> None:
    """At 1 only likeness counts, at 0 only words, and between them both."""
    dense, sparse = {"a": 0.9, "b": 0.1}, {"b": 5.0, "c": 2.5}

    assert blend(dense, sparse, 1) == {"a": 1.0, "b": 0.0, "c": 0.0}
    assert blend(dense, sparse, 0) == {"a": 0.0, "b": 1.0, "c": 0.5}
    assert blend(dense, sparse, 0.5) == {"a": 0.5, "b": 0.5, "c": 0.25}


@given(_SCORES, _SCORES, st.floats(0, 1))
def test_a_blend_stays_on_its_scale(dense: dict[int, float], sparse: dict[int, float], alpha: float) -> None:
    """Everything that either leg has is there, from 0 to 1."""
    blended = blend(dense, sparse, alpha)

    assert dense.keys() | sparse.keys() == blended.keys()
    assert all(0 <= score <= 1 + 1e-9 for score in blended.values())


def test_an_impossible_weight_is_refused() -> None:
    """The weight is a share."""
    with pytest.raises(ValueError, match="alpha"):
        blend({}, {}, 1.1)
