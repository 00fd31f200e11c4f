"""Determine the owner and the priority of a run by the options of a command.

The server passes owner and priority on from a run to its child workflows and activities.
"""

from argparse import Namespace
from typing import TYPE_CHECKING

from tenure.cli.errors import UsageError
from tenure.ownership import MAX_FAIRNESS_KEY_BYTES

if TYPE_CHECKING:
    from temporalio.common import Priority


def parse_ownership(arguments: Namespace) -> "Priority":
    """Return the priority and fairness key that the arguments ask for.

    Raises:
        UsageError: the owner's name is too long.
    """
    from temporalio.common import Priority

    if arguments.owner is not None and len(arguments.owner.encode()) > MAX_FAIRNESS_KEY_BYTES:
        raise UsageError(f"--owner may have at most {MAX_FAIRNESS_KEY_BYTES} bytes")
    return Priority(priority_key=arguments.priority, fairness_key=arguments.owner)


def override_ownership(arguments: Namespace, before: "Priority") -> "Priority":
    """Return those of an earlier run with the changes of the arguments.

    Raises:
        UsageError: the owner's name is too long.
    """
    from temporalio.common import Priority

    asked = parse_ownership(arguments)
    return Priority(
        priority_key=asked.priority_key or before.priority_key, fairness_key=asked.fairness_key or before.fairness_key
    )
