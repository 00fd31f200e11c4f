"""Tests of maximal marginal relevance."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.retrieval.reranking import select_by_mmr
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
def test_selection_is_distinct_and_bounded(items: list[tuple[float, list[int]]], k: int) -> None:
    """At most k distinct indexes are selected, the most relevant first, none too similar to another."""
    scores = [score for score, _ in items]
    vectors = unit(*[[float(x) for x in row] for _, row in items])

    chosen = select_by_mmr(scores, vectors, k)

    assert len(chosen) == len(set(chosen)) <= k
    assert set(chosen) <= set(range(len(items)))
    assert not chosen or scores[chosen[0]] == max(scores)
    near = vectors[chosen] @ vectors[chosen].T - 2 * np.eye(len(chosen))
    assert not chosen or near.max() < 0.92


def test_dissimilar_item_precedes_similar_better_item() -> None:
    """After the best item, a dissimilar item is preferred to a better but similar item."""
    vectors = unit([1, 0], [0.9, 0.5], [0, 1])

    assert select_by_mmr([1.0, 0.9, 0.8], vectors, 3) == [0, 2, 1]


def test_full_trade_off_ignores_diversity() -> None:
    """With a trade-off of 1 only relevance counts."""
    assert select_by_mmr([0.8, 1.0, 0.9], unit([1, 0], [0.9, 0.5], [0, 1]), 3, trade_off=1.0) == [1, 2, 0]


def test_duplicates_are_never_selected() -> None:
    """Near-duplicates of selected items are skipped although k is not reached."""
    assert select_by_mmr([1.0, 0.9], unit([1, 0], [1, 0.01]), 2) == [0]


def test_no_items_select_nothing() -> None:
    """Without items the selection is empty."""
    assert select_by_mmr([], np.zeros((0, 3), dtype=np.float32), 3) == []
