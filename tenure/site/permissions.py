"""Decide what the person behind a request may do; the server of a team names that person."""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Person:
    """Signed-in person on the server of a team."""

    name: str
    """Name by which the provider of identities knows the person, such as an address."""
    owner: str
    """Owner whose runs, corpora and memories are this person's."""
    is_administrator: bool = False


PERSON: Final[ContextVar[Person | None]] = ContextVar("person", default=None)
"""Person of the request that is being answered; None on the server for the one user of a home."""


def may_change_settings() -> bool:
    """Return whether the request that is being answered may change the settings of the installation.

    The user of a home may, and on the server of a team an administrator.
    """
    person = PERSON.get()
    return person is None or person.is_administrator
