"""The walk that keeps returning to its start."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.retrieval.pagerank import personalised_pagerank

_NODES = st.integers(0, 7)
_WEIGHTS = st.floats(0, 10, allow_nan=False)
_LINKS = st.dictionaries(_NODES, st.dictionaries(_NODES, _WEIGHTS, max_size=5), max_size=6)


@given(_LINKS, st.dictionaries(_NODES, st.floats(0.1, 10), min_size=1), st.floats(0, 0.95))
def test_the_shares_of_a_walk_sum_to_one(
    links: dict[int, dict[int, float]], restart: dict[int, float], damping: float
) -> None:
    """Whatever the links, the whole walk is somewhere, and nowhere less than not at all."""
    shares = personalised_pagerank(links, restart, damping)

    assert sum(shares.values()) == pytest.approx(1)
    assert min(shares.values()) >= 0
    assert restart.keys() <= shares.keys()


def test_half_of_the_walk_goes_on() -> None:
    """With a damping of one half, each link further gets half of what is left."""
    shares = personalised_pagerank({"a": {"b": 3.0}, "b": {"c": 1.0}}, {"a": 2.0}, damping=0.5)

    assert shares["b"] == pytest.approx(shares["a"] / 2)
    assert shares["c"] == pytest.approx(shares["b"] / 2)


def test_a_heavier_link_is_followed_more_often() -> None:
    """The walk is shared out in proportion to the weights of the links."""
    shares = personalised_pagerank({"a": {"b": 3.0, "c": 1.0}}, {"a": 1.0})

    assert shares["b"] == pytest.approx(3 * shares["c"])


@pytest.mark.parametrize(
    ("links", "restart", "damping"),
    [
        ({}, {}, 0.5),
        ({}, {"a": 0.0}, 0.5),
        ({}, {"a": -1.0, "b": 2.0}, 0.5),
        ({"a": {"b": -1.0}}, {"a": 1.0}, 0.5),
        ({}, {"a": 1.0}, 1.0),
    ],
    ids=["no start", "nothing at the start", "negative start", "negative link", "never returns"],
)
def test_an_impossible_walk_is_refused(
    links: dict[str, dict[str, float]], restart: dict[str, float], damping: float
) -> None:
    """A walk needs a start, weights that are not negative, and a chance to return."""
    with pytest.raises(ValueError):
        personalised_pagerank(links, restart, damping)
