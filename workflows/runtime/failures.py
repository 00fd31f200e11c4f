"""Describe failures of activities and child workflows for people, by the innermost message."""

from temporalio.exceptions import ActivityError, ApplicationError, ChildWorkflowError


def describe_failure(error: BaseException) -> str:
    """Return the message of the innermost failure of a chain."""
    inner = error
    while isinstance(inner, ActivityError | ChildWorkflowError) and inner.__cause__ is not None:
        inner = inner.__cause__
    return inner.message if isinstance(inner, ApplicationError) else str(inner)
