"""Reciprocal rank fusion: one ranking out of several, by ranks alone (DESIGN §5)."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

CONSTANT = 60
"""Damps the lead of the first ranks; the value of the method's authors."""

K = TypeVar("K")


def fuse(rankings: Sequence[Mapping[K, int]], weights: Sequence[float] | None = None) -> dict[K, float]:
    """Return the fused score Σ w / (60 + rank) of everything that is ranked somewhere.

    Args:
        rankings: per ranking, the rank of each item, from 1.
        weights: one weight per ranking; all 1 where absent.

    Raises:
        ValueError: the numbers of rankings and weights differ, or a rank is below 1.
    """
    weights = weights if weights is not None else [1.0] * len(rankings)
    scores: dict[K, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for item, rank in ranking.items():
            if rank < 1:
                raise ValueError(f"ranks count from 1, got {rank}")
            scores[item] = scores.get(item, 0.0) + weight / (CONSTANT + rank)
    return scores
