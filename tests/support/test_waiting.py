"""Tests of the helper that waits for states."""

import pytest

from tests.support import waiting
from tests.support.waiting import block_until, wait_until


async def test_the_accepted_value_is_returned() -> None:
    """Functions and coroutine functions are evaluated until a value is accepted."""
    numbers = iter(range(9))

    async def count() -> int:
        return next(numbers)

    assert await wait_until("a true number", count) == 1
    assert await wait_until("a number above 3", lambda: next(numbers), lambda number: number > 3) == 4
    assert block_until("a number above 5", lambda: next(numbers), lambda number: number > 5) == 6


async def test_a_failure_names_the_state_and_the_last_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state that is never reached fails with its name and what was last seen."""
    monkeypatch.setattr(waiting, "WAIT_SECONDS", 0.0)

    with pytest.raises(TimeoutError, match="for a third reader; the last value was 2"):
        await wait_until("a third reader", lambda: 2, lambda count: count == 3)
    with pytest.raises(TimeoutError, match=r"for a port; the last value was ConnectionRefusedError\('no'\)"):
        block_until("a port", _refuse, ignored=ConnectionError)


async def test_other_exceptions_end_the_wait() -> None:
    """Only the named exceptions mean that a state is not reached yet."""
    with pytest.raises(ConnectionRefusedError):
        await wait_until("a port", _refuse, ignored=(KeyError, TimeoutError))
    with pytest.raises(ConnectionRefusedError):
        block_until("a port", _refuse)


def _refuse() -> bool:
    raise ConnectionRefusedError("no")
