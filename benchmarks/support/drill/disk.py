"""Folders of a drill on small file systems of their own, which can be full or read-only.

The file systems are mounted in namespaces of the drill, so the machine does not see them, and they end with it, as do
all processes that the drill has started.
A read-only folder is a read-only mount over the folder: files that are open already can still be written, as after a
change of permissions, and all others cannot.
"""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_FOLDER_MEGABYTES = 192
_MARK = "DRILL_INITIAL_NAMESPACE"
_NAMESPACES = ("--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc")


def enter_namespaces(command: Sequence[str]) -> None:
    """Restart this program in namespaces of its own, if the system allows that; otherwise continue without them.

    Args:
        command: command that starts this program.
    """
    if os.environ.get(_MARK) or sys.platform != "linux":
        return
    os.environ[_MARK] = _read_namespace()
    for user in ([], ["--map-root-user"]):
        prefix = ["unshare", *user, *_NAMESPACES]
        try:
            allowed = subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
        except FileNotFoundError:
            return
        if allowed:
            os.execvp(prefix[0], [*prefix, *command])


def can_mount() -> bool:
    """Return whether this process is in the mount namespace of a drill."""
    initial = os.environ.get(_MARK)
    return initial is not None and _read_namespace() != initial


def _read_namespace() -> str:
    """Return the name of this process's mount namespace."""
    return str(Path("/proc/self/ns/mnt").readlink())


def mount_folder(folder: Path) -> None:
    """Create a folder on a file system of its own."""
    folder.mkdir(parents=True)
    _run("mount", "-t", "tmpfs", "-o", f"size={_FOLDER_MEGABYTES}m,mode=700", "tmpfs", str(folder))


def unmount_folder(folder: Path) -> None:
    """Remove the file system of a folder with its content, unless that was done."""
    if folder.is_mount():
        _run("umount", "--lazy", str(folder))


@contextmanager
def full(folder: Path) -> Iterator[None]:
    """Leave no space on the file system of a folder while the block runs."""
    filler = folder / ".filler"
    with filler.open("wb", buffering=0) as file:
        for block in (bytes(2**20), bytes(2**12)):
            try:
                while file.write(block):
                    continue
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
    try:
        yield
    finally:
        filler.unlink()


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Refuse to open files of a folder for writing while the block runs."""
    _run("mount", "--bind", str(folder), str(folder))
    try:
        _run("mount", "-o", "remount,bind,ro", str(folder))
        yield
    finally:
        _run("umount", "--lazy", str(folder))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
