"""Rerank search results by blended scores, document age, source authority and diversity.

With each list of scores scaled to the range from 0 (worst candidate) to 1 (best)::

    blended   = (1 - w) * first stage + w * rerank endpoint
    score     = (1 + blended) / 2 * recency * authority

The first factor ranges from 1/2 to 1, so a factor of 2 puts the last candidate level with the first. Recency and
authority are 1 for a document without known date or weight. Candidates are ordered by score or, if diversity is
requested, by maximal marginal relevance.
"""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from tenure.algorithms.retrieval.score_fusion import scale_min_max
from tenure.algorithms.text.dates import parse_date_range
from tenure.algorithms.text.passage import Vectors

# The host of "https://user@example.org:8080/path".
_URL = re.compile(r"[a-z][a-z0-9+.-]*://(?:[^/?#@]*@)?([^/?#:]+)", re.IGNORECASE)


def blend_reranker_scores(first: Sequence[float], other: Sequence[float], weight: float) -> list[float]:
    """Return the weighted mean of scaled scores for each candidate, from 0 to 1.

    Args:
        first: scores of the first stage.
        other: scores of the rerank endpoint.
        weight: weight of the latter, from 0 to 1; with 0 they may be missing.
    """
    blended = _scale(first)
    if weight:
        blended = (1 - weight) * blended + weight * _scale(other)
    return [float(value) for value in blended]


def _scale(scores: Sequence[float]) -> NDArray[np.float64]:
    """Return scores scaled to the range from 0 to 1."""
    scaled = scale_min_max(dict(enumerate(scores)))
    return np.array([scaled[index] for index in range(len(scores))])


def compute_recency_factor(published: str, as_of: date, half_life_days: float, weight: float) -> float:
    """Return the factor of a document's age: 1 + weight * (2 * 0.5^(age / half-life) - 1).

    It falls from 1 + weight today over 1 at the half-life to 1 - weight. An undated document has 1.
    """
    date_range = parse_date_range(published)
    if date_range is None:
        return 1.0
    age = max(0, (as_of - date.fromisoformat(date_range.first)).days)
    return 1 + weight * (2 * math.exp2(-age / half_life_days) - 1)


def compute_authority_factor(uri: str, kind: str, weights: Mapping[str, float]) -> float:
    """Return the weight of the most specific rule that matches a source; 1 if none does.

    Args:
        uri: path or URL of the source.
        kind: `prose` or `code`.
        weights: weights by path or URL prefix, the longest first; by host, subdomains included; by suffix of the name;
            and
            by kind.
    """
    match = _URL.match(uri)
    host = match[1].lower() if match else ""
    tests = (uri.startswith, lambda name: f".{host}".endswith(f".{name}"), uri.lower().endswith, kind.__eq__)
    for matches_rule in tests:
        rules = [name for name in weights if matches_rule(name)]
        if rules:
            return weights[max(rules, key=len)]
    return 1.0


def select_by_mmr(
    scores: Sequence[float] | NDArray[np.float32],
    vectors: Vectors,
    k: int,
    trade_off: float = 0.7,
    max_similarity: float = 0.92,
) -> list[int]:
    """Return the indexes of at most `k` items by maximal marginal relevance (Carbonell and Goldstein 1998), best first.

    The next item has the highest trade_off * relevance - (1 - trade_off) * max similarity to the selected items, by the
    unit vectors of n items, shape (n, d).

    Items at least as similar (cosine) to a selected item as `max_similarity` are never selected.
    """
    relevance = np.asarray(scores, dtype=np.float32)
    similarity = np.zeros(len(relevance), dtype=np.float32)
    available = np.ones(len(relevance), dtype=bool)
    selected: list[int] = []
    while len(selected) < k and available.any():
        marginal = np.where(available, trade_off * relevance - (1 - trade_off) * similarity, -np.inf)
        best = int(np.argmax(marginal))
        selected.append(best)
        similarity = np.maximum(similarity, vectors @ vectors[best])
        available &= similarity < max_similarity
        available[best] = False
    return selected


def order_candidates(scores: Sequence[float], vectors: Vectors, diversity: float) -> list[int]:
    """Return the indexes of all candidates, best first; equal candidates keep their order.

    The diversity is the weight of the dissimilarity of unit vectors, shape (n, d), to the preceding candidates.
    """
    if not diversity:
        return sorted(range(len(scores)), key=lambda index: -scores[index])
    return select_by_mmr(scores, vectors, len(scores), trade_off=1 - diversity, max_similarity=float("inf"))
