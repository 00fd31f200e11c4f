"""Try many candidates, each in a forked process with little time.

The reports of candidates are guesses and prove nothing: a candidate could claim anything.
"""

from __future__ import annotations

import os
import select
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

GREEN, RED, PARTIAL = 40, 41, 42
"""Exit codes of a candidate's process; a partial one passes some of the tests that failed."""

MAX_GREEN = 3
"""Number of promising candidates after which the screening ends."""

RETRY_TIME_FACTOR = 20
"""Factor by which a slow candidate gets more time."""


class CandidateProcess:
    """The process of one candidate, as it sees itself."""

    def __init__(self, number: int, descriptor: int) -> None:
        self.number = number
        self._descriptor = descriptor

    def count_pass(self) -> None:
        """Report a passed test."""
        os.write(self._descriptor, b".")


def apply_edits(source: bytes, edits: list[list[Any]]) -> bytes:
    """Return a source with replacements: the first and last byte, and the text."""
    for start, end, text in sorted(edits, reverse=True):
        source = source[:start] + text.encode() + source[end:]
    return source


def screen_candidates(
    times: list[float], seconds: float, report: Callable[[str, int], None], retry_factor: float = RETRY_TIME_FACTOR
) -> CandidateProcess | None:
    """Fork a process for each candidate, in which this returns its number; it returns None when all have ended.

    A candidate whose time ran out after it had passed a test gets more time when all have been tried.

    Args:
        times: processor seconds of each candidate.
        seconds: time after which no candidate is started; half of it again for slow ones.
        report: receives `green` or `partial` with the number of a candidate, and `seen` with the count so far.
        retry_factor: factor by which a slow candidate gets more time.
    """
    ends = time.monotonic() + seconds
    green, slow = 0, []
    for number, each in enumerate(times):
        if time.monotonic() > ends or green == MAX_GREEN:
            break
        child, code, passed = _try_candidate(number, each)
        if child is not None:
            return child
        if code == GREEN:
            green += 1
            report("green", number)
        elif code == PARTIAL:
            report("partial", number)
        elif code is None and passed:
            slow.append((-passed, number))
        report("seen", number + 1)
    for _, number in sorted(slow) if not green else ():
        if time.monotonic() > ends + seconds / 2:
            break
        child, code, _ = _try_candidate(number, retry_factor * times[number])
        if child is not None:
            return child
        if code == GREEN:
            report("green", number)
            break
    return None


def _try_candidate(number: int, seconds: float) -> tuple[CandidateProcess | None, int | None, int]:
    """Fork; return the candidate in its process, else exit code, None on timeout, and number of passed tests."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        # A limit on processor time, so that a busy machine does not matter.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        return CandidateProcess(number, writer), None, 0
    os.close(writer)
    code = _wait(child, 4 * seconds + 1)
    os.set_blocking(reader, False)
    try:
        passed = len(os.read(reader, 65536))
    except BlockingIOError:  # a process that the candidate has started still has the pipe
        passed = 0
    os.close(reader)
    return None, code, passed


def _wait(child: int, seconds: float) -> int | None:
    alive = os.pidfd_open(child)
    poll = select.poll()
    poll.register(alive, select.POLLIN)
    if not poll.poll(seconds * 1000):
        os.kill(child, signal.SIGKILL)
    os.close(alive)
    _, status = os.waitpid(child, 0)
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
