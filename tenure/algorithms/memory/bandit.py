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
    """Return the posterior of each strategy for a query type.

    Args:
        query_type: type of the query.
        records: records of all query types.
        strategies: strategies to estimate; one without a record has the mean of all strategies.
    """
    expected = _compute_success_rate(records, 0.5, 2.0)
    return {
        wanted: _compute_posterior(query_type, [record for record in records if record.strategy == wanted], expected)
        for wanted in strategies
    }


def _compute_posterior(query_type: QueryType, records: Sequence[StrategyRecord], expected: float) -> BetaPosterior:
    pooled = _compute_success_rate(records, expected, POOLED_TRIALS)
    outcomes = [_cap_trials(record) for record in records if record.query_type == query_type]
    won, trials = sum(won for won, _ in outcomes), sum(trials for _, trials in outcomes)
    return BetaPosterior(PRIOR_TRIALS * pooled + won, PRIOR_TRIALS * (1 - pooled) + trials - won)


def _compute_success_rate(records: Sequence[StrategyRecord], expected: float, weight: float) -> float:
    """Return the success rate, shrunk towards `expected` with a weight in trials."""
    bounded = [_cap_trials(record) for record in records]
    won, trials = sum(won for won, _ in bounded), sum(trials for _, trials in bounded)
    return (won + weight * expected) / (trials + weight)


def _cap_trials(record: StrategyRecord) -> tuple[float, float]:
    """Return successes and trials of a record, with at most `MAX_TRIALS` trials."""
    trials = float(min(MAX_TRIALS, max(0, record.episodes)))
    share = min(1.0, max(0.0, record.score / max(1, record.episodes)))
    return share * trials, trials


def sample_strategy(
    suggested: RetrievalStrategy,
    query_type: QueryType,
    records: Sequence[StrategyRecord],
    strategies: Iterable[RetrievalStrategy],
    seed: str,
) -> StrategyChoice:
    """Choose the strategy of a task by Thompson sampling.

    Args:
        suggested: strategy that the words of the query suggest.
        query_type: type of the query.
        records: past outcomes.
        strategies: strategies that may be chosen.
        seed: seed of the draws; equal seeds give equal choices.
    """
    if not any(record.query_type == query_type for record in records):
        return StrategyChoice(suggested, "")
    trials = {record.strategy: record.episodes for record in records if record.query_type == query_type}
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
    return StrategyChoice(best, _explain_choice(best, suggested, trials, posteriors))


def _explain_choice(
    best: RetrievalStrategy,
    suggested: RetrievalStrategy,
    trials_by_strategy: Mapping[str, int],
    posteriors: Mapping[RetrievalStrategy, BetaPosterior],
) -> str:
    trials = trials_by_strategy.get(best, 0)
    if trials < MIN_TRIALS:
        return f"exploration: {best} was tried {trials} times; {suggested} was suggested"
    return (
        f"{best} succeeded in {posteriors[best].mean:.0%} of what is remembered, "
        f"{suggested}, which was suggested, in {posteriors[suggested].mean:.0%}"
    )


def _draw_uniform(seed: str) -> float:
    """Return a number in (0, 1) that depends only on the seed, so that workflow replay is deterministic."""
    return (int.from_bytes(sha256(seed.encode()).digest()[:6], "big") + 0.5) / 2**48
