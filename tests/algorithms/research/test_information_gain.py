"""Information gain, its trend and its end, against hand-computed cases (DESIGN §5)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.research.information_gain import (
    GAIN_WINDOW,
    LOW_GAIN_THRESHOLD,
    MIN_CYCLES,
    NOVELTY_WEIGHT,
    classify_trend,
    compute_information_gain,
    has_diminishing_returns,
)

SHARES = st.floats(0.0, 1.0, allow_nan=False)
COVERAGES = st.dictionaries(st.sampled_from("abcd"), SHARES)


def test_gain_is_mean_growth_of_coverage_and_weighted_novelty() -> None:
    """Two topics that grow by 0.3 and 0.1, and findings of novelty 1 and 0.5, gain 0.2 + β·0.75."""
    gain = compute_information_gain({"a": 0.1, "b": 0.4}, {"a": 0.4, "b": 0.5}, [1.0, 0.5])

    assert gain == pytest.approx((0.3 + 0.1) / 2 + NOVELTY_WEIGHT * 0.75)


def test_a_topic_that_lost_coverage_takes_nothing_from_the_others() -> None:
    """Only growth counts, over all topics of the outline."""
    assert compute_information_gain({"a": 0.5, "b": 0.2}, {"a": 0.1, "b": 0.6}, []) == pytest.approx(0.4 / 2)


def test_a_new_topic_counts_from_nothing_and_a_dropped_one_not_at_all() -> None:
    """What was not in the outline before was uncovered; what left it is in neither sum nor mean."""
    assert compute_information_gain({"gone": 0.9}, {"new": 0.3}, []) == pytest.approx(0.3)


def test_nothing_found_is_no_gain() -> None:
    """Without growth and without findings, and even without topics, the gain is zero."""
    assert compute_information_gain({"a": 0.5}, {"a": 0.5}, []) == compute_information_gain({}, {}, []) == 0.0


@given(COVERAGES, COVERAGES, st.lists(SHARES, max_size=8))
def test_gain_is_never_negative(before: dict[str, float], now: dict[str, float], novelties: list[float]) -> None:
    """Whatever coverage does, a cycle gains between nothing and 1 + β."""
    assert 0.0 <= compute_information_gain(before, now, novelties) <= 1.0 + NOVELTY_WEIGHT + 1e-9


@pytest.mark.parametrize(
    ("gains", "expected"),
    [
        ((), "Steady"),
        ((0.5,), "Steady"),
        ((LOW_GAIN_THRESHOLD / 2,), "Stalling"),
        ((0.2, 0.4), "Increasing"),
        ((0.4, 0.2), "Stalling"),
        ((0.4, 0.42), "Steady"),
        ((0.4, 0.38), "Steady"),
        ((0.01, 0.02), "Stalling"),
        ((0.9, 0.1, 0.3), "Increasing"),
    ],
)
def test_the_trend_compares_the_last_two_gains(gains: tuple[float, ...], expected: str) -> None:
    """A change by more than the share is a trend, and a low gain stalls however it compares."""
    assert classify_trend(gains) == expected


@pytest.mark.parametrize(
    ("gains", "expected"),
    [
        ((), False),
        ((0.01,), False),
        ((0.01, 0.01), True),
        ((0.5, 0.01), False),
        ((0.01, 0.5), False),
        ((0.5, 0.4, 0.07, 0.05), True),
        ((LOW_GAIN_THRESHOLD, LOW_GAIN_THRESHOLD), False),
    ],
)
def test_low_gains_in_a_row_are_diminishing_returns(gains: tuple[float, ...], expected: bool) -> None:
    """The last W gains have to be below ε, each of them."""
    assert (GAIN_WINDOW, MIN_CYCLES) == (2, 2)
    assert has_diminishing_returns(gains) is expected


def test_low_gains_end_nothing_before_the_least_number_of_cycles() -> None:
    """The first cycles may be slow."""
    assert not has_diminishing_returns((0.0, 0.0), min_cycles=3)
    assert has_diminishing_returns((0.0, 0.0, 0.0), min_cycles=3)
