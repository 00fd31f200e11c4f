"""Record the health ports of a home's workers: one small file for each process, named by its id."""

import json
from contextlib import suppress
from pathlib import Path

import psutil

from tenure.private_files import open_private

FOLDER = "workers"

_CLOCK_TOLERANCE_SECONDS = 1.0
"""Difference between the start time of a process and the times of files that it writes immediately."""


def save_record(home: Path, pid: int, host: str, port: int) -> None:
    """Record the health port of a worker, and remove the records of ended ones.

    Raises:
        OSError: the home cannot be written.
    """
    folder = home / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.stem.isdecimal() and not psutil.pid_exists(int(path.stem)):
            path.unlink(missing_ok=True)
    draft = folder / f"{pid}.new"
    with open(draft, "w", encoding="utf-8", opener=open_private) as file:
        json.dump({"host": host, "port": port}, file)
    draft.replace(folder / str(pid))


def load_record(home: Path, pid: int, started_at: float) -> tuple[str, int] | None:
    """Return host and port of a worker's health, or None if it has recorded none yet.

    A record that is older than the start of the process is that of another one with its id.
    """
    path = home / FOLDER / str(pid)
    with suppress(OSError, ValueError, KeyError, TypeError):
        if path.stat().st_mtime >= started_at - _CLOCK_TOLERANCE_SECONDS:
            fields = json.loads(path.read_text(encoding="utf-8"))
            return str(fields["host"]), int(fields["port"])
    return None


def remove_record(home: Path, pid: int) -> None:
    """Remove the record of a worker.

    Raises:
        OSError: the home cannot be written.
    """
    (home / FOLDER / str(pid)).unlink(missing_ok=True)
