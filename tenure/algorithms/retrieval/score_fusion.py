"""Blending: one ranking out of two kinds of scores, by their values and not by ranks alone.

Each leg's scores are stretched to the range from 0, what its hundredth result has, to 1, what its best
has. A passage that is far ahead in one leg so stays ahead, which ranks would not show.
"""

from collections.abc import Mapping
from typing import TypeVar

REFERENCE = 100
"""Rank whose score counts as nothing; the best hundred are what differs between questions."""

K = TypeVar("K")


def stretched(scores: Mapping[K, float], floor: float | None = None) -> dict[K, float]:
    """Return scores on a scale from 0 to 1.

    Args:
        scores: the results of one leg.
        floor: score of what the leg did not find, where there are fewer than a hundred results; without
            one, the least score there is.
    """
    if not scores:
        return {}
    order = sorted(scores.values(), reverse=True)
    low = order[REFERENCE - 1] if len(order) >= REFERENCE else order[-1] if floor is None else floor
    high = order[0]
    if high <= low:
        return dict.fromkeys(scores, 1.0)
    return {item: max(0.0, (score - low) / (high - low)) for item, score in scores.items()}


def blend(dense: Mapping[K, float], sparse: Mapping[K, float], alpha: float) -> dict[K, float]:
    """Return α · dense + (1 − α) · sparse over everything that either has, each on its own scale from 0 to 1.

    Raises:
        ValueError: α is not between 0 and 1.
    """
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be in [0, 1], got {alpha}")
    near, worded = stretched(dense), stretched(sparse, floor=0.0)
    return {
        item: alpha * near.get(item, 0.0) + (1 - alpha) * worded.get(item, 0.0)
        for item in dict.fromkeys([*near, *worded])
    }
