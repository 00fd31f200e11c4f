"""Topic coverage (DESIGN §5)."""

from collections.abc import Iterable

from tenure.contracts.evidence.passages import PassageRef

BEST = 6
"""m: how many of the best passages count."""

WEIGHT = 0.6
"""w: how much a fully relevant passage covers of what is still open."""

REPEATED_SOURCE = 0.5
"""Share of a passage that counts when its source has counted already."""


def coverage(passages: Iterable[PassageRef], best: int = BEST, weight: float = WEIGHT) -> float:
    """Return c_j = 1 − Π(1 − w·r_i) over the passages that count most, in [0, 1).

    A source's second and later passages count half, so that one document alone cannot fill a topic.
    """
    open_share = 1.0
    for share, _ in _shares(passages)[:best]:
        open_share *= 1.0 - weight * share
    return 1.0 - open_share


def most_covering(passages: Iterable[PassageRef], most: int) -> tuple[PassageRef, ...]:
    """Return the passages that count most for coverage, the one that counts most first."""
    return tuple(passage for _, passage in _shares(passages)[:most])


def _shares(passages: Iterable[PassageRef]) -> list[tuple[float, PassageRef]]:
    """Return what each passage counts, the most first."""
    seen: set[str] = set()
    shares: list[tuple[float, PassageRef]] = []
    for passage in sorted(passages, key=lambda p: (-p.relevance, p.chunk)):
        share = REPEATED_SOURCE if passage.source in seen else 1.0
        seen.add(passage.source)
        shares.append((share * min(1.0, max(0.0, passage.relevance)), passage))
    return sorted(shares, key=lambda pair: (-pair[0], -pair[1].relevance, pair[1].chunk))
