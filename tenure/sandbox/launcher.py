"""The thread that starts every sandbox of a process.

The kernel ends a sandbox with the thread that started it, so that thread has to live as long as the process does.
Where the process is root, the same thread also sees to it that an unprivileged user can reach what a sandbox shows
to a program: a folder below one that only root may enter gets a second place, in a mount namespace that only this
thread and what it starts are in.
"""

import ctypes
import os
import stat
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tenure.sandbox.base import NoSandbox

NOBODY: Final = 65534
"""User and group that a sandbox runs as where the process itself is root."""

_NEW_MOUNTS: Final = 0x20000
_BIND, _RECURSIVE, _SLAVE, _NO_DEVICES, _NO_SETUID = 0x1000, 0x4000, 0x80000, 4, 2
_PLACES: Final = ("/mnt", "/media", "/srv", "/opt", "/home")
"""Folders that can be covered in a namespace of one's own, of which every system has one."""


class Launcher:
    """Starts processes from one thread, without the powers of root."""

    def __init__(self, shown: Sequence[Path]) -> None:
        """Take the folders and files that a sandbox shows or needs."""
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sandbox-launcher")
        self.drops = os.geteuid() == 0
        hidden = [path for path in shown if not reachable(path)] if self.drops else []
        self._places: dict[Path, Path] = self._thread.submit(_give_places, hidden).result() if hidden else {}

    def place(self, path: Path) -> Path:
        """Return where a path can be reached by what is started."""
        for hidden, place in self._places.items():
            if path.is_relative_to(hidden):
                return place / path.relative_to(hidden)
        return path

    def start(self, command: Sequence[str], descriptors: Sequence[int]) -> subprocess.Popen[bytes]:
        """Start a process with an empty environment and nothing but the given descriptors."""
        return self._thread.submit(self._start, command, descriptors).result()

    def _start(self, command: Sequence[str], descriptors: Sequence[int]) -> subprocess.Popen[bytes]:
        """Start a process, in the thread."""
        return subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            env={},
            pass_fds=tuple(descriptors),
            start_new_session=True,
            user=NOBODY if self.drops else None,
            group=NOBODY if self.drops else None,
            extra_groups=[] if self.drops else None,
        )


def reachable(path: Path) -> bool:
    """Return whether everybody may enter the folders above a path and read what is there."""
    real = path.resolve()
    try:
        modes = [folder.stat().st_mode for folder in real.parents]
        own = real.stat().st_mode
    except OSError:
        return True
    needed = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(own) else 0)
    return all(mode & stat.S_IXOTH for mode in modes) and own & needed == needed


def _give_places(hidden: Sequence[Path]) -> dict[Path, Path]:
    """Give each hidden folder a second place in a mount namespace of this thread.

    Raises:
        NoSandbox: this process may not.
    """
    cover = next((Path(place) for place in _PLACES if Path(place).is_dir()), None)
    try:
        if cover is None:
            raise OSError("no folder to use")
        libc = ctypes.CDLL(None, use_errno=True)
        _succeed(libc.unshare(_NEW_MOUNTS))
        _succeed(libc.mount(None, b"/", None, _RECURSIVE | _SLAVE, None))
        flags = _NO_DEVICES | _NO_SETUID
        _succeed(libc.mount(b"none", os.fsencode(cover), b"tmpfs", flags, b"size=64k,mode=755"))
        places = {}
        for number, path in enumerate(hidden):
            place = cover / str(number)
            place.mkdir(mode=0o755)
            _succeed(libc.mount(os.fsencode(path.resolve()), os.fsencode(place), None, _BIND | _RECURSIVE, None))
            places[path] = place
    except OSError as error:
        names = ", ".join(str(path) for path in hidden)
        raise NoSandbox(
            f"an unprivileged user cannot reach {names} ({error.strerror or error}): run the worker as an ordinary "
            "user, or install Python and Tenure outside of folders that only root may enter"
        ) from None
    return places


def _succeed(result: int) -> None:
    """Turn an error of the C library into an exception.

    Raises:
        OSError: there was one.
    """
    if result:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
