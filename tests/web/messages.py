"""Requests and replies of the test web."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus


@dataclass(frozen=True)
class Request:
    """Received request."""

    method: str
    target: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Headers by name in lower case."""


@dataclass(frozen=True)
class Reply:
    """Reply to a request."""

    body: bytes | Iterable[bytes] = b""
    """Body; several parts are sent as chunks without a content length."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = "text/html; charset=utf-8"
    drip: float = 0.0
    """Seconds between two bytes."""
    breaks_after: int | None = None
    """Number of body bytes after which the connection closes."""
    validated: bool = True
    """Whether the reply has an ETag and supports range requests."""

    @property
    def reason(self) -> str:
        """Reason phrase of the status."""
        return HTTPStatus(self.status).phrase


Handler = Callable[[Request], Reply]
"""Function that replies at one path."""
