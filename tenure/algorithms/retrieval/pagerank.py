"""Compute personalised PageRank by power iteration (Page et al., 1998).

p = (1 - d) * restart + d * (p followed along the links; dead ends return to restart), with the damping d
"""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

DAMPING = 0.5
"""Probability to follow a link instead of restarting; a quarter of the walk gets two links away from the start."""
_ITERATIONS = 30  # With a damping of 0.5 the rest of the walk is 0.5^30, below 1e-9.

N = TypeVar("N")


def compute_personalised_pagerank(links: Mapping[N, Mapping[N, float]], restart: Mapping[N, float]) -> dict[N, float]:
    """Return the PageRank of each node; the values sum to 1.

    Only the proportions of the links of a node, and of the restart weights, matter.

    Raises:
        ValueError: no restart weight is positive, or a weight is negative.
    """
    nodes = list(dict.fromkeys([*restart, *links, *(target for targets in links.values() for target in targets)]))
    position = {node: index for index, node in enumerate(nodes)}
    start = np.array([restart.get(node, 0.0) for node in nodes])
    if not start.size or start.min() < 0 or start.sum() <= 0:
        raise ValueError("restart weights must not be negative, and one must be positive")
    start = start / start.sum()
    sources = np.array([position[a] for a, linked in links.items() for _ in linked], dtype=np.intp)
    targets = np.array([position[b] for linked in links.values() for b in linked], dtype=np.intp)
    weights = np.array([weight for linked in links.values() for weight in linked.values()], dtype=np.float64)
    if (weights < 0).any():
        raise ValueError("a link has a negative weight")
    totals = np.bincount(sources, weights, len(nodes))
    weights = weights / np.where(totals > 0, totals, 1.0)[sources]
    shares = start
    for _ in range(_ITERATIONS):
        followed = np.bincount(targets, weights * shares[sources], len(nodes))
        from_dead_ends = shares[totals <= 0].sum()
        shares = (1 - DAMPING) * start + DAMPING * (followed + from_dead_ends * start)
    return dict(zip(nodes, shares.tolist(), strict=True))
