"""Compute personalised PageRank by power iteration (Page et al., 1998).

p = (1 - d) * restart + d * (p followed along the links; dead ends return to restart), with the damping d
"""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

DAMPING = 0.5
"""Probability to follow a link instead of restarting; a quarter of the walk gets two links away from the start."""
_ITERATIONS = 30

N = TypeVar("N")


def compute_personalised_pagerank(links: Mapping[N, Mapping[N, float]], restart: Mapping[N, float]) -> dict[N, float]:
    """Return the PageRank of each node; the values sum to 1.

    Args:
        links: weighted links per node; only the proportions within a node matter.
        restart: restart weights of nodes; only the proportions matter.

    Raises:
        ValueError: no restart weight is positive, or a weight is negative.
    """
    nodes = list(dict.fromkeys([*restart, *links, *(target for targets in links.values() for target in targets)]))
    position = {node: index for index, node in enumerate(nodes)}
    start = np.array([restart.get(node, 0.0) for node in nodes])
    if not start.size or start.min() < 0 or start.sum() <= 0:
        raise ValueError("restart weights must not be negative, and one must be positive")
    shares = _iterate_walk(_Edges.from_links(links, position), start / start.sum())
    return dict(zip(nodes, shares.tolist(), strict=True))


class _Edges:
    """Links as arrays; the link weights of each node sum to 1."""

    def __init__(self, sources: NDArray[np.intp], targets: NDArray[np.intp], weights: NDArray[np.float64], n: int):
        totals = np.bincount(sources, weights, n)
        self.sources, self.targets = sources, targets
        self.dead_ends = totals <= 0
        self.weights = weights / np.where(totals > 0, totals, 1.0)[sources]

    @classmethod
    def from_links(cls, links: Mapping[N, Mapping[N, float]], position: Mapping[N, int]) -> "_Edges":
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


def _iterate_walk(edges: _Edges, start: NDArray[np.float64]) -> NDArray[np.float64]:
    shares = start
    for _ in range(_ITERATIONS):
        followed = np.bincount(edges.targets, edges.weights * shares[edges.sources], len(start))
        from_dead_ends = shares[edges.dead_ends].sum()
        shares = (1 - DAMPING) * start + DAMPING * (followed + from_dead_ends * start)
    return shares
