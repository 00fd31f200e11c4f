"""Open files without following symbolic links.

A path is opened component by component, each relative to the descriptor of its folder, and no component may be a
symbolic link. The opened file is therefore the one at the path, even if another process exchanges folders or files
meanwhile: there is no moment between a check and the opening. Everything else about the file is read from its
descriptor.

A hard link cannot be recognised: it is a second name of the same file, with no mark of being one.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Final

DESCRIPTORS: Final = Path("/proc/self/fd")
"""Folder in which Linux shows the open files of this process."""

_FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PASSED_FOLDER_FLAGS: Final = _FOLDER_FLAGS | getattr(os, "O_PATH", 0)
"""Flags for a folder that is passed through; O_PATH needs no permission to list it."""
_FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Flags for a file; O_NONBLOCK, so that a pipe in its place does not block."""


class FileRefused(Exception):
    """A file or folder that is not opened."""

    def __init__(self, reason: str) -> None:
        """Store the reason, which completes the sentence "the file …", for example `is a symbolic link`."""
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class OpenFile:
    """Open regular file."""

    path: Path
    file: BufferedReader
    status: os.stat_result

    @property
    def pinned_path(self) -> Path:
        """Path that leads to this very file as long as it is open; its own path where the system has no such paths."""
        return DESCRIPTORS / str(self.file.fileno()) if DESCRIPTORS.is_dir() else self.path

    def read(self, limit_bytes: int) -> bytes:
        """Return the content from its beginning, at most the given number of bytes."""
        self.file.seek(0)
        return self.file.read(limit_bytes)


@contextmanager
def open_file(path: Path) -> Iterator[OpenFile]:
    """Open a regular file for reading; the path is absolute.

    Raises:
        FileRefused: the path contains a symbolic link, or is not a regular file.
        OSError: the file does not exist or may not be read.
    """
    with open_folder(path.parent, passed_through=True) as folder:
        _check_regular(os.stat(path.name, dir_fd=folder, follow_symlinks=False))
        # O_NOFOLLOW refuses a link, and the status of the descriptor any other exchange since the check.
        try:
            descriptor = os.open(path.name, _FILE_FLAGS, dir_fd=folder)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise FileRefused("is a symbolic link") from error
            raise
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _check_regular(status)
        os.set_blocking(descriptor, True)
        yield OpenFile(path, file, status)


@contextmanager
def open_folder(path: Path, *, passed_through: bool = False) -> Iterator[int]:
    """Open a folder and yield its descriptor; the path is absolute.

    Args:
        path: path of the folder.
        passed_through: whether entries of the folder are opened and not listed.

    Raises:
        FileRefused: the path contains a symbolic link.
        OSError: the folder does not exist, is not a folder, or may not be read.
    """
    if not path.is_absolute() or ".." in path.parts:
        raise FileRefused("has a path that is not absolute or contains `..`")
    descriptor = os.open(path.anchor, _PASSED_FOLDER_FLAGS if path.parts[1:] or passed_through else _FOLDER_FLAGS)
    try:
        for number, name in enumerate(path.parts[1:], 2):
            flags = _FOLDER_FLAGS if number == len(path.parts) and not passed_through else _PASSED_FOLDER_FLAGS
            inner = _open_inner_folder(name, flags, descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _open_inner_folder(name: str, flags: int, folder: int) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP) and _is_link(name, folder):
            raise FileRefused(f"is reached through the symbolic link {name!r}") from error
        raise


def _is_link(name: str, folder: int) -> bool:
    return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _check_regular(status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise FileRefused("is a symbolic link")
    if stat.S_ISDIR(status.st_mode):
        raise FileRefused("is a folder")
    # Reading a pipe or a device could block forever.
    if not stat.S_ISREG(status.st_mode):
        raise FileRefused("is not a regular file")
