"""Whose a run is, and how soon its steps get their turn where many wait for the same workers.

The server hands both on from a run to everything that it begins.
"""

from argparse import Namespace

from temporalio.client import WorkflowExecutionDescription
from temporalio.common import Priority

from tenure.cli.errors import UsageError

_LONGEST = 64
"""Bytes of a name that the server takes."""


def turn(arguments: Namespace) -> Priority:
    """Return what the arguments say of it.

    Raises:
        UsageError: the owner has too long a name.
    """
    if arguments.owner is not None and len(arguments.owner.encode()) > _LONGEST:
        raise UsageError(f"--owner may have {_LONGEST} bytes at the most")
    return Priority(priority_key=arguments.priority, fairness_key=arguments.owner)


def turn_of(run: WorkflowExecutionDescription) -> Priority:
    """Return what an earlier run was started with."""
    kept = run.raw_description.workflow_execution_info.priority
    return Priority(priority_key=kept.priority_key or None, fairness_key=kept.fairness_key or None)


def turn_after(arguments: Namespace, before: Priority) -> Priority:
    """Return that of an earlier run with what the arguments change.

    Raises:
        UsageError: the owner has too long a name.
    """
    asked = turn(arguments)
    return Priority(
        priority_key=asked.priority_key or before.priority_key, fairness_key=asked.fairness_key or before.fairness_key
    )
