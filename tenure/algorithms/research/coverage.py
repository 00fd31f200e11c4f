"""Compute how well passages cover a topic of the outline."""

from collections.abc import Iterable

from tenure.contracts.evidence.passages import PassageRef

MAX_COUNTED_PASSAGES = 6
"""m: number of passages that count."""

PASSAGE_WEIGHT = 0.6
"""w: share of the uncovered rest that a fully relevant passage covers."""

REPEATED_SOURCE_WEIGHT = 0.5
"""Factor for further passages of a source that has already counted."""


def compute_coverage(passages: Iterable[PassageRef]) -> float:
    """Return the coverage of a topic, c_j = 1 − Π(1 − w·r_i) over its m best passages, in [0, 1).

    r_i is the relevance of a passage. The second and later passages of a source count half, so that a single document
    cannot cover a topic alone.
    """
    open_share = 1.0
    for share, _ in _rank_contributions(passages)[:MAX_COUNTED_PASSAGES]:
        open_share *= 1.0 - PASSAGE_WEIGHT * share
    return 1.0 - open_share


def select_covering_passages(passages: Iterable[PassageRef], limit: int) -> tuple[PassageRef, ...]:
    """Return the passages that contribute most to coverage, the largest contribution first."""
    return tuple(passage for _, passage in _rank_contributions(passages)[:limit])


def _rank_contributions(passages: Iterable[PassageRef]) -> list[tuple[float, PassageRef]]:
    seen: set[str] = set()
    shares: list[tuple[float, PassageRef]] = []
    for passage in sorted(passages, key=lambda p: (-p.relevance, p.chunk)):
        share = REPEATED_SOURCE_WEIGHT if passage.source in seen else 1.0
        seen.add(passage.source)
        shares.append((share * min(1.0, max(0.0, passage.relevance)), passage))
    return sorted(shares, key=lambda pair: (-pair[0], -pair[1].relevance, pair[1].chunk))
