"""The embedding process's side of reading: reader processes, fed in order, replaced when they die."""

import os
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from multiprocessing.connection import Connection, Pipe
from types import TracebackType

from tenure.knowledge.store.errors import ReaderFailed
from tenure.sources.isolation import environment
from tenure.sources.parsers.reading import READY, BadFile, Outcome, PageTask, Recipe, Task

_FILE_TIMEOUT = 180.0
"""Seconds for one file, after which its parser is taken to hang."""
_PAGE_TIMEOUT = 30.0
"""The same for a page of the web: nobody has chosen it by hand, and there are others."""
_MEMORY_MB = 2048
"""Megabytes that a reader may use: twice what the engine for tables takes, and far more than other parsers do."""
_START_TIMEOUT = 60.0
_AHEAD = 12
"""Files read ahead of the embedding, per reader: enough that it never waits, few enough for memory."""
_TICK = 0.5
_MOST = 8
"""Readers beyond which the one process that writes is what takes the time."""
_WORTH_ONE = 16
"""Files for which one more reader, which takes a second to start, is worth while."""
_MAIN = "from tenure.sources.parsers.reading import main; main()"
"""Not `-m`: what is defined in a main module cannot be pickled to another process."""


def readers_for(files: int) -> int:
    """Return how many readers are worth their start for so many files: one a core, if each has some to read."""
    return max(1, min(os.cpu_count() or 1, _MOST, files // _WORTH_ONE))


class Reader:
    """One reader process, started on first need and again after a crash."""

    def __init__(self, recipe: Recipe, timeout: float = _FILE_TIMEOUT, memory_mb: int = _MEMORY_MB) -> None:
        """Keep the recipe and the limits for every process to come."""
        self._recipe, self._timeout, self._memory_mb = recipe, timeout, memory_mb
        self._stopped = False
        self._running: tuple[subprocess.Popen[bytes], Connection] | None = None

    def read(self, task: Task) -> Outcome:
        """Have one file or page read; a crash or a hang is its fault.

        Raises:
            ReaderFailed: the process does not even start.
        """
        if self._running is None:
            self._running = self._start()
        if self._stopped:
            return BadFile(task.path, "was not read: the ingestion stopped")
        _, connection = self._running
        timeout = min(self._timeout, _PAGE_TIMEOUT) if isinstance(task, PageTask) else self._timeout
        try:
            connection.send(task)
            if connection.poll(timeout):
                outcome: Outcome = connection.recv()
                return outcome
        except (EOFError, OSError):
            self.close()
            return BadFile(task.path, "crashed its parser")
        self.close()
        return BadFile(task.path, f"took longer than {timeout:g} s to parse")

    def stop(self) -> None:
        """Make a `read` under way in another thread return soon, and every later one at once."""
        self._stopped = True
        if (running := self._running) is not None:
            running[0].kill()

    def close(self) -> None:
        """End the process, once no `read` is under way."""
        if self._running is not None:
            process, connection = self._running
            self._running = None
            connection.close()
            process.kill()
            process.wait()

    def _start(self) -> tuple[subprocess.Popen[bytes], Connection]:
        ours, theirs = Pipe()
        with tempfile.TemporaryFile() as last_words:
            # The reader sees what this process can import, and nothing it prints reaches a terminal.
            process = subprocess.Popen(
                [sys.executable, "-c", _MAIN, str(theirs.fileno()), str(self._memory_mb)],
                pass_fds=[theirs.fileno()],
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=last_words,
            )
            theirs.close()
            if self._greeted(ours):
                return process, ours
            process.kill()
            process.wait()
            ours.close()
            last_words.seek(0)
            lines = last_words.read().decode(errors="replace").strip().splitlines()
        raise ReaderFailed(lines[-1] if lines else "")

    def _greeted(self, connection: Connection) -> bool:
        try:
            connection.send(self._recipe)
            return connection.poll(_START_TIMEOUT) and connection.recv() == READY
        except (EOFError, OSError):
            return False


class Readers:
    """A few readers behind one ordered stream of outcomes."""

    def __init__(self, recipe: Recipe, count: int = 1) -> None:
        """Take `count` readers, each with the modules and memory of a process of its own."""
        self._count = count
        self._local = threading.local()
        self._recipe = recipe
        self._all: list[Reader] = []
        self._threads = ThreadPoolExecutor(self._count, thread_name_prefix="reader")

    def __enter__(self) -> "Readers":
        """Start nothing yet."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End all processes, also in the middle of a file."""
        self.close()

    def close(self) -> None:
        """End all processes, also in the middle of a file; without it they end with this process."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for reader in self._all:
            reader.stop()
        self._threads.shutdown(wait=True)
        for reader in self._all:
            reader.close()

    def outcomes(self, tasks: Iterable[Task], waiting: Callable[[], None]) -> Iterator[Outcome]:
        """Yield what became of each task, in order; `waiting` is called now and then while nothing is ready."""
        pending: deque[Future[Outcome]] = deque()
        for task in tasks:
            pending.append(self._threads.submit(self._read, task))
            if len(pending) > _AHEAD * self._count:
                yield _settled(pending.popleft(), waiting)
        while pending:
            yield _settled(pending.popleft(), waiting)

    def _read(self, task: Task) -> Outcome:
        reader: Reader | None = getattr(self._local, "reader", None)
        if reader is None:
            reader = self._local.reader = Reader(self._recipe)
            self._all.append(reader)
        return reader.read(task)


def _settled(future: "Future[Outcome]", waiting: Callable[[], None]) -> Outcome:
    while True:
        try:
            return future.result(timeout=_TICK)
        except NotYet:
            waiting()
