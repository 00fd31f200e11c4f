"""Decide what the person behind a request may do; the server of a team names the person in the scope."""

from dataclasses import dataclass
from typing import Final

from starlette.requests import Request

PERSON: Final = "person"
"""Key of the scope of a request with its `Person`."""


@dataclass(frozen=True)
class Person:
    """Signed-in person on the server of a team."""

    name: str
    """Value of the claim by which the provider of identities names the person, such as an address."""
    owner: str
    """Owner whose runs, corpora and memories are this person's."""
    is_administrator: bool = False


def get_person(request: Request) -> Person | None:
    """Return the person of a request, or None on a server for the one user of a home."""
    person: Person | None = request.scope.get(PERSON)
    return person


def may_change_settings(request: Request) -> bool:
    """Return whether a request may change the settings of the installation: of its user, or an administrator."""
    person = get_person(request)
    return person is None or person.is_administrator
