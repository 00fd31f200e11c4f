"""Assess findings of a research cycle by relevance to the outline and by novelty, and cluster vectors.

A finding is accepted if relevance >= τ_r and novelty >= τ_n, where novelty = 1 - max cosine to the accepted findings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tenure.algorithms.text.passage import Vectors

MIN_OWN_TOPIC_SHARE = 0.8
"""Minimum relevance of a finding to its own topic, as a share of that to its best topic, for keeping its own topic."""

MIN_COMPUTED_NOVELTY = 0.001
"""Minimum novelty of computed passages: rows of figures resemble each other although each says something else."""

FindingVerdict = Literal["accepted", "irrelevant", "known"]


@dataclass(frozen=True)
class FindingAssessment:
    """Assessment of one candidate."""

    verdict: FindingVerdict
    """Whether it is accepted, or the reason for rejection."""
    topic: int
    """Index of its topic."""
    relevance: float
    """Normalised relevance to the topic."""
    novelty: float
    """1 - the highest cosine similarity to earlier findings; 1 for the first finding."""


def assess_findings(
    vectors: Vectors,
    relevance: NDArray[np.float32],
    target_topics: Sequence[int],
    exempt: Sequence[bool],
    accepted: Vectors,
    min_relevance: float,
    min_novelty: float,
    computed: Sequence[bool] = (),
) -> list[FindingAssessment]:
    """Assess candidates in order of relevance, so that the better of two near-duplicates is accepted.

    Args:
        vectors: unit vectors of n candidates, shape (n, d).
        relevance: normalised relevance of each candidate to each of m topics, shape (n, m).
        target_topics: index of the topic for which each candidate was searched.
        exempt: whether each candidate was found through links or computed, and so needs no similarity to a topic.
        accepted: unit vectors of the findings accepted so far, shape (k, d); k may be 0.
        min_relevance: threshold τ_r.
        min_novelty: threshold τ_n.
        computed: whether each candidate was computed, and only has to differ from earlier findings; none if empty.
    """
    nearest = (vectors @ accepted.T).max(axis=1) if len(accepted) else np.zeros(len(vectors), dtype=np.float32)
    best = relevance.argmax(axis=1)
    # A candidate keeps its own topic unless another one is clearly nearer.
    topics = [
        target if row[target] >= MIN_OWN_TOPIC_SHARE * row[first] else int(first)
        for row, target, first in zip(relevance, target_topics, best, strict=True)
    ]
    fit = np.asarray([row[topic] for row, topic in zip(relevance, topics, strict=True)], dtype=np.float32)
    verdicts: dict[int, FindingAssessment] = {}
    for index in sorted(range(len(vectors)), key=lambda i: (-float(fit[i]), i)):
        novelty = min(1.0, max(0.0, 1.0 - float(nearest[index])))
        is_computed = bool(computed) and computed[index]
        verdict: FindingVerdict = (
            "known" if novelty < (MIN_COMPUTED_NOVELTY if is_computed else min_novelty) else "accepted"
        )
        if fit[index] < min_relevance and not exempt[index]:
            verdict = "irrelevant"
        verdicts[index] = FindingAssessment(verdict, topics[index], float(fit[index]), novelty)
        if verdict == "accepted":
            nearest = np.maximum(nearest, vectors @ vectors[index])
    return [verdicts[index] for index in range(len(vectors))]


def cluster_vectors(vectors: Vectors, min_similarity: float, min_size: int, max_groups: int) -> list[list[int]]:
    """Return clusters of unit vectors, shape (n, d), around their densest members, as lists of indexes, densest first.

    A member of a cluster has a minimum cosine similarity to its centre, which comes first.
    """
    available = np.ones(len(vectors), dtype=bool)
    near = vectors @ vectors.T >= min_similarity
    groups: list[list[int]] = []
    while available.any() and len(groups) < max_groups:
        counts = np.where(available, (near & available).sum(axis=1), 0)
        centre = int(np.argmax(counts))
        if counts[centre] < min_size:
            break
        members = [int(i) for i in np.flatnonzero(near[centre] & available)]
        groups.append([centre, *(i for i in members if i != centre)])
        available[members] = False
        available[centre] = False
    return groups
