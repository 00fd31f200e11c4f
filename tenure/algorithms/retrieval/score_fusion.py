"""Fuse the scores of two retrievers by a convex combination of min-max normalised scores.

The scores of each retriever are scaled so that its hundredth result has 0 and its best has 1. Unlike rank fusion, this
preserves the lead of a passage that is far ahead.
"""

from collections.abc import Mapping
from typing import TypeVar

REFERENCE_RANK = 100
"""Rank whose score is scaled to 0; the scores of the best hundred results differ between questions."""

K = TypeVar("K")


def scale_min_max(scores: Mapping[K, float], floor: float | None = None) -> dict[K, float]:
    """Scale the scores of one retriever to the range from 0 to 1.

    With fewer than a hundred results the floor is scaled to 0; None for the lowest score.
    """
    if not scores:
        return {}
    order = sorted(scores.values(), reverse=True)
    low = order[REFERENCE_RANK - 1] if len(order) >= REFERENCE_RANK else order[-1] if floor is None else floor
    high = order[0]
    if high <= low:
        return dict.fromkeys(scores, 1.0)
    return {item: max(0.0, (score - low) / (high - low)) for item, score in scores.items()}


def blend_scores(dense: Mapping[K, float], sparse: Mapping[K, float], alpha: float) -> dict[K, float]:
    """Return alpha * dense + (1 - alpha) * sparse for every result, each scaled to the range from 0 to 1.

    Raises:
        ValueError: alpha is not between 0 and 1.
    """
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be in [0, 1], got {alpha}")
    dense_scaled, sparse_scaled = scale_min_max(dense), scale_min_max(sparse, floor=0.0)
    return {
        item: alpha * dense_scaled.get(item, 0.0) + (1 - alpha) * sparse_scaled.get(item, 0.0)
        for item in dict.fromkeys([*dense_scaled, *sparse_scaled])
    }
