"""Write the files of the knowledge base through to the disk, and remove what a loss of power cut off.

LanceDB writes a version of a table as new files and never calls `fsync`: after a loss of power the newest files may be
empty or missing. A commit counts as done only after `flush_folder`, so that no finished step of a run can be lost. A
commit that was interrupted before may leave an empty manifest, which hides the complete versions before it.
"""

import ctypes
import os
import sys
from functools import cache
from pathlib import Path

_MANIFESTS = "_versions/*.manifest"
_DATA = "data/*"


def flush_folder(folder: Path) -> None:
    """Wait until everything written to the file system of a folder is on the disk.

    One request for the file system is faster than one for each of the files and folders of a commit.
    """
    sync = _load_syncfs()
    if sync is None:
        os.sync()
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if sync(descriptor):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(folder))
    finally:
        os.close(descriptor)


def is_written(table: Path) -> bool:
    """Return whether a table has a version, or data whose version is lost.

    Its folder appears before its first version: another process is creating the table, or was ended while it did.
    """
    return any(table.glob(_MANIFESTS)) or any(table.glob(_DATA))


def remove_interrupted_versions(table: Path) -> int:
    """Remove the empty manifests of a table and return their number; a manifest appears complete, or is cut off."""
    empty = [path for path in table.glob(_MANIFESTS) if path.stat().st_size == 0]
    for path in empty:
        path.unlink(missing_ok=True)
    return len(empty)


@cache
def _load_syncfs() -> "ctypes._NamedFuncPointer | None":
    """Return the system call that flushes one file system; other systems than Linux have none."""
    if sys.platform != "linux":
        return None
    return ctypes.CDLL(None, use_errno=True).syncfs
