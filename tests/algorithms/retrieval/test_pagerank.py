"""Tests of personalised PageRank."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.retrieval.pagerank import compute_personalised_pagerank

_NODES = st.integers(0, 7)
_WEIGHTS = st.floats(0, 10, allow_nan=False)
_LINKS = st.dictionaries(_NODES, st.dictionaries(_NODES, _WEIGHTS, max_size=5), max_size=6)


@given(_LINKS, st.dictionaries(_NODES, st.floats(0.1, 10), min_size=1))
def test_pagerank_sums_to_one(links: dict[int, dict[int, float]], restart: dict[int, float]) -> None:
    """For any links the values sum to 1 and none is negative."""
    shares = compute_personalised_pagerank(links, restart)

    assert sum(shares.values()) == pytest.approx(1)
    assert min(shares.values()) >= 0
    assert restart.keys() <= shares.keys()


def test_damping_halves_each_step() -> None:
    """With a damping of one half, each further link gets half of the remaining walk."""
    shares = compute_personalised_pagerank({"a": {"b": 3.0}, "b": {"c": 1.0}}, {"a": 2.0})

    assert shares["b"] == pytest.approx(shares["a"] / 2)
    assert shares["c"] == pytest.approx(shares["b"] / 2)


def test_walk_follows_link_weights() -> None:
    """The walk is distributed in proportion to the link weights."""
    shares = compute_personalised_pagerank({"a": {"b": 3.0, "c": 1.0}}, {"a": 1.0})

    assert shares["b"] == pytest.approx(3 * shares["c"])


@pytest.mark.parametrize(
    ("links", "restart"),
    [
        ({}, {}),
        ({}, {"a": 0.0}),
        ({}, {"a": -1.0, "b": 2.0}),
        ({"a": {"b": -1.0}}, {"a": 1.0}),
    ],
    ids=["no start", "nothing at the start", "negative start", "negative link"],
)
def test_invalid_walks_are_rejected(links: dict[str, dict[str, float]], restart: dict[str, float]) -> None:
    """A walk needs restart weights, and weights that are not negative."""
    with pytest.raises(ValueError):
        compute_personalised_pagerank(links, restart)
