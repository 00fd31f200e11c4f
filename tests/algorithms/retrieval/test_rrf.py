"""Tests of reciprocal rank fusion against its definition."""

import pytest

from tenure.algorithms.retrieval.rrf import fuse_rankings, interleave_rankings


def test_scores_are_sums_of_reciprocal_ranks() -> None:
    """Each ranking adds 1 / (60 + rank), and absence adds nothing."""
    scores = fuse_rankings([{"a": 1, "b": 2}, {"b": 1}])

    assert {"a": 1 / 61, "b": pytest.approx(1 / 62 + 1 / 61)} == scores


def test_no_rankings_have_no_scores() -> None:
    """Without rankings there are no scores."""
    assert fuse_rankings([]) == {}


def test_rank_zero_is_rejected() -> None:
    """Ranks start at 1."""
    with pytest.raises(ValueError, match="from 1"):
        fuse_rankings([{"a": 0}])


def test_rankings_take_turns() -> None:
    """The first entries come before the second ones; a shorter ranking ends earlier."""
    assert interleave_rankings(["adf", "b", "", "ce"]) == list("abcdef")
