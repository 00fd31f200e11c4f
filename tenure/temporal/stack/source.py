"""Hash the source code that a worker runs.

A worker that outlives a change of its source mixes versions: the workflow sandbox re-imports workflow modules from
their files while the library stays in memory, and every workflow task fails until the worker is restarted.
"""

import hashlib
from pathlib import Path

import tenure

ROOT = Path(tenure.__file__).parents[1]
"""Folder of the installed source."""

WORKER_SOURCES = (
    "tenure",
    "workflows",
    "activities",
    "worker.py",
)
"""Files and folders that a worker imports."""


def compute_source_hash(root: Path = ROOT) -> str:
    """Return a hash of the names and contents of the worker's Python files."""
    found = hashlib.sha256()
    for path in sorted(path for part in WORKER_SOURCES for path in _files(root / part)):
        found.update(str(path.relative_to(root)).encode() + b"\0")
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def _files(part: Path) -> list[Path]:
    """Return the Python files of a package, or the module itself if it is installed."""
    return list(part.rglob("*.py")) if part.is_dir() else [part] if part.is_file() else []
