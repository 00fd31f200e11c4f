"""Open the files of databases without following symbolic links, before the SQL engine opens them by name.

The engine gets a path that leads to the open file, so a file that is exchanged meanwhile is not read. SQLite needs the
files next to a database as well, so a database is copied with them into a private folder. A file in an archive is
unpacked into one.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Final, NamedTuple, Protocol

from tenure.contracts.evidence.places import is_archive
from tenure.files.opening import FileRefused, OpenFile, open_file
from tenure.sources.document.document import Unreadable
from tenure.sources.tables.catalogue import Database

_SQLITE_SUFFIXES: Final = ("", "-wal", "-journal")
"""Suffixes of the files of a SQLite database: the database, and changes that are not in it yet."""
_MAX_COPIES: Final = 3
"""Attempts to copy a database that is being changed."""


class PinnedDatabases(NamedTuple):
    """Databases with the paths under which the engine opens them."""

    databases: tuple[Database, ...]
    problems: tuple[str, ...]
    """For each of the others, its name and the reason."""


class Unpack(Protocol):
    """Function that unpacks one file of an open archive into an empty folder."""

    def __call__(self, file: IO[bytes], name: str, folder: Path, *, only: str) -> object:
        """Unpack the file whose path in the archive is `only`."""


@contextmanager
def open_databases(databases: Sequence[Database], unpack: Unpack | None = None) -> Iterator[PinnedDatabases]:
    """Open the files of databases, and keep them open during the block; `unpack` opens those in archives."""
    pinned: list[Database] = []
    problems: list[str] = []
    with ExitStack() as stack:
        for database in databases:
            try:
                pinned.append(_pin(database, stack, unpack))
            except (FileRefused, Unreadable) as error:
                problems.append(f"{database.name} {error.reason}")
            except OSError as error:
                problems.append(f"{database.name} cannot be opened ({error.strerror or type(error).__name__})")
        yield PinnedDatabases(tuple(pinned), tuple(problems))


def _pin(database: Database, stack: ExitStack, unpack: Unpack | None) -> Database:
    """Return a database whose location cannot be exchanged."""
    # PostgreSQL and the tables of documents need no file, and the reader of workbooks opens its file by the same rules.
    if database.format in ("postgres", "document"):
        return database
    path = Path(database.location)
    archives = [folder for folder in path.parents if is_archive(str(folder)) and folder.is_file()]
    if unpack and archives:
        path = _copy_member(archives[-1], path, stack, unpack)
        database = replace(database, location=str(path))
    if database.format == "sheets":
        return database
    if database.format != "sqlite":
        return replace(database, location=str(stack.enter_context(open_file(path)).pinned_path))
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tenure-sqlite-")))
    for _ in range(_MAX_COPIES):
        if _copy_database(path, folder):
            return replace(database, location=str(folder / "database"))
    raise FileRefused("is being changed: read it when its program has finished")


def _copy_member(archive: Path, path: Path, stack: ExitStack, unpack: Unpack) -> Path:
    """Return a copy of a file in an archive.

    Raises:
        FileNotFoundError: the archive has no such file any more.
    """
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tenure-archive-"))).resolve()
    inside = path.relative_to(archive)
    with open_file(archive) as opened:
        unpack(opened.file, archive.name, folder, only=str(inside))
    copy = folder / inside
    copy.stat()
    return copy


def _copy_database(path: Path, folder: Path) -> bool:
    """Copy a SQLite database; return whether none of its files changed meanwhile."""
    with ExitStack() as stack:
        opened: list[OpenFile] = []
        for suffix in _SQLITE_SUFFIXES:
            copy = folder / f"database{suffix}"
            copy.unlink(missing_ok=True)
            with suppress(*([FileNotFoundError] if suffix else [])):
                opened.append(stack.enter_context(open_file(path.with_name(path.name + suffix))))
                with copy.open("wb") as file:
                    shutil.copyfileobj(opened[-1].file, file)
        return all(map(_is_unchanged, opened))


def _is_unchanged(opened: OpenFile) -> bool:
    now = os.fstat(opened.file.fileno())
    return (now.st_size, now.st_mtime_ns) == (opened.status.st_size, opened.status.st_mtime_ns)
