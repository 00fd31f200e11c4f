"""Detached processes: starting them, telling whether one still lives, ending them.

A detached process has a session of its own, no terminal, and its output in a log, so it outlives the
command that started it and its terminal.
"""

import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from tenure.temporal.stack.errors import StackError
from tenure.temporal.stack.record import ProcessRecord

LOG_LIMIT = 20 * 1024 * 1024
"""Bytes after which a log is set aside at the next start; one older log is kept."""

KILL_SECONDS = 10.0
"""How long the system may take to end a killed process."""

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_TAIL = 64 * 1024

_children: list[subprocess.Popen[bytes]] = []
"""Keeps the handles of what this process started: Popen warns when it is dropped over a living child."""


def spawn(command: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path) -> ProcessRecord:
    """Start a detached process whose output goes to the log.

    Raises:
        StackError: the system refuses to start it.
    """
    _set_aside(log)
    try:
        with log.open("ab") as output:
            child = subprocess.Popen(
                list(command),
                env=dict(environment),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        raise StackError(f"{command[0]} cannot be started ({error.strerror}): reinstall it") from error
    _children.append(child)
    try:
        return ProcessRecord(pid=child.pid, created=psutil.Process(child.pid).create_time())
    except psutil.NoSuchProcess as error:
        raise StackError(f"{command[0]} ended at once: {last_line(log)}") from error


def is_alive(record: ProcessRecord | None) -> bool:
    """Whether the recorded process, and not a later one of the same id, is running."""
    return record is not None and _find(record) is not None


def end(record: ProcessRecord | None, grace_seconds: float) -> bool:
    """End a process: ask, wait, then insist; False where it was gone already."""
    process = _find(record) if record is not None else None
    if record is None or process is None:
        return False
    try:
        process.terminate()
        if not _gone(record, grace_seconds):
            process.kill()
    except psutil.NoSuchProcess:
        return True  # it ended between the look and the signal, which is what was wanted
    except psutil.AccessDenied as error:
        raise StackError(f"process {process.pid} belongs to another user: stop it as that user") from error
    if not _gone(record, KILL_SECONDS):
        raise StackError(f"process {process.pid} does not end even when killed: look at what it waits for")
    return True


def of_home(home: Path) -> list[ProcessRecord]:
    """Return the stack's processes of a home as the system knows them, the worker first, for when the record is lost.

    Only what `spawn` started counts: it leads a session of its own, works for the home, and is a worker or
    the server of the home's database. What a person runs by hand from a shell is none of the stack's.
    """
    database = str(home.absolute() / "temporal.db")
    found: list[tuple[bool, ProcessRecord]] = []
    for process in psutil.process_iter():
        try:
            command = process.cmdline()
            is_server = database in command
            ours = is_server or any(Path(part).name == "worker.py" for part in command[:3])
            if (
                ours
                and os.getsid(process.pid) == process.pid
                and process.environ().get("TENURE_HOME") == str(home.absolute())
            ):
                found.append((is_server, ProcessRecord(pid=process.pid, created=process.create_time())))
        except (psutil.NoSuchProcess, psutil.AccessDenied, ProcessLookupError, PermissionError):
            continue  # gone meanwhile or somebody else's: not a process of this home
    return [record for _, record in sorted(found, key=lambda pair: pair[0])]


def last_line(log: Path, start: int = 0) -> str:
    """Return the last line with text that a log gained after the given offset, without colours."""
    try:
        with log.open("rb") as file:
            file.seek(max(start, log.stat().st_size - _TAIL))
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return "its log is empty"
    lines = [line for line in _ANSI.sub("", text).splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else "its log is empty"


def log_size(log: Path) -> int:
    """Return a log's size, 0 where there is none."""
    return log.stat().st_size if log.exists() else 0


def _find(record: ProcessRecord) -> psutil.Process | None:
    """Return the recorded process where it still runs; reaps what this process started and has ended since."""
    for child in _children:
        child.poll()
    try:
        process = psutil.Process(record.pid)
        same = abs(process.create_time() - record.created) < 0.5
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return None


def _gone(record: ProcessRecord, seconds: float) -> bool:
    """Wait until a process has ended; one that only waits to be reaped by its parent has."""
    deadline, pause = time.monotonic() + seconds, 0.01
    while _find(record) is not None:
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, 0.2)
    return True


def _set_aside(log: Path) -> None:
    """Rename a log that has grown too long."""
    if log_size(log) > LOG_LIMIT:
        log.replace(log.with_suffix(".log.1"))
