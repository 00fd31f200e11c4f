"""What goes back and forth: requests as they came, and replies as they are to leave."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus


@dataclass(frozen=True)
class Request:
    """A request that came."""

    method: str
    target: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """By their names in lower case."""


@dataclass(frozen=True)
class Reply:
    """What is answered."""

    body: bytes | Iterable[bytes] = b""
    """The body; parts of it leave one by one, and nobody is told how many there are."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = "text/html; charset=utf-8"
    drip: float = 0.0
    """Seconds between two bytes."""
    breaks_after: int | None = None
    """Bytes of the body after which the connection is cut."""
    validated: bool = True
    """Whether there is an ETag, and parts may be asked for."""

    @property
    def reason(self) -> str:
        """The words beside the status."""
        return HTTPStatus(self.status).phrase


Handler = Callable[[Request], Reply]
"""Answers at one path."""
