"""Parse files and web pages in a pool of reader processes, which are replaced when they crash or hang."""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import replace
from multiprocessing.connection import Connection, Pipe
from types import TracebackType
from typing import TypeVar

import psutil

from tenure.knowledge.ingestion.reading_budget import ReadingBudget, limit_file
from tenure.knowledge.store.errors import ReaderFailed
from tenure.sources.document.deadline import PAGE_CPU_SECONDS, PAGE_WALL_SECONDS
from tenure.sources.isolation import build_child_environment
from tenure.sources.parsers.reader_process import (
    PAGE_MESSAGE,
    READY_MESSAGE,
    FileTask,
    PageTask,
    ReaderOutcome,
    ReaderTask,
    ReadingOptions,
    StartedAttachment,
    TimedTask,
    UnreadableFile,
)

T = TypeVar("T")

_FILE_TIMEOUT_SECONDS = 180.0
"""Time after which the parser of even the largest file counts as hung."""
_PAGE_TIMEOUT_SECONDS = 30.0
"""Time for one web page; shorter, because there are others."""
_MAX_MEMORY_MB = 2048
"""Memory limit of a reader, in megabytes: twice what the table engine needs, and far more than other parsers."""
_START_TIMEOUT_SECONDS = 60.0  # A reader starts in one second on an idle machine.
_MEASURE_SECONDS = 0.2
"""Interval in which the computing time of a reader is measured."""
_STOPPED_CPU_SECONDS = 1.0
"""Computing time below which a reader that has reached its limit of passed time counts as stopped."""
_MAX_LOST_ATTACHMENTS = 3
"""Attachments that may hang or crash before their message is given up."""
_PREFETCH_FILES = 12
"""Files per reader that are parsed ahead of the writer: enough to keep it busy, few enough for memory."""
_FOREVER = float("inf")
_POLL_SECONDS = 0.5
_MAX_READERS = 8
"""Readers above which the single writer is the bottleneck."""
_MIN_FILES_PER_READER = 16
"""Files that justify one more reader, which takes a second to start."""
_READER_PROGRAM = "from tenure.sources.parsers.reader_process import main; main()"
"""Program of a reader. Not `-m`: objects defined in a main module cannot be unpickled in another process."""


def choose_reader_count(files: int) -> int:
    """Return the number of readers for this number of files: at most one per core, each with enough files."""
    return max(1, min(os.cpu_count() or 1, _MAX_READERS, files // _MIN_FILES_PER_READER))


class ReaderProcess:
    """One reader process, started on first use and restarted after a crash."""

    def __init__(
        self,
        recipe: ReadingOptions,
        timeout: float = _FILE_TIMEOUT_SECONDS,
        memory_mb: int = _MAX_MEMORY_MB,
        on_scan: Callable[[], None] = lambda: None,
    ) -> None:
        """Call `on_scan` for each page whose text is recognized."""
        self._on_scan = on_scan
        self._recipe, self._timeout, self._memory_mb = recipe, timeout, memory_mb
        self._stopped = False
        self.last_seconds = 0.0
        """Time that the last file has taken: computing time, or the time that passed if its parser was killed."""
        self._attachment: int | None = None
        """Number of the attachment that is read; None outside of attachments."""
        self._running: tuple[subprocess.Popen[bytes], Connection] | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None

    def read(self, task: ReaderTask) -> ReaderOutcome:
        """Parse one file or page; a crash or a timeout is reported as an unreadable file.

        A process that ends or stops computing for the first time is replaced: the reason may be outside of the file,
        such as lack of memory. A message is read again without an attachment that crashed or hung the process.

        Raises:
            ReaderFailed: the process does not start.
        """
        outcome, is_final = self._read_once(task)
        seconds = self.last_seconds
        if not is_final and not self._stopped:
            outcome, _ = self._read_once(task)
            seconds += self.last_seconds
        while isinstance(task, FileTask) and isinstance(outcome, UnreadableFile) and self._can_do_without(task):
            assert self._attachment is not None
            task = replace(task, lost={**task.lost, self._attachment: outcome.reason})
            outcome, _ = self._read_once(task)
            seconds += self.last_seconds
        self.last_seconds = seconds
        return outcome

    def _can_do_without(self, task: FileTask) -> bool:
        """Return whether the process ended while it read an attachment, and few attachments did so before."""
        return self._attachment is not None and len(task.lost) < _MAX_LOST_ATTACHMENTS and not self._stopped

    def _read_once(self, task: ReaderTask) -> tuple[ReaderOutcome, bool]:
        """Return the outcome, and whether a repetition in another process would have the same."""
        self._attachment = None
        if self._running is None:
            self._running = self._start()
        if self._stopped:
            return UnreadableFile(task.path, "was not read: the ingestion was stopped"), True
        process, connection = self._running
        size, timeout = (len(task.body), _PAGE_TIMEOUT_SECONDS) if isinstance(task, PageTask) else (task.size, _FOREVER)
        cpu_limit, wall_limit = limit_file(size, min(self._timeout, timeout))
        if isinstance(task, TimedTask):
            task = replace(task, cpu_seconds=cpu_limit, wall_seconds=wall_limit)
        began, cpu_before = time.monotonic(), _measure_cpu(process)
        cpu = passed = 0.0
        try:
            connection.send(task)
            while passed < wall_limit and cpu <= cpu_limit:
                if connection.poll(min(_MEASURE_SECONDS, wall_limit - passed)):
                    outcome: ReaderOutcome | StartedAttachment | str = connection.recv()
                    if isinstance(outcome, StartedAttachment):
                        self._attachment = outcome.number
                        continue
                    if not isinstance(outcome, str):
                        self._attachment = None
                        self.last_seconds = _measure_cpu(process) - cpu_before
                        return outcome, True
                    assert outcome == PAGE_MESSAGE
                    self._on_scan()
                    cpu_limit = cpu + PAGE_CPU_SECONDS
                    wall_limit = passed + PAGE_WALL_SECONDS
                passed, cpu = time.monotonic() - began, _measure_cpu(process) - cpu_before
        except (EOFError, OSError):
            self._end_slow(began)
            return UnreadableFile(task.path, "crashed its parser"), False
        self._end_slow(began)
        if cpu > cpu_limit:
            return UnreadableFile(task.path, f"needed more than {cpu_limit:.0f} s of computing time to parse"), True
        return UnreadableFile(task.path, f"took longer than {wall_limit:.0f} s to parse"), cpu > _STOPPED_CPU_SECONDS

    def _end_slow(self, began: float) -> None:
        """End the process and record the time since the start of the task."""
        self.close()
        self.last_seconds = time.monotonic() - began

    def stop(self) -> None:
        """Make a concurrent `read` return soon, and every later one immediately."""
        self._stopped = True
        if (running := self._running) is not None:
            running[0].kill()

    def close(self) -> None:
        """End the process; no `read` may be running."""
        if self._running is not None:
            process, connection = self._running
            self._running = None
            connection.close()
            process.kill()
            process.wait()
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None

    def _start(self) -> tuple[subprocess.Popen[bytes], Connection]:
        connection, child_connection = Pipe()
        # Temporary files of the reader are deleted even if it is killed.
        self._scratch = tempfile.TemporaryDirectory(prefix="tenure-reader-")
        with tempfile.TemporaryFile() as last_words:
            # The reader imports from the same path as this process; its output never reaches a terminal.
            process = subprocess.Popen(
                [sys.executable, "-c", _READER_PROGRAM, str(child_connection.fileno()), str(self._memory_mb)],
                pass_fds=[child_connection.fileno()],
                env=build_child_environment() | {"TMPDIR": self._scratch.name},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=last_words,
            )
            child_connection.close()
            if self._handshake(connection):
                return process, connection
            process.kill()
            process.wait()
            connection.close()
            self._scratch.cleanup()
            last_words.seek(0)
            lines = last_words.read().decode(errors="replace").strip().splitlines()
        raise ReaderFailed(lines[-1] if lines else "")

    def _handshake(self, connection: Connection) -> bool:
        try:
            connection.send(self._recipe)
            return connection.poll(_START_TIMEOUT_SECONDS) and connection.recv() == READY_MESSAGE
        except (EOFError, OSError):
            return False


class ReaderPool:
    """Reader processes behind one ordered stream of results."""

    def __init__(self, recipe: ReadingOptions, count: int = 1, budget: ReadingBudget | None = None) -> None:
        """Use up to `count` processes, each with its own modules and memory, within a budget of time for all files."""
        self._count, self._budget = count, budget
        self._local = threading.local()
        self._recipe = recipe
        self._readers: list[ReaderProcess] = []
        self._threads = ThreadPoolExecutor(self._count, thread_name_prefix="reader")

    def __enter__(self) -> "ReaderPool":
        """Start no process yet."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End all processes, even while they parse."""
        self.close()

    def close(self) -> None:
        """End all processes, even while they parse; otherwise they end with this process."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for reader in self._readers:
            reader.stop()
        self._threads.shutdown(wait=True)
        for reader in self._readers:
            reader.close()

    def read_all(self, tasks: Iterable[ReaderTask], on_wait: Callable[[], None]) -> Iterator[ReaderOutcome]:
        """Yield the outcome of each task, in order; `on_wait` is called repeatedly while none is ready."""
        pending: deque[Future[ReaderOutcome]] = deque()
        for task in tasks:
            pending.append(self._threads.submit(self._read, task))
            if len(pending) > _PREFETCH_FILES * self._count:
                yield await_result(pending.popleft(), on_wait)
        while pending:
            yield await_result(pending.popleft(), on_wait)

    def read(self, task: ReaderTask, on_wait: Callable[[], None]) -> ReaderOutcome:
        """Return the outcome of one task, after those that were started."""
        return await_result(self._threads.submit(self._read, task), on_wait)

    def _read(self, task: ReaderTask) -> ReaderOutcome:
        reader: ReaderProcess | None = getattr(self._local, "reader", None)
        if reader is None:
            reader = self._local.reader = ReaderProcess(
                self._recipe, on_scan=self._budget.add_scan if self._budget else lambda: None
            )
            self._readers.append(reader)
        if self._budget is None or isinstance(task, PageTask):
            return reader.read(task)
        if not self._budget.start_file(task.size):
            return UnreadableFile(task.path, self._budget.reason)
        outcome = reader.read(task)
        self._budget.subtract(reader.last_seconds)
        return outcome


def _measure_cpu(process: "subprocess.Popen[bytes]") -> float:
    try:
        times = psutil.Process(process.pid).cpu_times()
    except psutil.Error:
        return 0.0
    return times.user + times.system


def await_result(future: "Future[T]", on_wait: Callable[[], None]) -> T:
    """Return the result of a thread; `on_wait` is called repeatedly meanwhile, and may raise to stop."""
    while True:
        try:
            return future.result(timeout=_POLL_SECONDS)
        except FutureTimeout:
            on_wait()
