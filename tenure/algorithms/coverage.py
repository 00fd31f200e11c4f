"""Topic coverage (DESIGN §5)."""

from collections.abc import Iterable

from tenure.contracts.evidence import PassageRef

BEST = 6
"""m: how many of the best passages count."""

WEIGHT = 0.6
"""w: how much a fully relevant passage covers of what is still open."""

REPEATED_SOURCE = 0.5
"""Share of a passage that counts when its source has counted already."""


def coverage(passages: Iterable[PassageRef], best: int = BEST, weight: float = WEIGHT) -> float:
    """Return c_j = 1 − Π(1 − w·r_i) over the most relevant passages, in [0, 1).

    A source's second and later passages count half, so that one document alone cannot fill a topic.
    """
    seen: set[str] = set()
    shares: list[float] = []
    for passage in sorted(passages, key=lambda p: (-p.relevance, p.chunk)):
        share = REPEATED_SOURCE if passage.source in seen else 1.0
        seen.add(passage.source)
        shares.append(share * min(1.0, max(0.0, passage.relevance)))
    open_share = 1.0
    for share in sorted(shares, reverse=True)[:best]:
        open_share *= 1.0 - weight * share
    return 1.0 - open_share
