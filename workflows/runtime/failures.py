"""Describe failures of activities and child workflows for people, by the innermost message."""

from temporalio.exceptions import ActivityError, ApplicationError, ChildWorkflowError, TimeoutError, TimeoutType


def describe_failure(error: BaseException) -> str:
    """Return the message of the innermost failure of a chain."""
    inner = error
    while isinstance(inner, ActivityError | ChildWorkflowError) and inner.__cause__ is not None:
        inner = inner.__cause__
    if isinstance(inner, TimeoutError):
        return "no worker took it in time" if inner.type == TimeoutType.SCHEDULE_TO_START else "it took too long"
    return inner.message if isinstance(inner, ApplicationError) else str(inner)
