"""Select diverse items by maximal marginal relevance (Carbonell and Goldstein, 1998).

The next item maximises `trade_off * relevance - (1 - trade_off) * max similarity to the selected items`.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tenure.algorithms.text.passage import Vectors


def select_by_mmr(
    scores: Sequence[float] | NDArray[np.float32],
    vectors: Vectors,
    k: int,
    trade_off: float = 0.7,
    max_similarity: float = 0.92,
) -> list[int]:
    """Return the indexes of at most `k` items in the order of selection, by relevance and unit vectors, shape (n, d).

    Items at least as similar (cosine) to a selected item as `max_similarity` are never selected.
    """
    relevance = np.asarray(scores, dtype=np.float32)
    similarity = np.zeros(len(relevance), dtype=np.float32)
    available = np.ones(len(relevance), dtype=bool)
    selected: list[int] = []
    while len(selected) < k and available.any():
        marginal = np.where(available, trade_off * relevance - (1 - trade_off) * similarity, -np.inf)
        best = int(np.argmax(marginal))
        selected.append(best)
        similarity = np.maximum(similarity, vectors @ vectors[best])
        available &= similarity < max_similarity
        available[best] = False
    return selected
