"""Merge the progress that a child workflow has not sent yet, and compute how long it waits."""

from datetime import timedelta
from typing import Final

from tenure.contracts.research.progress import ProgressUpdate

MIN_PAUSE: Final = timedelta(seconds=2)
"""Shortest time between two messages of a child workflow."""
MAX_PAUSE: Final = timedelta(seconds=20)
"""Longest time between two messages, however busy server and workers are."""
PAUSE_PER_DELAY: Final = 10
"""Time between two messages for each second by which the last one was delayed."""


def compute_pause(delay: timedelta) -> timedelta:
    """Return the time between two messages, by the time that the last one took, or by which its timer was late.

    Messages that are delayed delay the work of all runs, so they become fewer.
    """
    return min(max(MIN_PAUSE, PAUSE_PER_DELAY * delay), MAX_PAUSE)


def merge_updates(earlier: ProgressUpdate, later: ProgressUpdate) -> ProgressUpdate:
    """Return one update that says what two of the same child say."""
    news = {name: value for name, value in earlier if value is not None}
    news |= {name: value for name, value in later if value is not None}
    topics = {topic.topic: topic for topic in (() if later.is_full_outline else earlier.topics)}
    topics.update({topic.topic: topic for topic in later.topics})
    parts = {part.reporter: part for part in (*earlier.parts, *later.parts)}
    news |= {
        "topics": tuple(topics.values()),
        "is_full_outline": earlier.is_full_outline or later.is_full_outline,
        "attempts": tuple({attempt.n: attempt for attempt in (*earlier.attempts, *later.attempts)}.values()),
        "artifacts": (*earlier.artifacts, *later.artifacts),
        "last": later.last or earlier.last,
        "parts": tuple(parts.values()),
    }
    return ProgressUpdate(**news)
