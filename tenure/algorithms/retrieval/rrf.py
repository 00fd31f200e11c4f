"""Fuse rankings by reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009), or by turns."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TypeVar

DEFAULT_RANK_CONSTANT = 60
"""Constant k, which damps the lead of the first ranks; 60 is the value of the paper."""

K = TypeVar("K")


def fuse_rankings(rankings: Sequence[Mapping[K, int]]) -> dict[K, float]:
    """Return the fused score Σ 1 / (60 + rank) of every ranked item.

    Args:
        rankings: per ranking, the rank of each item, from 1.

    Raises:
        ValueError: a rank is below 1.
    """
    scores: dict[K, float] = {}
    for ranking in rankings:
        for item, rank in ranking.items():
            if rank < 1:
                raise ValueError(f"ranks count from 1, got {rank}")
            scores[item] = scores.get(item, 0.0) + 1 / (DEFAULT_RANK_CONSTANT + rank)
    return scores


def interleave_rankings(rankings: Sequence[Sequence[K | None]]) -> list[K]:
    """Return the first entry of each ranking, then the second of each, and so on; None entries are left out."""
    return [entry for entries in zip_longest(*rankings) for entry in entries if entry is not None]
