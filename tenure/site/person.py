"""Define the person who sends a request to the server of a team."""

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


PERSON: Final[ContextVar[Person | None]] = ContextVar("person", default=None)
"""Person of the request that is being answered; None on the server for the one user of a home."""
