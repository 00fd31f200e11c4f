"""Hash the source code that a worker runs.

A worker that outlives a change of its source mixes versions: the workflow sandbox re-imports workflow modules from
their files while the library stays in memory, and every workflow task fails until the worker is restarted.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import tenure
from tenure.extensions import get_plugin_folders

ROOT = Path(tenure.__file__).parents[1]
"""Folder of the installed source."""

WORKER_SOURCES = (
    "tenure",
    "workflows",
    "activities",
    "worker.py",
)
"""Files and folders that a worker imports, besides the folders of plugins."""


def compute_source_hash(root: Path = ROOT, plugins: Sequence[Path] | None = None) -> str:
    """Return a hash of the names and contents of the worker's Python files.

    Args:
        root: folder of the source.
        plugins: folders of plugins; None for those of `TENURE_PLUGINS`.
    """
    found = hashlib.sha256()
    folders = get_plugin_folders() if plugins is None else plugins
    for path in sorted(path for part in (*map(Path, WORKER_SOURCES), *folders) for path in _files(root / part)):
        found.update(os.path.relpath(path, root).encode() + b"\0")
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def _files(part: Path) -> list[Path]:
    """Return the Python files of a package, or the module itself if it is installed."""
    return list(part.rglob("*.py")) if part.is_dir() else [part] if part.is_file() else []
