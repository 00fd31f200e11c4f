"""Format short texts: truncated lines, byte limits and durations."""

from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ApplicationError, FailureError

SUMMARY_BYTES = 180
"""Bytes left of the server's 200 for a summary after quoting."""


def truncate_line(text: str, limit: int) -> str:
    """Return a text on one line of at most the given number of characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def truncate_bytes(text: str) -> str:
    """Return a text on one line of at most `SUMMARY_BYTES` of UTF-8, without splitting a character."""
    flat = " ".join(text.split())
    if len(flat.encode()) <= SUMMARY_BYTES:
        return flat
    return flat.encode()[: SUMMARY_BYTES - 3].decode("utf-8", "ignore").rstrip() + "…"


def format_duration(seconds: float) -> str:
    """Format a duration like a clock."""
    minutes, remainder = divmod(int(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{remainder:02}" if hours else f"{minutes}:{remainder:02}"


def describe_failure(error: WorkflowFailureError) -> str:
    """Return the innermost cause of a workflow's failure in one line."""
    cause: BaseException = error.cause
    while isinstance(cause, FailureError) and cause.cause is not None:
        cause = cause.cause
    # Types such as `PathMissing` are for programs, and their messages are sentences. An exception that is not expected,
    # such as `KeyError: 'text'`, says too little without its type.
    if isinstance(cause, ApplicationError) and not (cause.type or "").endswith("Error"):
        return truncate_line(cause.message or str(cause), 300)
    return truncate_line(str(cause) or type(cause).__name__, 300)
