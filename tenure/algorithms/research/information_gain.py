"""Information gain, its trend, and when it is not worth going on (DESIGN §5; document 001, chapter 5)."""

from collections.abc import Mapping, Sequence

from tenure.contracts.research.spiral import Trend

NOVELTY_WEIGHT = 0.2
"""β: how much the mean novelty of what a cycle accepted counts beside the coverage it added."""
WINDOW = 2
"""W: so many gains in a row have to be low."""
LOW = 0.08
"""ε: a gain below is low. A cycle whose findings are only half as new as the first ones, and cover nothing more,
gains less."""
LEAST_CYCLES = 2
"""Cycles before low gains end the research."""
TURN = 0.15
"""Share by which a gain has to differ from the one before to be more or less than steady."""


def information_gain(before: Mapping[str, float], now: Mapping[str, float], novelties: Sequence[float]) -> float:
    """Return g_t = (1/|outline|)·Σ_j max(0, c_{t,j} − c_{t−1,j}) + β·mean novelty of what cycle t accepted.

    Args:
        before: coverage by topic after the cycle before; a topic that was not there counts as uncovered.
        now: coverage by topic of the present outline.
        novelties: of everything the cycle accepted, each from 0 to 1.
    """
    covered = sum(max(0.0, share - before.get(topic, 0.0)) for topic, share in now.items()) / max(1, len(now))
    return covered + NOVELTY_WEIGHT * (sum(novelties) / len(novelties) if novelties else 0.0)


def trend(gains: Sequence[float]) -> Trend:
    """Return in a word how the gain develops; with fewer than two cycles it is steady."""
    if gains and gains[-1] < LOW:
        return "Stalling"
    if len(gains) < 2:
        return "Steady"
    last, previous = gains[-1], gains[-2]
    if last > previous * (1 + TURN):
        return "Increasing"
    return "Stalling" if last < previous * (1 - TURN) else "Steady"


def diminishing(gains: Sequence[float], low: float = LOW, window: int = WINDOW, least: int = LEAST_CYCLES) -> bool:
    """Tell whether the last `window` gains are all below `low`, after at least `least` cycles."""
    return len(gains) >= max(least, window) and all(gain < low for gain in gains[-window:])
