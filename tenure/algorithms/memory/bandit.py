"""Which strategy a task searches with, by how each went before: a bandit (document 003, Memory-Enhanced Retrieval).

Thompson sampling: what is known of a strategy is a distribution of its success, and the strategy with the highest draw
is taken, so that a strategy is tried the more often the better it seems and the less is known of it. Three rules bound
what wrong records can do. The strategy that the words of a task suggest stays unless another one is well known and
draws clearly ahead; a record counts only so many trials, however many it has; and what is known of a strategy for all
types of questions draws what is known for one type towards it.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from math import sqrt
from statistics import NormalDist
from typing import Final, NamedTuple

from tenure.contracts.evidence.retrieval import Strategy
from tenure.contracts.knowledge.memory import StrategyRecord
from tenure.contracts.run.run import QueryType

LEAST = 5
"""Trials for a type of question from which a strategy is well known for it."""
MOST = 40
"""Trials that a record counts at the most."""
PRIOR = 8.0
"""Trials that what is known of a strategy for all types counts for one type."""
POOLED = 8.0
"""Trials that what is known of all strategies counts for one of them."""
LEAD = 0.05
"""How far a strategy has to draw ahead of the suggested one."""
EXPLORED = 0.1
"""Share of the choices in which strategies that are not well known may be taken as well."""

_NORMAL: Final = NormalDist()


class Belief(NamedTuple):
    """How likely success is, as a beta distribution."""

    won: float
    """Trials that speak for it; above 0."""
    lost: float
    """Trials that speak against it; above 0."""

    @property
    def mean(self) -> float:
        """Return the expected share of success."""
        return self.won / (self.won + self.lost)

    def at(self, chance: float) -> float:
        """Return the success that is exceeded with 1 − chance, by the normal distribution of the same two moments."""
        variance = self.mean * (1 - self.mean) / (self.won + self.lost + 1)
        return self.mean + sqrt(variance) * _NORMAL.inv_cdf(chance)


class Choice(NamedTuple):
    """A strategy that was taken."""

    strategy: Strategy
    """The strategy."""
    why: str
    """Why it was taken instead of the suggested one; empty where it is the suggested one."""


def beliefs(
    kind: QueryType, records: Sequence[StrategyRecord], strategies: Iterable[Strategy]
) -> Mapping[Strategy, Belief]:
    """Return what records say of strategies for a type of question.

    Args:
        kind: the type.
        records: of all types.
        strategies: those wanted; one without a record is believed to be as good as all of them together.
    """
    usual = _share(records, 0.5, 2.0)
    return {wanted: _belief(kind, [one for one in records if one.strategy == wanted], usual) for wanted in strategies}


def _belief(kind: QueryType, records: Sequence[StrategyRecord], usual: float) -> Belief:
    pooled = _share(records, usual, POOLED)
    of_kind = [_bounded(one) for one in records if one.query_type == kind]
    won, trials = sum(won for won, _ in of_kind), sum(trials for _, trials in of_kind)
    return Belief(PRIOR * pooled + won, PRIOR * (1 - pooled) + trials - won)


def _share(records: Sequence[StrategyRecord], expected: float, weight: float) -> float:
    """Return the share of success, drawn towards what is expected by so many trials; never all or nothing."""
    bounded = [_bounded(one) for one in records]
    won, trials = sum(won for won, _ in bounded), sum(trials for _, trials in bounded)
    return (won + weight * expected) / (trials + weight)


def _bounded(record: StrategyRecord) -> tuple[float, float]:
    """Return what a record counts: successes and trials."""
    trials = float(min(MOST, max(0, record.episodes)))
    share = min(1.0, max(0.0, record.score / max(1, record.episodes)))
    return share * trials, trials


def choose(
    suggested: Strategy, kind: QueryType, records: Sequence[StrategyRecord], strategies: Iterable[Strategy], seed: str
) -> Choice:
    """Return the strategy to take for a task.

    Args:
        suggested: what its words suggest.
        kind: the type of its question.
        records: how strategies went before.
        strategies: those that may be taken.
        seed: the same seed draws the same.
    """
    if not any(record.query_type == kind for record in records):
        return Choice(suggested, "")
    known = {record.strategy: record.episodes for record in records if record.query_type == kind}
    exploring = _chance(f"{seed}/exploring") < EXPLORED
    eligible = sorted({one for one in strategies if exploring or known.get(one, 0) >= LEAST} | {suggested})
    believed = beliefs(kind, records, eligible)
    draws = {one: believed[one].at(_chance(f"{seed}/{one}")) for one in eligible}
    best = max(eligible, key=lambda one: draws[one])
    if best == suggested or draws[best] <= draws[suggested] + LEAD:
        return Choice(suggested, "")
    return Choice(best, _why(best, suggested, known, believed))


def _why(best: Strategy, suggested: Strategy, known: Mapping[str, int], believed: Mapping[Strategy, Belief]) -> str:
    """Say why a strategy is taken in place of the suggested one."""
    trials = known.get(best, 0)
    if trials < LEAST:
        return f"to learn what {best} brings, which was tried {trials} times; {suggested} was suggested"
    return (
        f"{best} went well in {believed[best].mean:.0%} of what is remembered, "
        f"{suggested}, which was suggested, in {believed[suggested].mean:.0%}"
    )


def _chance(seed: str) -> float:
    """Return a number between 0 and 1, both excluded, that the seed alone decides, in a replay as well."""
    return (int.from_bytes(sha256(seed.encode()).digest()[:6], "big") + 0.5) / 2**48
