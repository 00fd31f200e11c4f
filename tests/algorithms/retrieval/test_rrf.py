"""Reciprocal rank fusion against its definition."""

import pytest

from tenure.algorithms.retrieval.rrf import fuse


def test_scores_are_sums_of_reciprocal_ranks() -> None:
    """Each ranking adds w / (60 + rank), and absence adds nothing."""
    scores = fuse([{"a": 1, "b": 2}, {"b": 1}], weights=[1.0, 0.5])

    assert {"a": 1 / 61, "b": pytest.approx(1 / 62 + 0.5 / 61)} == scores


def test_weights_are_one_by_default() -> None:
    """Without weights all rankings count the same."""
    assert fuse([{"a": 3}, {"a": 3}]) == {"a": 2 / 63}


def test_no_ranking_ranks_nothing() -> None:
    """Nothing in, nothing out."""
    assert fuse([]) == {}


def test_ranks_count_from_one() -> None:
    """A rank of zero is a mistake of the caller."""
    with pytest.raises(ValueError, match="from 1"):
        fuse([{"a": 0}])


def test_weights_must_match_the_rankings() -> None:
    """One weight per ranking, no more and no fewer."""
    with pytest.raises(ValueError, match="zip"):
        fuse([{"a": 1}], weights=[1.0, 2.0])
