"""Comparing two documents: statements of both that speak of the same, and what only one of them says.

The classical twin of comparing. Statements are paired as in the search for contradictions; those that plainly
disagree differ, the others say the same, and each document's best statements that are in no pair are its own.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from tenure.algorithms.claims.claim_pairs import disagreeing, pairs
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.algorithms.writing.facts import Fact, facts
from tenure.contracts.research.tools import Relation

ALIKE: Final = 6
"""Pairs of statements at the most."""
OWN: Final = 3
"""Statements that only one document makes, at the most of each."""


class Point(NamedTuple):
    """A point of comparison, with what each side says on it; None where it says nothing."""

    relation: Relation
    about: str
    first: Fact | None = None
    second: Fact | None = None


def compared(criteria: str, first: Sequence[Passage], second: Sequence[Passage], encode: Encoder) -> list[Point]:
    """Return what two documents say on some criteria; passages of the second are numbered after those of the first.

    Args:
        criteria: in what they are compared.
        first: passages of one document.
        second: passages of the other.
        encode: sentence encoder.
    """
    everything = (*first, *second)
    wanted = {fact.text: fact for fact in facts(criteria, "any", everything, encode, len(everything) * 4)}
    shared = _shared(wanted, everything, encode, len(first))
    paired = {side.text for point in shared for side in (point.first, point.second) if side}
    own = [fact for text, fact in wanted.items() if text not in paired]
    mine = [Point("only_first", "", first=fact) for fact in own if fact.passage <= len(first)]
    theirs = [Point("only_second", "", second=fact) for fact in own if fact.passage > len(first)]
    return [*shared, *mine[:OWN], *theirs[:OWN]]


def _shared(wanted: dict[str, Fact], passages: Sequence[Passage], encode: Encoder, border: int) -> list[Point]:
    """Return pairs of statements on the criteria, those that disagree first."""
    found: list[Point] = []
    for pair in pairs(passages, encode):
        a, b = wanted.get(pair.a.text), wanted.get(pair.b.text)
        if a is None or b is None or (a.passage <= border) == (b.passage <= border):
            continue
        first, second = sorted((a, b), key=lambda fact: fact.passage)
        apart = disagreeing(first.text, second.text, pair.likeness)
        relation: Relation = "different" if apart else "same"
        found.append(Point(relation, apart.about if apart else "", first, second))
    return sorted(found, key=lambda point: point.relation != "different")[:ALIKE]
