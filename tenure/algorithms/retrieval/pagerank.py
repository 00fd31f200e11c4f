"""Personalised PageRank: how much of a walk that keeps returning to its start is spent where (Page et al., 1998)."""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

DAMPING = 0.5
"""Chance to follow a link rather than to begin anew: two links away from the start, a quarter of the walk is left."""
_ROUNDS = 30

N = TypeVar("N")


def personalised_pagerank(
    links: Mapping[N, Mapping[N, float]], restart: Mapping[N, float], damping: float = DAMPING
) -> dict[N, float]:
    """Return the share of the walk that is spent at each node; the shares sum to 1.

    Args:
        links: per node, its links and their weights; only the proportions at one node matter.
        restart: where the walk begins, and how often there; only the proportions matter.
        damping: chance to go on, from 0 to below 1; a node without links always begins anew.

    Raises:
        ValueError: the walk has nowhere to begin, a weight is negative, or the damping is out of range.
    """
    if not 0 <= damping < 1:
        raise ValueError(f"damping must be in [0, 1), got {damping}")
    nodes = list(dict.fromkeys([*restart, *links, *(target for targets in links.values() for target in targets)]))
    position = {node: place for place, node in enumerate(nodes)}
    start = np.array([restart.get(node, 0.0) for node in nodes])
    if not start.size or start.min() < 0 or start.sum() <= 0:
        raise ValueError("the walk needs a place to begin, and no negative ones")
    shares = _walk(_Edges.of(links, position), start / start.sum(), damping)
    return dict(zip(nodes, shares.tolist(), strict=True))


class _Edges:
    """Links as arrays, the weights of each node's links summing to 1."""

    def __init__(self, sources: NDArray[np.intp], targets: NDArray[np.intp], weights: NDArray[np.float64], n: int):
        totals = np.bincount(sources, weights, n)
        self.sources, self.targets = sources, targets
        self.dead_ends = totals <= 0
        self.weights = weights / np.where(totals > 0, totals, 1.0)[sources]

    @classmethod
    def of(cls, links: Mapping[N, Mapping[N, float]], position: Mapping[N, int]) -> "_Edges":
        rows = [(position[a], position[b], weight) for a, targets in links.items() for b, weight in targets.items()]
        if any(weight < 0 for *_, weight in rows):
            raise ValueError("a link has a negative weight")
        sources, targets, weights = zip(*rows, strict=True) if rows else ((), (), ())
        return cls(
            np.array(sources, dtype=np.intp),
            np.array(targets, dtype=np.intp),
            np.array(weights, dtype=np.float64),
            len(position),
        )


def _walk(edges: _Edges, start: NDArray[np.float64], damping: float) -> NDArray[np.float64]:
    shares = start
    for _ in range(_ROUNDS):
        followed = np.bincount(edges.targets, edges.weights * shares[edges.sources], len(start))
        lost = shares[edges.dead_ends].sum()
        shares = (1 - damping) * start + damping * (followed + lost * start)
    return shares
