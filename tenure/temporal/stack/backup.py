"""Copy a home while its stack runs, and restore the copy into an empty home.

The order makes a copy consistent although work continues. The database of Temporal comes first, so that the knowledge
base, which is copied after it, contains everything that the database records as finished. Later rows of the knowledge
base are written again, to the same keys, when the restored runs continue. In a table of the knowledge base the list of
versions comes before the data, since a version refers to files that were complete when it was written and never change.
"""

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

import tenure
from tenure.private_files import open_private

MANIFEST: Final = "backup.json"
"""File with the list of all other files; it is written last, so that an interrupted copy has none."""
FORMAT: Final = 1

_DATABASE_SUFFIX: Final = ".db"
_TEMPORAL_DATABASE: Final = "temporal.db"
_VERSIONS: Final = "_versions"
_SKIPPED_SUFFIXES: Final = (".lock", ".sock", ".db-wal", ".db-shm", ".tmp")
_SKIPPED_NAMES: Final = frozenset(
    {"stack.json", "logs", "workers", "__pycache__", "local-model", "workspaces", "environments"}
)
"""State of processes that are running now, their logs, compiled files, the local model, whose file is large, and what
is built again from repositories."""
_BLOCK_BYTES: Final = 1 << 20


class BackupError(Exception):
    """A home cannot be copied or restored; the message is one line that says what to do."""


class BackupFile(BaseModel):
    """One file of a backup."""

    model_config = ConfigDict(frozen=True)

    bytes: int
    sha256: str


class Backup(BaseModel):
    """Content of a backup."""

    model_config = ConfigDict(frozen=True)

    format: int = FORMAT
    tenure: str
    """Version that made the backup."""
    created_at: str
    """Time of the backup, ISO 8601 in UTC."""
    files: Mapping[str, BackupFile]
    """Files by their path in the home."""

    @property
    def total_bytes(self) -> int:
        """Size of all files."""
        return sum(file.bytes for file in self.files.values())


def create_backup(home: Path, folder: Path) -> Backup:
    """Copy a home into a new or empty folder, also while its stack runs.

    Raises:
        BackupError: the home has no state, the folder is not empty, or it cannot be written.
    """
    size = sum(path.stat().st_size for path in map(home.joinpath, _iterate_files(home)))
    if not size:
        raise BackupError(f"{home} has nothing to copy: TENURE_HOME names the home")
    if folder.resolve().is_relative_to(home.resolve()):
        raise BackupError(f"{folder} is inside of the home: choose a folder outside of {home}")
    _check_empty(folder)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_space(folder, size)
        # The files are listed while they are copied: the database of Temporal is complete before the others are listed.
        copies = ((name, _copy(home / name, folder / name)) for name in _iterate_files(home))
        files = {name: file for name, file in copies if file is not None}
        backup = Backup(tenure=tenure.__version__, created_at=datetime.now(UTC).isoformat(), files=files)
        _write_manifest(folder, backup)
    except (OSError, sqlite3.Error) as error:
        raise BackupError(f"{folder} cannot be written completely: {error}") from error
    return backup


def restore_backup(folder: Path, home: Path) -> Backup:
    """Copy a backup into an empty home and check every file.

    Raises:
        BackupError: the backup is incomplete or damaged, or the home is in use.
    """
    backup = _read_manifest(folder)
    _check_empty(home)
    partial = home.with_name(f"{home.name}.restoring")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(mode=0o700, parents=True)
        _check_space(partial, backup.total_bytes)
        for name, expected in backup.files.items():
            source = folder / name
            if not _is_inner(name) or not source.resolve().is_relative_to(folder.resolve()):
                raise BackupError(f"{folder / MANIFEST} names {name!r}, which is outside of the backup")
            if not source.is_file() or _copy_file(source, partial / name) != expected:
                raise BackupError(f"{source} is missing or damaged: restore from another backup")
        if home.exists():
            shutil.rmtree(home)
        partial.rename(home)
    except OSError as error:
        raise BackupError(f"{home} cannot be written: {error}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return backup


def _iterate_files(home: Path) -> Iterator[str]:
    """Yield the paths of a home's files in the order in which they are copied; links are not followed."""
    if (home / _TEMPORAL_DATABASE).is_file():
        yield _TEMPORAL_DATABASE
    for folder, folders, names in os.walk(home):
        # The list of a table's versions before its data.
        folders[:] = sorted(
            (name for name in folders if not _is_skipped(name)), key=lambda name: (name != _VERSIONS, name)
        )
        for name in sorted(names):
            path = Path(folder, name)
            relative = path.relative_to(home).as_posix()
            if path.is_file() and not path.is_symlink() and not _is_skipped(name) and relative != _TEMPORAL_DATABASE:
                yield relative


def _is_skipped(name: str) -> bool:
    return name in _SKIPPED_NAMES or name.endswith(_SKIPPED_SUFFIXES)


def _is_inner(name: str) -> bool:
    """Return whether a name is a path of a file of a home as `create_backup` writes it."""
    parts = PurePosixPath(name).parts
    allowed = not any(part == ".." or "\0" in part or _is_skipped(part) for part in parts)
    return bool(parts) and name == "/".join(parts) and allowed


def _copy(source: Path, target: Path) -> BackupFile | None:
    """Copy a file of a home, or return None for one that a cleaning has removed meanwhile."""
    if source.suffix != _DATABASE_SUFFIX:
        try:
            return _copy_file(source, target)
        except FileNotFoundError:
            return None
    _create_private(target)
    with (
        closing(sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)) as reader,
        closing(sqlite3.connect(target)) as writer,
    ):
        reader.backup(writer)
    return _describe(target)


def _copy_file(source: Path, target: Path) -> BackupFile:
    with source.open("rb") as reader:
        _create_private(target)
        with target.open("wb") as writer:
            shutil.copyfileobj(reader, writer, _BLOCK_BYTES)
    return _describe(target)


def _create_private(target: Path) -> None:
    """Create an empty file that only this user can read."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(open_private(str(target), os.O_WRONLY | os.O_CREAT | os.O_EXCL))


def _describe(path: Path) -> BackupFile:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return BackupFile(bytes=path.stat().st_size, sha256=digest.hexdigest())


def _check_empty(folder: Path) -> None:
    """Check that a folder does not exist or has no content but logs and locks."""
    if folder.exists() and not folder.is_dir():
        raise BackupError(f"{folder} is not a folder")
    if folder.is_dir() and any(not _is_skipped(path.name) or path.name == "stack.json" for path in folder.iterdir()):
        raise BackupError(f"{folder} is not empty: choose a new folder")


def _check_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise BackupError(f"{folder} has {free >> 20:,} MiB free, and {needed >> 20:,} MiB are needed")


def _write_manifest(folder: Path, backup: Backup) -> None:
    path = folder / MANIFEST
    _create_private(path)
    path.write_text(backup.model_dump_json(indent=1) + "\n", encoding="utf-8")


def _read_manifest(folder: Path) -> Backup:
    path = folder / MANIFEST
    try:
        backup = Backup.model_validate_json(path.read_bytes())
    except OSError as error:
        raise BackupError(f"{folder} is no complete backup: {path.name} cannot be read ({error.strerror})") from error
    except ValidationError as error:
        raise BackupError(f"{path} is damaged: restore from another backup") from error
    if backup.format > FORMAT:
        raise BackupError(f"Tenure {backup.tenure} made this backup: update Tenure first")
    return backup
