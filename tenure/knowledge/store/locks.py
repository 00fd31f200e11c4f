"""Lock work between the processes of one machine, so that a second process waits instead of repeating it.

The locks only save work. Consistency between machines comes from the database, which rejects one of two conflicting
commits.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

_POLL_SECONDS = 0.5
"""Seconds between two calls of `on_wait`."""


@contextmanager
def process_lock(folder: Path | None, name: str, on_wait: Callable[[], None]) -> Iterator[None]:
    """Acquire a named lock in a folder for the duration of the context; without a folder, do nothing.

    While another process has the lock, `on_wait` is called repeatedly; it may raise to stop waiting.
    """
    if folder is None:
        yield
        return
    (folder / ".locks").mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(folder / ".locks" / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.lock")
    while not lock.is_locked:
        try:
            lock.acquire(timeout=_POLL_SECONDS)
        except filelock.Timeout:
            on_wait()
    try:
        yield
    finally:
        lock.release()
