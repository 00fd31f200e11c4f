"""Locks between the processes of one machine: who works at the same thing waits until the other is through.

They only save double work. What keeps rows right between machines is the database, which refuses one of
two commits that contradict each other.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

_PATIENCE = 0.5
"""Seconds between two calls of `waiting`."""


@contextmanager
def alone(folder: Path | None, name: str, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock of a name below a folder; without a folder there is none.

    Args:
        folder: the knowledge base, where it is a folder of this machine.
        name: what the lock is for.
        waiting: called now and then while somebody else holds it; may raise to give up.
    """
    if folder is None:
        yield
        return
    (folder / ".locks").mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(folder / ".locks" / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.lock")
    while not lock.is_locked:
        try:
            lock.acquire(timeout=_PATIENCE)
        except filelock.Timeout:
            waiting()
    try:
        yield
    finally:
        lock.release()
