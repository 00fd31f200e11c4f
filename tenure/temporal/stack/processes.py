"""Start, check and stop detached processes.

A detached process has its own session, no terminal, and writes to a log, so it outlives the command that started it.
"""

import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from tenure.private_files import PRIVATE_UMASK, open_private
from tenure.temporal.stack.errors import StackError
from tenure.temporal.stack.record import ProcessRecord

MAX_LOG_BYTES = 20 * 1024 * 1024
"""Size in bytes after which a log is rotated at the next start; one older log is kept."""

SITE_MODULE = "tenure.site.process"
"""Module that serves the page."""

LOCAL_MODEL_MODULE = "tenure.local_models.process"
"""Module that serves the local model."""

KILL_TIMEOUT_SECONDS = 10.0
"""Time the system may take to end a killed process."""

_PASSED_ON = ("HOME", "LANG", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER")
"""Variables that a process without settings keeps, in addition to the locale."""

# Colours of a log, such as "\x1b[31m".
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TAIL = 64 * 1024

_children: list[subprocess.Popen[bytes]] = []
"""Handles of started processes: Popen warns if it is collected while the child runs."""


def build_child_environment() -> dict[str, str]:
    """Return an environment without settings and secrets, for a process that needs none."""
    return {name: value for name, value in os.environ.items() if name in _PASSED_ON or name.startswith("LC_")}


def spawn(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path, inherited: Sequence[int] = ()
) -> ProcessRecord:
    """Start a detached process that writes to the log and inherits these file descriptors.

    Raises:
        StackError: the system refuses to start it.
    """
    _rotate(log)
    try:
        with open(log, "ab", opener=open_private) as output:
            child = subprocess.Popen(
                list(command),
                env=dict(environment),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                umask=PRIVATE_UMASK,
                pass_fds=inherited,
            )
    except OSError as error:
        raise StackError(f"{command[0]} cannot be started ({error.strerror}): reinstall it") from error
    _children.append(child)
    try:
        return ProcessRecord(pid=child.pid, created=psutil.Process(child.pid).create_time())
    except psutil.NoSuchProcess as error:
        raise StackError(f"{command[0]} ended immediately: {read_last_line(log)}") from error


def is_alive(record: ProcessRecord | None) -> bool:
    """Return whether the recorded process is running, and not a later one with the same id."""
    return record is not None and _find(record) is not None


def request_stop(record: ProcessRecord) -> None:
    """Ask a process to end, without waiting for it; `stop` waits."""
    with suppress(psutil.Error):
        if (process := _find(record)) is not None:
            process.terminate()


def is_suspended(record: ProcessRecord) -> bool:
    """Return whether the recorded process is stopped by a signal, as SIGSTOP does."""
    process = _find(record)
    try:
        return process is not None and process.status() == psutil.STATUS_STOPPED
    except psutil.NoSuchProcess:
        return False


def stop(record: ProcessRecord | None, grace_seconds: float) -> bool:
    """Stop a process: terminate, wait, then kill; return False if it was not running."""
    process = _find(record) if record is not None else None
    if record is None or process is None:
        return False
    try:
        process.terminate()
        if not _wait_until_ended(record, grace_seconds):
            process.kill()
    except psutil.NoSuchProcess:
        return True  # it ended between the look and the signal, which is what was wanted
    except psutil.AccessDenied as error:
        raise StackError(f"process {process.pid} belongs to another user: stop it as that user") from error
    if not _wait_until_ended(record, KILL_TIMEOUT_SECONDS):
        raise StackError(f"process {process.pid} does not end after SIGKILL: it may wait for a device")
    return True


def find_stack_processes(home: Path) -> list[ProcessRecord]:
    """Return the stack's processes of a home from the process table, the worker first, for a lost record.

    Only processes that `spawn` started count: session leaders with this home in their environment that are a worker,
    the page, the local model, or the gate of the home's server. Processes started from a shell are no part of the
    stack.
    """
    database = str(home.absolute() / "temporal.db")
    records: list[tuple[bool, ProcessRecord]] = []
    for record, command in _list_processes(home):
        is_server = database in command
        is_worker = any(Path(part).name == "worker.py" for part in command[:3])
        is_part = is_server or is_worker or not {SITE_MODULE, LOCAL_MODEL_MODULE}.isdisjoint(command[:5])
        if is_part and _leads_session(record.pid):
            records.append((is_server, record))
    return [record for _, record in sorted(records, key=lambda pair: pair[0])]


def find_database_users(home: Path) -> list[ProcessRecord]:
    """Return the processes of a home that have its database open: the server, also if its gate was killed."""
    database = str(home.absolute() / "temporal.db")
    return [record for record, command in _list_processes(home) if database in command]


def _list_processes(home: Path) -> Iterator[tuple[ProcessRecord, list[str]]]:
    """Yield the processes with this home in their environment, and their command lines."""
    for process in psutil.process_iter():
        try:
            command = process.cmdline()
            if command and process.environ().get("TENURE_HOME") == str(home.absolute()):
                yield ProcessRecord(pid=process.pid, created=process.create_time()), command
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue  # already ended, or another user's: not a process of this home


def _leads_session(pid: int) -> bool:
    try:
        return os.getsid(pid) == pid
    except (ProcessLookupError, PermissionError):
        return False


def read_last_line(log: Path, start: int = 0) -> str:
    """Return the last non-empty line written to a log after an offset, without colour codes."""
    lines = read_tail(log, 1, start)
    return lines[-1].strip()[:200] if lines else "its log is empty"


def read_tail(log: Path, count: int, start: int = 0) -> list[str]:
    """Return the last non-empty lines written to a log after an offset, without colour codes."""
    try:
        with log.open("rb") as file:
            file.seek(max(start, log.stat().st_size - _TAIL))
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return []
    return [line for line in _ANSI.sub("", text).splitlines() if line.strip()][-count:]


def get_log_size(log: Path) -> int:
    """Return the size of a log in bytes, 0 if it does not exist."""
    return log.stat().st_size if log.exists() else 0


def _find(record: ProcessRecord) -> psutil.Process | None:
    """Return the recorded process if it still runs; reaps ended children."""
    for child in _children:
        child.poll()
    try:
        process = psutil.Process(record.pid)
        same = abs(process.create_time() - record.created) < 0.5
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return None


def _wait_until_ended(record: ProcessRecord, seconds: float) -> bool:
    """Wait until a process has ended; zombies count as ended."""
    deadline, pause = time.monotonic() + seconds, 0.01
    while _find(record) is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, 0.2)
    return True


def _rotate(log: Path) -> None:
    """Rotate a log that has grown too large."""
    if get_log_size(log) > MAX_LOG_BYTES:
        log.replace(log.with_suffix(".log.1"))
