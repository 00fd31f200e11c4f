"""Report the actions of a service with what they concerned, and their outcome, to the audit log of a team."""

import functools
import re
from collections.abc import Awaitable, Callable
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar

from tenure.runs.errors import TenureError

_SUBJECT: Final = re.compile(r"[\w./-]{1,200}")
"""Form of the id of a run, corpus or document: `answers-tides-3f2a`; a text in its place is not recorded."""


class AuditLog(Protocol):
    """Function that records an action."""

    def __call__(self, action: str, /, **details: str) -> None:
        """Record an action with its details, none of which is a text of a question or a document."""


class Audited(Protocol):
    """Service whose actions may be recorded."""

    audit: AuditLog | None


S = TypeVar("S", bound=Audited)
P = ParamSpec("P")
R = TypeVar("R")


def record_action(
    action: str,
) -> Callable[[Callable[Concatenate[S, P], Awaitable[R]]], Callable[Concatenate[S, P], Awaitable[R]]]:
    """Record each call of a function of a service, under the name of the action, with its outcome.

    The first argument names what it concerns if it is a text; otherwise the reply does by its `id`.
    """

    def decorate(function: Callable[Concatenate[S, P], Awaitable[R]]) -> Callable[Concatenate[S, P], Awaitable[R]]:
        @functools.wraps(function)
        async def call(service: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
            if service.audit is None:
                return await function(service, *args, **kwargs)
            subject = _clean(next(iter((*args, *kwargs.values())), ""))
            try:
                reply = await function(service, *args, **kwargs)
            except TenureError as error:
                service.audit(action, **subject, outcome=type(error).__name__)
                raise
            service.audit(action, **(subject or _clean(getattr(reply, "id", ""))), outcome="done")
            return reply

        return call

    return decorate


def _clean(subject: object) -> dict[str, str]:
    return {"subject": subject} if isinstance(subject, str) and _SUBJECT.fullmatch(subject) else {}
