"""Choose the retrieval strategy of a task by past outcomes: a multi-armed bandit with Thompson sampling.

The success of each strategy has a beta distribution (Thompson 1933; Chapelle and Li 2011). One value is drawn per
strategy, and the strategy with the highest draw is chosen, so that good and uncertain strategies are tried more often.
Three rules limit the damage of wrong records: another strategy replaces the suggested one only if it has enough trials
and its draw is clearly higher; the number of trials per record is capped; and the estimate for one query type is shrunk
towards the estimate for all types (partial pooling).
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from math import sqrt
from statistics import NormalDist
from typing import Final, NamedTuple

from tenure.contracts.evidence.retrieval import RetrievalStrategy
from tenure.contracts.knowledge.memory import StrategyRecord
from tenure.contracts.run.run import QueryType

MIN_TRIALS = 5
"""Minimum number of trials for a query type before a strategy may replace the suggested one."""
MAX_TRIALS = 40
"""Maximum number of trials that count per record."""
PRIOR_TRIALS = 8.0
"""Weight of the success rate over all query types in the estimate for one type, in trials."""
POOLED_TRIALS = 8.0
"""Weight of the success rate of all strategies in the estimate for one strategy, in trials."""
_PRIOR_WINS, _ALL_PRIOR_TRIALS = 1.0, 2.0
"""Prior of the success rate of all strategies: half of two trials."""
MIN_LEAD = 0.05
"""Minimum difference of a draw to the draw of the suggested strategy."""
EXPLORATION_SHARE = 0.1
"""Share of choices that also consider strategies with fewer trials."""

_NORMAL: Final = NormalDist()


class BetaPosterior(NamedTuple):
    """Beta distribution of a strategy's success rate."""

    alpha: float
    """α: successes plus prior; above 0."""
    beta: float
    """β: failures plus prior; above 0."""

    @property
    def mean(self) -> float:
        """α / (α + β)."""
        return self.alpha / (self.alpha + self.beta)

    def compute_quantile(self, probability: float) -> float:
        """Return a quantile, by the normal distribution with the same mean and variance."""
        variance = self.mean * (1 - self.mean) / (self.alpha + self.beta + 1)
        return self.mean + sqrt(variance) * _NORMAL.inv_cdf(probability)


class StrategyChoice(NamedTuple):
    """Strategy chosen for a task."""

    strategy: RetrievalStrategy
    reason: str
    """Reason for replacing the suggested strategy; empty if it was not replaced."""


def compute_posteriors(
    query_type: QueryType, records: Sequence[StrategyRecord], strategies: Iterable[RetrievalStrategy]
) -> Mapping[RetrievalStrategy, BetaPosterior]:
    """Return the posterior of each strategy for a query type; one without a record has the mean of all strategies."""
    won, trials = _sum_outcomes(records)
    expected = (won + _PRIOR_WINS) / (trials + _ALL_PRIOR_TRIALS)
    posteriors: dict[RetrievalStrategy, BetaPosterior] = {}
    for strategy in strategies:
        strategy_records = [record for record in records if record.strategy == strategy]
        won, trials = _sum_outcomes(strategy_records)
        pooled = (won + POOLED_TRIALS * expected) / (trials + POOLED_TRIALS)
        won, trials = _sum_outcomes([record for record in strategy_records if record.query_type == query_type])
        posteriors[strategy] = BetaPosterior(PRIOR_TRIALS * pooled + won, PRIOR_TRIALS * (1 - pooled) + trials - won)
    return posteriors


def _sum_outcomes(records: Sequence[StrategyRecord]) -> tuple[float, float]:
    """Return successes and trials of records, with at most `MAX_TRIALS` trials of each."""
    trials = [float(min(MAX_TRIALS, max(0, record.episodes))) for record in records]
    shares = [min(1.0, max(0.0, record.score / max(1, record.episodes))) for record in records]
    return sum(share * count for share, count in zip(shares, trials, strict=True)), sum(trials)


def sample_strategy(
    suggested: RetrievalStrategy,
    query_type: QueryType,
    records: Sequence[StrategyRecord],
    strategies: Iterable[RetrievalStrategy],
    seed: str,
) -> StrategyChoice:
    """Choose one of the strategies, or the suggested one, by Thompson sampling; equal seeds give equal choices."""
    trials = {record.strategy: record.episodes for record in records if record.query_type == query_type}
    if not trials:
        return StrategyChoice(suggested, "")
    exploring = _draw_uniform(f"{seed}/exploring") < EXPLORATION_SHARE
    eligible = sorted(
        {candidate for candidate in strategies if exploring or trials.get(candidate, 0) >= MIN_TRIALS} | {suggested}
    )
    posteriors = compute_posteriors(query_type, records, eligible)
    draws = {
        candidate: posteriors[candidate].compute_quantile(_draw_uniform(f"{seed}/{candidate}"))
        for candidate in eligible
    }
    best = max(eligible, key=lambda candidate: draws[candidate])
    if best == suggested or draws[best] <= draws[suggested] + MIN_LEAD:
        return StrategyChoice(suggested, "")
    if (tried := trials.get(best, 0)) < MIN_TRIALS:
        return StrategyChoice(best, f"exploration: {best} was tried {tried} times; {suggested} was suggested")
    reason = (
        f"{best} succeeded in {posteriors[best].mean:.0%} of what is remembered, "
        f"{suggested}, which was suggested, in {posteriors[suggested].mean:.0%}"
    )
    return StrategyChoice(best, reason)


def _draw_uniform(seed: str) -> float:
    """Return a number in (0, 1) that depends only on the seed, so that workflow replay is deterministic."""
    return (int.from_bytes(sha256(seed.encode()).digest()[:6], "big") + 0.5) / 2**48
