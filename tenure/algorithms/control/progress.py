"""Merge the progress that a child workflow has not sent yet."""

from tenure.contracts.research.progress import ProgressUpdate


def merge_updates(earlier: ProgressUpdate, later: ProgressUpdate) -> ProgressUpdate | None:
    """Return one update that says what two of the same child say; None if it would lose a program or a task."""
    has_two_attempts = earlier.attempt and later.attempt and earlier.attempt.n != later.attempt.n
    if has_two_attempts or (earlier.task and later.task):
        return None
    news = {name: value for name, value in earlier if value is not None}
    news |= {name: value for name, value in later if value is not None}
    topics = {topic.topic: topic for topic in (() if later.is_full_outline else earlier.topics)}
    topics.update({topic.topic: topic for topic in later.topics})
    parts = {part.reporter: part for part in (*earlier.parts, *later.parts)}
    news |= {
        "topics": tuple(topics.values()),
        "is_full_outline": earlier.is_full_outline or later.is_full_outline,
        "artifacts": (*earlier.artifacts, *later.artifacts),
        "last": later.last or earlier.last,
        "parts": tuple(parts.values()),
    }
    return ProgressUpdate(**news)
