"""Maximal marginal relevance: choose what is relevant and not yet said (Carbonell and Goldstein, 1998)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tenure.algorithms.text.passage import Vectors


def mmr(
    scores: Sequence[float] | NDArray[np.float32],
    vectors: Vectors,
    k: int,
    trade_off: float = 0.7,
    floor: float = float("-inf"),
    too_close: float = 0.92,
) -> list[int]:
    """Return the positions of at most `k` items, in the order they were chosen.

    Args:
        scores: relevance of each of n items.
        vectors: their unit vectors, shape (n, d).
        k: how many to choose.
        trade_off: weight of relevance against likeness to what is chosen, 0 to 1.
        floor: items scored below are never chosen.
        too_close: cosine from which an item repeats a chosen one and is never chosen.
    """
    relevance = np.asarray(scores, dtype=np.float32)
    likeness = np.zeros(len(relevance), dtype=np.float32)
    free = relevance >= floor
    chosen: list[int] = []
    while len(chosen) < k and free.any():
        marginal = np.where(free, trade_off * relevance - (1 - trade_off) * likeness, -np.inf)
        best = int(np.argmax(marginal))
        chosen.append(best)
        likeness = np.maximum(likeness, vectors @ vectors[best])
        free &= likeness < too_close
        free[best] = False
    return chosen
