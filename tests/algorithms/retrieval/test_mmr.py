"""Maximal marginal relevance."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.retrieval.mmr import mmr
from tenure.algorithms.text.passage import Vectors


def unit(*rows: list[float]) -> Vectors:
    vectors = np.array(rows, dtype=np.float32)
    length: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return length


ITEMS = st.lists(
    st.tuples(
        st.floats(-1, 1, width=32), st.lists(st.integers(-3, 3), min_size=3, max_size=3).filter(lambda row: any(row))
    ),
    min_size=1,
    max_size=10,
)


@given(ITEMS, st.integers(0, 12))
@settings(deadline=None)
def test_choice_is_distinct_bounded_and_begins_with_the_best(items: list[tuple[float, list[int]]], k: int) -> None:
    """At most k different positions are chosen, the most relevant first, none too close to another."""
    scores = [score for score, _ in items]
    vectors = unit(*[[float(x) for x in row] for _, row in items])

    chosen = mmr(scores, vectors, k)

    assert len(chosen) == len(set(chosen)) <= k
    assert set(chosen) <= set(range(len(items)))
    assert not chosen or scores[chosen[0]] == max(scores)
    near = vectors[chosen] @ vectors[chosen].T - 2 * np.eye(len(chosen))
    assert not chosen or near.max() < 0.92


@given(ITEMS, st.floats(-1, 1))
@settings(deadline=None)
def test_nothing_below_the_floor_is_chosen(items: list[tuple[float, list[int]]], floor: float) -> None:
    """An item scored below the floor stays out, even if k is not reached."""
    scores = np.array([score for score, _ in items], dtype=np.float32)
    vectors = unit(*[[float(x) for x in row] for _, row in items])

    assert all(scores[index] >= floor for index in mmr(scores, vectors, len(items), floor=floor))


def test_something_new_beats_something_better_that_is_nearly_said() -> None:
    """After the best item, one of another kind is preferred to a better one of the same kind."""
    vectors = unit([1, 0], [0.9, 0.5], [0, 1])

    assert mmr([1.0, 0.9, 0.8], vectors, 3) == [0, 2, 1]


def test_relevance_alone_decides_at_full_trade_off() -> None:
    """With a trade-off of one diversity has no say."""
    assert mmr([0.8, 1.0, 0.9], unit([1, 0], [0.9, 0.5], [0, 1]), 3, trade_off=1.0) == [1, 2, 0]


def test_a_repetition_is_never_chosen() -> None:
    """Items that say the same as a chosen one stay out, though there is room."""
    assert mmr([1.0, 0.9], unit([1, 0], [1, 0.01]), 2) == [0]


def test_nothing_to_choose_from_gives_nothing() -> None:
    """No items, no positions."""
    assert mmr([], np.zeros((0, 3), dtype=np.float32), 3) == []
