"""The second stage of a search: one order out of several opinions, a document's age, its standing, and diversity.

For each candidate, with every opinion stretched to the range from 0 (the worst candidate) to 1 (the best)::

    opinion   = (1 - w1 - w2) * first stage + w1 * late interaction + w2 * rerank endpoint
    score     = (1 + opinion) / 2 * recency * authority

An opinion so counts from one half to 1: a factor of 2 brings the last candidate level with the first. Both
factors are 1 for a document of which nothing is known. The order is that of the scores or, where diversity
is asked for, that in which maximal marginal relevance chooses.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

import numpy as np

from tenure.algorithms.retrieval.mmr import mmr
from tenure.algorithms.retrieval.score_fusion import stretched
from tenure.algorithms.text.dates import period
from tenure.algorithms.text.passage import Vectors

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://(?:[^/?#@]*@)?([^/?#:]+)", re.IGNORECASE)


def opinion(first: Sequence[float], others: Sequence[tuple[float, Sequence[float]]]) -> list[float]:
    """Return the blended opinion on each candidate, from 0 to 1.

    Args:
        first: scores of the first stage.
        others: further opinions, each with its weight; the first stage weighs what they leave of 1.

    Raises:
        ValueError: the weights are negative or more than 1 together.
    """
    rest = 1 - sum(weight for weight, _ in others)
    if rest < -1e-9 or any(weight < 0 for weight, _ in others):
        raise ValueError(f"weights must be in [0, 1] together, got {[weight for weight, _ in others]}")
    blended = np.zeros(len(first))
    for weight, scores in ((max(0.0, rest), first), *others):
        scale = stretched(dict(enumerate(scores)))
        blended += weight * np.array([scale[place] for place in range(len(first))])
    return [float(value) for value in blended]


def recency(published: str, as_of: date, half_life_days: float, weight: float) -> float:
    """Return the factor of a document's age: 1 + weight * (2 * 0.5^(age / half-life) - 1).

    It falls from 1 + weight, today, over 1, at an age of one half-life, to 1 - weight. An undated document has 1.

    Args:
        published: day of publication, as the document writes it; empty where unknown.
        as_of: the day from which the age is counted.
        half_life_days: days after which half of a document's newness is gone.
        weight: what newness is worth, from 0 to 1.
    """
    days = period(published)
    if days is None:
        return 1.0
    age = max(0, (as_of - date.fromisoformat(days.first)).days)
    return 1 + weight * (2 * math.exp2(-age / half_life_days) - 1)


def authority(uri: str, kind: str, weights: Mapping[str, float]) -> float:
    """Return what a source counts: the weight of the narrowest kind that it belongs to, 1 where it belongs to none.

    Args:
        uri: where the source is: a path or an address.
        kind: `prose` or `code`.
        weights: by path or address it begins with, the longest first; by host, subdomains included; by the end of
            its name; and by kind.
    """
    address = _ADDRESS.match(uri)
    host = address[1].lower() if address else ""
    tests = (uri.startswith, lambda name: f".{host}".endswith(f".{name}"), uri.lower().endswith, kind.__eq__)
    for belongs in tests:
        named = [name for name in weights if belongs(name)]
        if named:
            return weights[max(named, key=len)]
    return 1.0


def listed(count: int, numbers: Iterable[int]) -> list[int]:
    """Return the positions of `count` items in the order of their numbers, from 1.

    A number that is none of theirs says nothing; items that are not named keep their order behind the others.
    """
    named = [number - 1 for number in numbers if 1 <= number <= count]
    return list(dict.fromkeys([*named, *range(count)]))


def final_order(scores: Sequence[float], vectors: Vectors, diversity: float) -> list[int]:
    """Return the positions of all candidates, best first; of equals the earlier.

    Args:
        scores: their scores.
        vectors: their unit vectors, shape (n, d).
        diversity: weight of unlikeness to what stands before; with 0 the vectors have no say.
    """
    if not diversity:
        return sorted(range(len(scores)), key=lambda place: -scores[place])
    return mmr(scores, vectors, len(scores), trade_off=1 - diversity, too_close=float("inf"))
