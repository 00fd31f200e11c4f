"""Failures of activities and children as people read them: the one line at the bottom of the chain."""

from temporalio.exceptions import ActivityError, ApplicationError, ChildWorkflowError


def cause(error: BaseException) -> str:
    """Return the one line that matters of a chain of failures."""
    inner = error
    while isinstance(inner, ActivityError | ChildWorkflowError) and inner.__cause__ is not None:
        inner = inner.__cause__
    return inner.message if isinstance(inner, ApplicationError) else str(inner)
