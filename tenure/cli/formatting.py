"""Short texts for people: one line, so many bytes, a duration, a number of things."""

from temporalio.client import WorkflowFailureError
from temporalio.exceptions import FailureError

SUMMARY_BYTES = 180
"""What the server's 200 bytes for a summary leave after quoting."""


def one_line(text: str, limit: int) -> str:
    """Return a text on one line of at most so many characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def within_bytes(text: str, limit: int = SUMMARY_BYTES) -> str:
    """Return a text on one line of at most so many bytes in UTF-8, never half a character."""
    flat = " ".join(text.split())
    if len(flat.encode()) <= limit:
        return flat
    return flat.encode()[: limit - 3].decode("utf-8", "ignore").rstrip() + "…"


def duration(seconds: float) -> str:
    """Write a duration as a clock shows it."""
    minutes, rest = divmod(int(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Write a number of things, one of them in the singular."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def failure(error: WorkflowFailureError) -> str:
    """Say in one line why a workflow failed: the innermost cause, which is where it began."""
    cause: BaseException = error.cause
    while isinstance(cause, FailureError) and cause.cause is not None:
        cause = cause.cause
    return one_line(str(cause) or type(cause).__name__, 300)
