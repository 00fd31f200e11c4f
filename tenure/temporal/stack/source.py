"""Hash the source code that a worker runs.

Workers of the same source behave alike, so the hash names their version. A worker that outlives a change of its files
would mix versions: the workflow sandbox imports workflow modules from their files again for every run, while the
library stays in memory. The hash does not depend on the folder of the source, so that a copy has the same one.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import tenure
from tenure.extensions import get_plugin_folders
from tenure.installation import PACKAGED_FOLDER, ROOT, find_package

WORKER_SOURCES = (
    "tenure",
    "workflows",
    "activities",
    "worker.py",
    # Pins the packages whose results workflows use.
    "pyproject.toml",
)
"""Files and folders that a worker reads, besides the folders of plugins."""

PLUGIN_KINDS = ("roles", "tools", "strategies", "search_providers", "document_formats")
"""Folders that a worker reads in a folder of plugins."""

SUFFIXES = frozenset({".py", ".toml", ".json", ".jinja", ".css", ".js", ".typ", ".ini", ".txt", ".po"})
"""Suffixes of the files that a worker reads."""

BUILD_ID_VARIABLE = "TEMPORAL_WORKER_BUILD_ID"
"""Environment variable that names the version of a worker; Temporal's controller for Kubernetes sets the same one."""

_HASH_LETTERS = 12
"""Letters of the hash in a build id: few enough to be readable."""


def compute_source_hash(root: Path = ROOT, plugins: Sequence[Path] | None = None) -> str:
    """Return a hash of the names and contents of the files that a worker reads.

    Args:
        root: folder of the source, as `tenure.installation` describes it.
        plugins: folders of plugins; None for those of `TENURE_PLUGINS`.
    """
    digest = hashlib.sha256()
    for name, path in iterate_files(root, plugins):
        digest.update(name.encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def make_build_id(source_hash: str) -> str:
    """Return the name of the version of a source, such as `0.1.0-3f2a9c4d5e6f`."""
    return f"{tenure.__version__}-{source_hash[:_HASH_LETTERS]}"


def get_build_id() -> str:
    """Return the name of the version that this process runs: that of its environment, or one computed from its files.

    On Kubernetes a label of the image names it, since autoscalers read the backlog of a version by its name.
    """
    return os.environ.get(BUILD_ID_VARIABLE) or _compute_build_id()


@cache
def _compute_build_id() -> str:
    """Return the build id of the source; the files are read once."""
    return make_build_id(compute_source_hash())


def iterate_files(root: Path, plugins: Sequence[Path] | None = None) -> Iterator[tuple[str, Path]]:
    """Yield the files that a worker reads, with their path in a copy of the source, in a fixed order."""
    parts = {name: find_package(root) if name == "tenure" else root / name for name in WORKER_SOURCES}
    for number, folder in enumerate(get_plugin_folders() if plugins is None else plugins):
        parts |= {f"plugins/{number}/{kind}": folder / kind for kind in PLUGIN_KINDS}
    for name, part in sorted(parts.items()):
        for path in _list_files(part):
            yield name if path == part else f"{name}/{path.relative_to(part).as_posix()}", path


def _list_files(part: Path) -> list[Path]:
    """Return the files of a package, or the file itself if it exists."""
    if not part.is_dir():
        return [part] if part.is_file() else []
    packaged = part / PACKAGED_FOLDER
    return sorted(
        path
        for path in part.rglob("*")
        if path.suffix in SUFFIXES and path.is_file() and not path.is_relative_to(packaged)
    )
