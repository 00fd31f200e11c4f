"""Tests of reciprocal rank fusion against its definition."""

import pytest

from tenure.algorithms.retrieval.rrf import fuse_rankings


def test_scores_are_sums_of_reciprocal_ranks() -> None:
    """Each ranking adds w / (60 + rank), and absence adds nothing."""
    scores = fuse_rankings([{"a": 1, "b": 2}, {"b": 1}], weights=[1.0, 0.5])

    assert {"a": 1 / 61, "b": pytest.approx(1 / 62 + 0.5 / 61)} == scores


def test_weights_default_to_one() -> None:
    """Without weights all rankings count the same."""
    assert fuse_rankings([{"a": 3}, {"a": 3}]) == {"a": 2 / 63}


def test_no_rankings_have_no_scores() -> None:
    """Without rankings there are no scores."""
    assert fuse_rankings([]) == {}


def test_rank_zero_is_rejected() -> None:
    """Ranks start at 1."""
    with pytest.raises(ValueError, match="from 1"):
        fuse_rankings([{"a": 0}])


def test_weights_must_match_the_rankings() -> None:
    """The number of weights must equal the number of rankings."""
    with pytest.raises(ValueError, match="zip"):
        fuse_rankings([{"a": 1}], weights=[1.0, 2.0])
