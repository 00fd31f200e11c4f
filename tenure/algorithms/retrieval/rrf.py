"""Fuse rankings by reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

DEFAULT_RANK_CONSTANT = 60
"""Constant k, which damps the lead of the first ranks; 60 is the value of the paper."""

K = TypeVar("K")


def fuse_rankings(rankings: Sequence[Mapping[K, int]], weights: Sequence[float] | None = None) -> dict[K, float]:
    """Return the fused score Σ weight / (60 + rank) of every ranked item.

    Args:
        rankings: per ranking, the rank of each item, from 1.
        weights: one weight per ranking; None for equal weights.

    Raises:
        ValueError: the numbers of rankings and weights differ, or a rank is below 1.
    """
    weights = weights if weights is not None else [1.0] * len(rankings)
    scores: dict[K, float] = {}
    for ranking, weight in zip(rankings, weights, strict=True):
        for item, rank in ranking.items():
            if rank < 1:
                raise ValueError(f"ranks count from 1, got {rank}")
            scores[item] = scores.get(item, 0.0) + weight / (DEFAULT_RANK_CONSTANT + rank)
    return scores
