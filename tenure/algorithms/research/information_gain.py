"""Compute the information gain of research cycles and detect diminishing returns."""

from collections.abc import Mapping, Sequence

from tenure.contracts.research.spiral import GainTrend

NOVELTY_WEIGHT = 0.2
"""β: weight of the mean novelty of accepted passages, relative to the added coverage."""
GAIN_WINDOW = 2
"""W: number of consecutive low gains that means diminishing returns."""
LOW_GAIN_THRESHOLD = 0.08
"""ε: gains below this value are low. A cycle that covers nothing more, and whose passages are half as novel as those of
the first cycle, has a lower gain.
"""
TREND_TOLERANCE = 0.15
"""Relative change between two gains up to which the trend is steady."""


def compute_information_gain(
    previous: Mapping[str, float], current: Mapping[str, float], novelties: Sequence[float]
) -> float:
    """Return g_t = (1/|outline|)·Σ_j max(0, c_{t,j} − c_{t−1,j}) + β·mean novelty of the passages accepted in cycle t.

    The coverage c_j is by topic of the current outline; one without an earlier coverage counts as uncovered then.
    """
    covered = sum(max(0.0, share - previous.get(topic, 0.0)) for topic, share in current.items()) / max(1, len(current))
    return covered + NOVELTY_WEIGHT * (sum(novelties) / len(novelties) if novelties else 0.0)


def classify_trend(gains: Sequence[float]) -> GainTrend:
    """Return the trend of the gains; with fewer than two cycles it is steady."""
    if gains and gains[-1] < LOW_GAIN_THRESHOLD:
        return "Stalling"
    if len(gains) < 2:
        return "Steady"
    last, previous = gains[-1], gains[-2]
    if last > previous * (1 + TREND_TOLERANCE):
        return "Increasing"
    return "Stalling" if last < previous * (1 - TREND_TOLERANCE) else "Steady"


def has_diminishing_returns(gains: Sequence[float]) -> bool:
    """Return whether the last `GAIN_WINDOW` gains are all low."""
    return len(gains) >= GAIN_WINDOW and all(gain < LOW_GAIN_THRESHOLD for gain in gains[-GAIN_WINDOW:])
