"""Judging what a cycle has found: relevance to the outline, novelty against what is known (DESIGN §5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tenure.algorithms.text.passage import Vectors

BESIDE = 0.8
"""Share of its relevance to the best topic that a finding's own topic needs to keep it."""

Verdict = Literal["accepted", "irrelevant", "known"]


@dataclass(frozen=True)
class Judged:
    """What came of one candidate."""

    verdict: Verdict
    """Whether it counts, or why not."""
    topic: int
    """Position of the topic it counts for."""
    relevance: float
    """Normalised relevance to that topic."""
    novelty: float
    """1 − the highest similarity to what was known before it; 1 where nothing was."""


def judge(
    vectors: Vectors,
    relevance: NDArray[np.float32],
    wanted: Sequence[int],
    vouched: Sequence[bool],
    known: Vectors,
    min_relevance: float,
    min_novelty: float,
) -> list[Judged]:
    """Judge candidates from the most relevant on, so that of two that say the same the better one counts.

    Args:
        vectors: unit vectors of n candidates, shape (n, d).
        relevance: normalised relevance of each to each of m topics, shape (n, m).
        wanted: position of the topic each was looked for.
        vouched: whether links lead to it, or it was computed for the task, so that it needs no likeness to a topic.
        known: unit vectors of what the run accepted before, shape (k, d); k may be 0.
        min_relevance: τ_r.
        min_novelty: τ_n.
    """
    nearest = (vectors @ known.T).max(axis=1) if len(known) else np.zeros(len(vectors), dtype=np.float32)
    topics = [_topic(row, own) for row, own in zip(relevance, wanted, strict=True)]
    fit = np.asarray([row[topic] for row, topic in zip(relevance, topics, strict=True)], dtype=np.float32)
    verdicts: dict[int, Judged] = {}
    for index in sorted(range(len(vectors)), key=lambda i: (-float(fit[i]), i)):
        novelty = min(1.0, max(0.0, 1.0 - float(nearest[index])))
        verdict: Verdict = "known" if novelty < min_novelty else "accepted"
        if fit[index] < min_relevance and not vouched[index]:
            verdict = "irrelevant"
        verdicts[index] = Judged(verdict, topics[index], float(fit[index]), novelty)
        if verdict == "accepted":
            nearest = np.maximum(nearest, vectors @ vectors[index])
    return [verdicts[index] for index in range(len(vectors))]


def _topic(row: NDArray[np.float32], own: int) -> int:
    """Return the topic a candidate counts for: its own, unless another is clearly nearer."""
    best = int(np.argmax(row))
    return own if row[own] >= BESIDE * row[best] else best


def clusters(vectors: Vectors, closeness: float, least: int, most: int) -> list[list[int]]:
    """Group vectors around their densest members; each group is a list of positions, the densest first.

    Args:
        vectors: unit vectors, shape (n, d).
        closeness: cosine to the group's centre from which a vector belongs to it.
        least: members below which a group means nothing.
        most: groups at the most.
    """
    free = np.ones(len(vectors), dtype=bool)
    near = vectors @ vectors.T >= closeness
    groups: list[list[int]] = []
    while free.any() and len(groups) < most:
        counts = np.where(free, (near & free).sum(axis=1), 0)
        centre = int(np.argmax(counts))
        if counts[centre] < least:
            break
        members = [int(i) for i in np.flatnonzero(near[centre] & free)]
        groups.append([centre, *(i for i in members if i != centre)])
        free[members] = False
        free[centre] = False
    return groups
