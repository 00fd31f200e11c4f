"""Wait for a state that sets no event: of a server, another process, a file or a thread."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast, overload

Value = TypeVar("Value")
Ignored = type[Exception] | tuple[type[Exception], ...]

WAIT_SECONDS = 180.0
"""Maximum time until a state: a worker starts in 3 s on a quiet machine and in up to 60 s on a busy one."""

POLL_SECONDS = 0.05
"""Time between two evaluations of a condition; they take processor time from the work that is awaited."""


@overload
async def wait_until(
    awaited: str,
    condition: Callable[[], Awaitable[Value]],
    accept: Callable[[Value], Any] = bool,
    *,
    ignored: Ignored = (),
) -> Value: ...


@overload
async def wait_until(
    awaited: str,
    condition: Callable[[], Value],
    accept: Callable[[Value], Any] = bool,
    *,
    ignored: Ignored = (),
) -> Value: ...


async def wait_until(
    awaited: str, condition: Callable[[], Any], accept: Callable[[Any], Any] = bool, *, ignored: Ignored = ()
) -> Any:
    """Evaluate a condition until its value is accepted, and return the value.

    Args:
        awaited: the state, for the message of a failure.
        condition: function or coroutine function without parameters.
        accept: predicate of the awaited value; by default the value has to be true.
        ignored: exceptions of the condition that count as a value that is not accepted.

    Raises:
        TimeoutError: no value was accepted within `WAIT_SECONDS`.
    """
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            last = condition()
            if inspect.isawaitable(last):
                last = await last
            if accept(last):
                return last
        except ignored as error:
            last = error
        _check_deadline(deadline, awaited, last)
        await asyncio.sleep(POLL_SECONDS)


def block_until(
    awaited: str,
    condition: Callable[[], Value],
    accept: Callable[[Value], Any] = bool,
    *,
    ignored: Ignored = (),
) -> Value:
    """Do the same as `wait_until` in a test without an event loop."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        last: Any
        try:
            last = condition()
            if accept(last):
                return cast(Value, last)
        except ignored as error:
            last = error
        _check_deadline(deadline, awaited, last)
        time.sleep(POLL_SECONDS)


def _check_deadline(deadline: float, awaited: str, last: object) -> None:
    if time.monotonic() > deadline:
        raise TimeoutError(f"waited {WAIT_SECONDS:g} s for {awaited}; the last value was {last!r:.2000}")
