"""What code a worker runs: a hash of the installed source.

A worker that outlives a change of its source mixes old and new: the workflow sandbox loads workflow
modules anew from their files while the library they use stays in memory, and such a mixture fails every
workflow task until the worker is restarted.
"""

import hashlib
from pathlib import Path

import tenure

ROOT = Path(tenure.__file__).parents[1]
"""Folder of the installed source."""

PARTS = (
    "tenure",
    "workflows",
    "activities",
    "worker.py",
)
"""What a worker loads."""


def source_hash(root: Path = ROOT) -> str:
    """Return a hash of the names and contents of a worker's Python files."""
    found = hashlib.sha256()
    for path in sorted(path for part in PARTS for path in _files(root / part)):
        found.update(str(path.relative_to(root)).encode() + b"\0")
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def _files(part: Path) -> list[Path]:
    """Return the Python files of a package, or the lone module itself where it is installed."""
    return list(part.rglob("*.py")) if part.is_dir() else [part] if part.is_file() else []
