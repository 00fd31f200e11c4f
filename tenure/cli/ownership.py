"""Determine the owner and the priority of a run, and complete names with their owner.

The server passes owner and priority on from a run to its child workflows and activities.
"""

from argparse import Namespace
from typing import TYPE_CHECKING

from tenure.cli.errors import UsageError
from tenure.ownership import MAX_FAIRNESS_KEY_BYTES, qualify_name
from tenure.settings import Settings

if TYPE_CHECKING:
    from temporalio.common import Priority

_NAMES_OF_RUNS = ("id", "origin", "a", "b", "run")
_NAMES_OF_CORPORA = ("corpus", "name")


def apply_owner(arguments: Namespace, settings: Settings) -> None:
    """Complete the runs and corpora of the arguments with the owner of the settings, if there is one.

    Raises:
        UsageError: the arguments name another owner.
    """
    owner = settings.owner
    if not owner:
        return
    given = getattr(arguments, "owner", None)
    if given not in (None, "", owner):
        raise UsageError(f"--owner {given} is not the owner of TENURE_OWNER, {owner}")
    arguments.owner = owner
    for name in (*_NAMES_OF_RUNS, *_NAMES_OF_CORPORA):
        written = getattr(arguments, name, None)
        complete = qualify_corpus if name in _NAMES_OF_CORPORA else qualify_name
        if isinstance(written, str) and written:
            setattr(arguments, name, complete(written, owner))
        elif isinstance(written, list):
            setattr(arguments, name, [complete(one, owner) for one in written])


def qualify_corpus(name: str, owner: str) -> str:
    """Return the name of a corpus with its owner, unless all owners share it."""
    # Imported when needed, as the SDK below: every command imports this module.
    from tenure.cli.run_ids import DEFAULT_CORPUS
    from tenure.contracts.evidence.tables import get_database_corpus

    shared = name == DEFAULT_CORPUS or name.startswith(get_database_corpus(""))
    return name if shared else qualify_name(name, owner)


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
