"""Keep a copy of the source of every version that has runs, in the folder `versions` of the home.

A run finishes under the code that it began with, so its worker must not depend on files that change: it imports
modules when it first needs them, the workflow sandbox imports workflow modules for every run, and after a crash the
whole worker starts again. Workers therefore run from a copy, which is named by its build id and never changed.
"""

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from tempfile import mkdtemp
from typing import Literal

from tenure.extensions import PLUGINS_VARIABLE
from tenure.installation import ROOT
from tenure.temporal.stack.source import BUILD_ID_VARIABLE, compute_source_hash, iterate_files, make_build_id

VERSIONS_FOLDER = "versions"

VersionState = Literal["in_use", "idle", "drained"]
"""State of a version at the server: `in_use` needs a worker; `idle` has no known run, but may get one back; `drained`
has no run and gets none."""

SERVERS_FILE = "servers"
"""File of a copy with the servers for which its worker was started, one per line."""

_PLUGINS = "plugins"
_DRAFT = ".copy-"
"""Prefix of an incomplete copy."""


@dataclass(frozen=True)
class StoredVersion:
    """Copy of the source of one version."""

    build_id: str
    folder: Path

    @property
    def plugins(self) -> tuple[Path, ...]:
        """Copies of the folders of plugins, in their order."""
        folder = self.folder / _PLUGINS
        return tuple(sorted(folder.iterdir(), key=lambda path: int(path.name))) if folder.is_dir() else ()

    @property
    def is_intact(self) -> bool:
        """Whether the copy of the installed source has the content that its build id requires."""
        return self.build_id == make_build_id(compute_source_hash(self.folder, self.plugins))

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables of a worker that runs this copy, whatever plugins are set now."""
        return {PLUGINS_VARIABLE: os.pathsep.join(map(str, self.plugins)), BUILD_ID_VARIABLE: self.build_id}

    def build_command(self, *options: str) -> tuple[str, ...]:
        """Return the command that starts a worker of this version."""
        return (sys.executable, str(self.folder / "worker.py"), *options)

    def prepare(self, root: Path) -> None:
        """Set the modes of the files, and link the manual of the installation; a restored home lacks both."""
        # Sandboxed programs run as another user and read some files; the folder around all versions is private.
        for path in (self.folder, *self.folder.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() else 0o644)
        manual = self.folder / "docs"
        if not manual.is_symlink():
            manual.symlink_to((root / "docs").resolve())

    def add_server(self, server: str) -> None:
        """Record that a worker of this version was started for a server."""
        if server not in (servers := self._list_servers()):
            text = "".join(f"{name}\n" for name in (*servers, server))
            (self.folder / SERVERS_FILE).write_text(text, encoding="utf-8")

    def is_only_for(self, server: str) -> bool:
        """Return whether workers of this version were started for no other server."""
        return set(self._list_servers()) <= {server}

    def remove(self) -> None:
        """Delete the copy; an interrupted deletion leaves no incomplete version."""
        removed = self.folder.rename(mkdtemp(prefix=_DRAFT, dir=self.folder.parent))
        shutil.rmtree(removed, ignore_errors=True)

    def _list_servers(self) -> list[str]:
        path = self.folder / SERVERS_FILE
        return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []


def list_versions(home: Path) -> dict[str, StoredVersion]:
    """Return the stored versions of a home by their build ids."""
    folder = home / VERSIONS_FOLDER
    names = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    return {name: StoredVersion(name, folder / name) for name in names if not name.startswith(_DRAFT)}


def store_version(home: Path, root: Path = ROOT, plugins: Sequence[Path] | None = None) -> StoredVersion:
    """Copy the source that a worker reads into the home, unless the home has an intact copy, and return the copy.

    The build id is computed from the copy: a file that is edited meanwhile cannot give a copy a wrong name.

    Raises:
        OSError: the source cannot be read, or the home cannot be written.
    """
    folder = home / VERSIONS_FOLDER
    build_id = make_build_id(compute_source_hash(root, plugins))
    if (existing := list_versions(home).get(build_id)) and existing.is_intact:
        return existing
    folder.mkdir(mode=0o700, exist_ok=True)
    for leftover in folder.glob(f"{_DRAFT}*"):
        shutil.rmtree(leftover)
    draft = StoredVersion("", Path(mkdtemp(prefix=_DRAFT, dir=folder)))
    for name, path in iterate_files(root, plugins):
        target = draft.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        _copy_file(path, target)
    build_id = make_build_id(compute_source_hash(draft.folder, draft.plugins))
    stored = StoredVersion(build_id, folder / build_id)
    if stored.folder.is_dir() and not stored.is_intact:
        stored.remove()
    if stored.folder.is_dir():
        draft.remove()
    else:
        draft.folder.rename(stored.folder)
    return stored


def _copy_file(source: Path, target: Path) -> None:
    """Copy a file with its byte code: otherwise the first worker of a version compiles everything, for a second."""
    before = source.stat()
    shutil.copyfile(source, target)
    compiled = Path(cache_from_source(str(source)))
    # Python recognises byte code by the time and the size of its source, which may have been edited meanwhile.
    if source.suffix == ".py" and compiled.is_file() and source.stat().st_mtime_ns == before.st_mtime_ns:
        os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
        copy = Path(cache_from_source(str(target)))
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(compiled, copy)
