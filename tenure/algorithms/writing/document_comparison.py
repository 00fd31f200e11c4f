"""Compare two documents without a model: common statements, differences, and statements of only one of them.

Statements are paired as for the detection of contradictions. Contradicting pairs are differences, other pairs are
common statements, and the best unpaired statements belong to one document.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from tenure.algorithms.claims.claim_pairs import find_claim_pairs
from tenure.algorithms.claims.contradictions import detect_contradiction
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.algorithms.writing.facts import FactStatement, extract_facts
from tenure.contracts.research.tools import ComparisonRelation

MAX_SHARED_POINTS: Final = 6
"""Maximum number of paired statements."""
MAX_OWN_POINTS: Final = 3
"""Maximum number of unpaired statements per document."""


class ComparisonPoint(NamedTuple):
    """Point of a comparison with the statement of each document; None if a document has none."""

    relation: ComparisonRelation
    about: str
    first: FactStatement | None = None
    second: FactStatement | None = None


def compare_documents(
    criteria: str, first: Sequence[Passage], second: Sequence[Passage], encode: Encoder
) -> list[ComparisonPoint]:
    """Compare two documents; passages of the second one are numbered after those of the first.

    Args:
        criteria: criteria of the comparison.
        first: passages of one document.
        second: passages of the other.
        encode: sentence encoder.
    """
    everything = (*first, *second)
    wanted = {fact.text: fact for fact in extract_facts(criteria, "any", everything, encode, len(everything) * 4)}
    shared = _find_shared_points(wanted, everything, encode, len(first))
    paired = {side.text for point in shared for side in (point.first, point.second) if side}
    own = [fact for text, fact in wanted.items() if text not in paired]
    mine = [ComparisonPoint("only_first", "", first=fact) for fact in own if fact.passage <= len(first)]
    theirs = [ComparisonPoint("only_second", "", second=fact) for fact in own if fact.passage > len(first)]
    return [*shared, *mine[:MAX_OWN_POINTS], *theirs[:MAX_OWN_POINTS]]


def _find_shared_points(
    wanted: dict[str, FactStatement], passages: Sequence[Passage], encode: Encoder, border: int
) -> list[ComparisonPoint]:
    """Return paired statements on the criteria, contradicting ones first."""
    found: list[ComparisonPoint] = []
    for pair in find_claim_pairs(passages, encode):
        a, b = wanted.get(pair.a.text), wanted.get(pair.b.text)
        if a is None or b is None or (a.passage <= border) == (b.passage <= border):
            continue
        first, second = sorted((a, b), key=lambda fact: fact.passage)
        apart = detect_contradiction(first.text, second.text)
        relation: ComparisonRelation = "different" if apart else "same"
        found.append(ComparisonPoint(relation, apart.about if apart else "", first, second))
    return sorted(found, key=lambda point: point.relation != "different")[:MAX_SHARED_POINTS]
