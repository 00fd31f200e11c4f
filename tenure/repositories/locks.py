"""Lock folders against other actions, also those of other processes."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeVar

# flock(2) without waiting leaves the thread free, but has to be repeated
_POLL_SECONDS: Final = 0.02

T = TypeVar("T")


@asynccontextmanager
async def lock_file(path: Path) -> AsyncIterator[int]:
    """Lock a file while the block runs, and yield its descriptor; wait for other holders.

    A process that inherits the descriptor holds the lock as well, so that a killed worker does not give a folder free
    while its Git still writes.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(_POLL_SECONDS)
        yield descriptor
    finally:
        os.close(descriptor)


async def run_to_end(work: Callable[[], T]) -> T:
    """Run work in a thread; if the caller is cancelled, wait until it has ended, so that no lock is left too early."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait((task,))
        raise
