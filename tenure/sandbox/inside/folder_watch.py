"""Watch the growth of folders of the host that a command can write.

Counting a folder takes about 5 µs for each entry, so it is counted when the free space of its file system has fallen by
a part of what is allowed, and otherwise seldom. Between two looks at the free space a command can write as much as the
disk accepts in a twentieth of a second.
"""

from __future__ import annotations

import errno
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

PART_OF_LIMIT: Final = 8
"""Part of the allowed growth after whose use a folder is counted."""
MIN_PAUSE_SECONDS: Final = 1.0
"""Pause between two counts if the free space does not fall."""
PAUSE_RATIO: Final = 20
"""Ratio of this pause to the time of the last count."""


class FolderWatch:
    """Watch over folders, each with its maximum number of bytes and of entries, and with its allowed growth."""

    def __init__(self, folders: list[tuple[str, int, int, int]]) -> None:
        self._folders = folders
        self._free = self._read_free()
        self._next = time.monotonic() + MIN_PAUSE_SECONDS

    def is_overgrown(self) -> bool:
        """Return whether a folder is found to be larger than allowed; the supervisor counts it again at the end."""
        free = self._read_free()
        fallen = any(
            before - now > growth // PART_OF_LIMIT
            for before, now, (_, _, _, growth) in zip(self._free, free, self._folders, strict=True)
        )
        if not fallen and time.monotonic() < self._next:
            return False
        self._free = free
        began = time.monotonic()
        found = any(is_larger(path, max_bytes, max_files) for path, max_bytes, max_files, _ in self._folders)
        ended = time.monotonic()
        self._next = ended + max(MIN_PAUSE_SECONDS, PAUSE_RATIO * (ended - began))
        return found

    def _read_free(self) -> list[int]:
        facts = [os.statvfs(path) for path, *_ in self._folders]
        return [fact.f_bavail * fact.f_frsize for fact in facts]


def is_larger(path: str, max_bytes: int, max_files: int) -> bool:
    """Return whether a folder has more bytes or entries; a path that is too long to be counted is too large."""
    waiting = [path]
    size = files = 0
    opened = set()
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    facts = entry.stat(follow_symlinks=False)
                    size += facts.st_blocks * 512
                    files += 1
                    if size > max_bytes or files > max_files:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except PermissionError:
            # The folder belongs to this user, whose other processes may have closed it.
            if folder in opened or not _open_mode(folder):
                return True
            opened.add(folder)
            waiting.append(folder)
        except OSError as error:
            if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
                return True
    return False


def _open_mode(folder: str) -> bool:
    """Make a folder readable, and return whether it is now."""
    try:
        os.chmod(folder, 0o700)
    except OSError:
        return not os.path.exists(folder)
    return os.access(folder, os.R_OK | os.X_OK)
