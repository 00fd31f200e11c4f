"""Whose a run is, and how soon its steps get their turn where many wait for the same workers.

The server hands both on from a run to everything that it begins.
"""

from argparse import Namespace

from temporalio.common import Priority

from commands.errors import UsageError

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
