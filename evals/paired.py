"""Compare two systems that have answered the same questions."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

RESAMPLES = 5000
"""Resamples of the questions for an interval."""
MIN_QUESTIONS = 5
"""Questions that an interval needs; fewer are within it whatever they show."""


class Difference(NamedTuple):
    """Mean difference of a score over questions, with its 95 % interval."""

    mean: float
    low: float
    high: float


def compare_pairs(usual: Sequence[float], other: Sequence[float]) -> Difference:
    """Return the difference of the usual scores to the others of the same questions, in the same order.

    The interval is that of the percentile bootstrap over questions: it needs no distribution, and most questions
    usually have no difference at all.
    """
    differences = np.asarray(usual, dtype=float) - np.asarray(other, dtype=float)
    if len(differences) < MIN_QUESTIONS:
        raise ValueError(f"{len(differences)} questions are too few for an interval: compare {MIN_QUESTIONS} or more")
    random = np.random.default_rng(seed=len(differences))
    means = random.choice(differences, size=(RESAMPLES, len(differences))).mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return Difference(float(differences.mean()), float(low), float(high))
