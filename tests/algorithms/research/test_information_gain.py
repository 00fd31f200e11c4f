"""Tests of information gain, trend and diminishing returns against values computed by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.research.information_gain import (
    GAIN_WINDOW,
    LOW_GAIN_THRESHOLD,
    NOVELTY_WEIGHT,
    classify_trend,
    compute_information_gain,
    has_diminishing_returns,
)

SHARES = st.floats(0.0, 1.0, allow_nan=False)
COVERAGES = st.dictionaries(st.sampled_from("abcd"), SHARES)


def test_gain_is_mean_coverage_growth_plus_weighted_novelty() -> None:
    """Two topics that grow by 0.3 and 0.1, and novelties of 1 and 0.5, give 0.2 + β·0.75."""
    gain = compute_information_gain({"a": 0.1, "b": 0.4}, {"a": 0.4, "b": 0.5}, [1.0, 0.5])

    assert gain == pytest.approx((0.3 + 0.1) / 2 + NOVELTY_WEIGHT * 0.75)


def test_lost_coverage_does_not_count() -> None:
    """Only growth counts, over all topics of the outline."""
    assert compute_information_gain({"a": 0.5, "b": 0.2}, {"a": 0.1, "b": 0.6}, []) == pytest.approx(0.4 / 2)


def test_new_topics_count_from_zero() -> None:
    """Dropped topics do not count."""
    assert compute_information_gain({"gone": 0.9}, {"new": 0.3}, []) == pytest.approx(0.3)


def test_no_findings_give_no_gain() -> None:
    """Also without topics."""
    assert compute_information_gain({"a": 0.5}, {"a": 0.5}, []) == compute_information_gain({}, {}, []) == 0.0


@given(COVERAGES, COVERAGES, st.lists(SHARES, max_size=8))
def test_gain_is_between_zero_and_its_maximum(
    before: dict[str, float], now: dict[str, float], novelties: list[float]
) -> None:
    """The maximum is 1 + β."""
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
def test_trend_compares_the_last_two_gains(gains: tuple[float, ...], expected: str) -> None:
    """A relative change above the tolerance is a trend, and a low gain is always stalling."""
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
def test_consecutive_low_gains_are_diminishing_returns(gains: tuple[float, ...], expected: bool) -> None:
    """Each of the last W gains must be below ε."""
    assert GAIN_WINDOW == 2
    assert has_diminishing_returns(gains) is expected
