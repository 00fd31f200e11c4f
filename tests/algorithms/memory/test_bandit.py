"""Tests of the bandit over retrieval strategies."""

from collections import Counter
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.memory.bandit import (
    MAX_TRIALS,
    MIN_TRIALS,
    PRIOR_TRIALS,
    StrategyChoice,
    compute_posteriors,
    sample_strategy,
)
from tenure.contracts.evidence.retrieval import RetrievalStrategy
from tenure.contracts.knowledge.memory import StrategyRecord
from tenure.contracts.run.run import QueryType
from tests.support.tiers import slow

STRATEGIES = ("direct", "iterative", "multi_hop", "hierarchical", "contrastive", "memory", "react")
KINDS: tuple[QueryType, ...] = get_args(QueryType)

RECORDS = st.lists(
    st.builds(
        lambda kind, strategy, trials, share: record(strategy, trials, share * trials, kind),
        st.sampled_from(KINDS),
        st.sampled_from(STRATEGIES),
        st.integers(0, 10_000),
        st.floats(-1, 2),
    ),
    unique_by=lambda record: (record.query_type, record.strategy),
    max_size=20,
)


def record(strategy: RetrievalStrategy, trials: int, won: float, kind: QueryType = "factual") -> StrategyRecord:
    """Return a record of factual questions."""
    return StrategyRecord(query_type=kind, strategy=strategy, episodes=trials, score=won)


def choices(
    records: list[StrategyRecord], suggested: RetrievalStrategy = "direct", times: int = 400
) -> Counter[RetrievalStrategy]:
    """Count the choices over many tasks."""
    picked = (sample_strategy(suggested, "factual", records, STRATEGIES, f"run/{number}") for number in range(times))
    return Counter(choice.strategy for choice in picked)


@slow
@given(RECORDS, st.sampled_from(KINDS))
def test_posteriors_are_proper_and_bounded(records: list[StrategyRecord], kind: QueryType) -> None:
    """The mean is between 0 and 1, and trials are capped."""
    for belief in compute_posteriors(kind, records, STRATEGIES).values():
        assert belief.alpha > 0
        assert belief.beta > 0
        assert belief.alpha + belief.beta <= PRIOR_TRIALS + MAX_TRIALS + 1e-6


def test_records_of_other_types_count() -> None:
    """Records of other types count."""
    records = [record("iterative", 30, 27, "causal"), record("contrastive", 30, 6, "causal")]

    believed = compute_posteriors("factual", records, STRATEGIES)

    assert believed["iterative"].mean > believed["direct"].mean > believed["contrastive"].mean


def test_own_type_outweighs_other_types() -> None:
    """Own type outweighs other types."""
    records = [record("iterative", 40, 36, "causal"), record("iterative", 40, 4), record("direct", 40, 20)]

    believed = compute_posteriors("factual", records, STRATEGIES)

    assert believed["iterative"].mean < believed["direct"].mean


@slow
@given(RECORDS, st.sampled_from(STRATEGIES), st.sampled_from(KINDS), st.text(max_size=8))
def test_equal_seeds_give_equal_choices(
    records: list[StrategyRecord], suggested: RetrievalStrategy, kind: QueryType, seed: str
) -> None:
    """Equal seeds give equal choices."""
    first = sample_strategy(suggested, kind, records, STRATEGIES, seed)

    assert sample_strategy(suggested, kind, records, STRATEGIES, seed) == first
    assert bool(first.reason) == (first.strategy != suggested)


@given(st.sampled_from(STRATEGIES), st.sampled_from(KINDS), st.text(max_size=8))
def test_no_record_keeps_the_suggestion(suggested: RetrievalStrategy, kind: QueryType, seed: str) -> None:
    """No record keeps the suggestion."""
    others = [record("iterative", 50, 50, one) for one in KINDS if one != kind]

    assert sample_strategy(suggested, kind, [], STRATEGIES, seed) == StrategyChoice(suggested, "")
    assert sample_strategy(suggested, kind, others, STRATEGIES, seed) == StrategyChoice(suggested, "")


def test_better_strategy_is_chosen_mostly() -> None:
    """Better strategy is chosen mostly."""
    picked = choices([record("direct", 30, 9), record("multi_hop", 30, 27)])

    assert picked["multi_hop"] > 350
    assert len(picked) > 1


def test_few_trials_are_only_explored() -> None:
    """Few trials are only explored."""
    picked = choices([record("direct", 30, 15), record("multi_hop", MIN_TRIALS - 1, MIN_TRIALS - 1)])

    assert picked["direct"] > 340
    assert 0 < picked["multi_hop"] < 60


def test_equal_strategies_keep_the_suggestion_mostly() -> None:
    """Equal strategies keep the suggestion mostly."""
    picked = choices([record(strategy, 40, 28) for strategy in ("direct", "multi_hop")])

    assert picked["direct"] > picked["multi_hop"]


def test_trials_are_capped() -> None:
    """A record of a million trials counts as one of the maximum."""
    few, many = record("multi_hop", MAX_TRIALS, MAX_TRIALS), record("multi_hop", 1_000_000, 1_000_000)

    assert compute_posteriors("factual", [few], STRATEGIES) == compute_posteriors("factual", [many], STRATEGIES)


def test_choice_has_a_reason() -> None:
    """Choice has a reason."""
    strong = [record("direct", 40, 2), record("multi_hop", 40, 38)]
    weak = [record("direct", 40, 2), record("multi_hop", 2, 2)]
    seeds = [f"run/{number}" for number in range(200)]
    sure = {sample_strategy("direct", "factual", strong, STRATEGIES, seed).reason for seed in seeds}
    curious = {sample_strategy("direct", "factual", weak, STRATEGIES, seed).reason for seed in seeds}

    assert any(why.startswith("multi_hop succeeded in 9") for why in sure)
    assert any(why.startswith("exploration: multi_hop was tried 2 times") for why in curious)
