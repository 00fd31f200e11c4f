"""Determine the owner and the priority of a run.

The server passes both on from a run to its child workflows and activities.
"""

from argparse import Namespace

from temporalio.client import WorkflowExecutionDescription
from temporalio.common import Priority

from tenure.cli.errors import UsageError

_MAX_OWNER_BYTES = 64
"""Maximum length of a fairness key on the server, in bytes."""


def parse_ownership(arguments: Namespace) -> Priority:
    """Return the priority and fairness key that the arguments ask for.

    Raises:
        UsageError: the owner's name is too long.
    """
    if arguments.owner is not None and len(arguments.owner.encode()) > _MAX_OWNER_BYTES:
        raise UsageError(f"--owner may have at most {_MAX_OWNER_BYTES} bytes")
    return Priority(priority_key=arguments.priority, fairness_key=arguments.owner)


def read_ownership(run: WorkflowExecutionDescription) -> Priority:
    """Return the priority and fairness key of an earlier run."""
    kept = run.raw_description.workflow_execution_info.priority
    return Priority(priority_key=kept.priority_key or None, fairness_key=kept.fairness_key or None)


def override_ownership(arguments: Namespace, before: Priority) -> Priority:
    """Return those of an earlier run with the changes of the arguments.

    Raises:
        UsageError: the owner's name is too long.
    """
    asked = parse_ownership(arguments)
    return Priority(
        priority_key=asked.priority_key or before.priority_key, fairness_key=asked.fairness_key or before.fairness_key
    )
