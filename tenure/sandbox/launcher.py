"""Start all sandboxes of a process from one thread.

The kernel ends a sandbox with the thread that started it (`PR_SET_PDEATHSIG`), so that thread must live as long as
the process. If the process is root, the same thread makes the visible folders reachable for an unprivileged user: a
folder below one that only root may enter is bind-mounted at a second path, in a mount namespace that only this thread
and its children are in.
"""

import ctypes
import os
import stat
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tenure.sandbox.base import NoSandbox

UNPRIVILEGED_ID: Final = 65534
"""User and group id of a sandbox if the process is root."""

# Flags of unshare(2), mount(2) and umount2(2): CLONE_NEWNS; MS_BIND, MS_REC, MS_SLAVE, MS_NODEV, MS_NOSUID; MNT_DETACH
_NEW_MOUNTS: Final = 0x20000
_BIND, _RECURSIVE, _SLAVE, _NO_DEVICES, _NO_SETUID = 0x1000, 0x4000, 0x80000, 4, 2
_DETACH: Final = 2
_MOUNT_POINTS: Final = ("/mnt", "/media", "/srv", "/opt", "/home")
"""Folders that exist on every system and can be covered in a private mount namespace; empty ones hide nothing."""


class Launcher:
    """Starter of processes from one thread, without root privileges."""

    def __init__(self, shown: Sequence[Path]) -> None:
        """Initialize the launcher with the folders and files that sandboxes show or need."""
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sandbox-launcher")
        self.drops = os.geteuid() == 0
        self._cover: Path | None = None
        self._count = 0
        hidden = [path for path in shown if not is_reachable(path)] if self.drops else []
        self._places: dict[Path, Path] = self._thread.submit(self._mount_hidden, hidden).result() if hidden else {}

    def map_path(self, path: Path) -> Path:
        """Return the path under which started processes reach a path."""
        for hidden, place in self._places.items():
            if path.is_relative_to(hidden):
                return place / path.relative_to(hidden)
        return path

    def expose(self, path: Path) -> Path:
        """Return a path under which started processes reach a folder until it is withdrawn, whatever its parents allow.

        Raises:
            OSError: the folder cannot be mounted a second time.
        """
        return self._thread.submit(self._mount, path).result() if self.drops else path

    def withdraw(self, place: Path) -> None:
        """Withdraw an exposed folder; processes that have it mounted keep it."""
        if self.drops:
            self._thread.submit(self._unmount, place).result()

    def start(
        self, command: Sequence[str], descriptors: Sequence[int], environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        """Start a process with only the given file descriptors and environment."""
        return self._thread.submit(self._start, command, descriptors, environment).result()

    def _start(
        self, command: Sequence[str], descriptors: Sequence[int], environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            env=dict(environment),
            pass_fds=tuple(descriptors),
            start_new_session=True,
            user=UNPRIVILEGED_ID if self.drops else None,
            group=UNPRIVILEGED_ID if self.drops else None,
            extra_groups=[] if self.drops else None,
        )

    def _mount_hidden(self, hidden: Sequence[Path]) -> dict[Path, Path]:
        """Bind-mount each hidden folder at a second path."""
        try:
            return {path: self._mount(path) for path in hidden}
        except OSError as error:
            names = ", ".join(str(path) for path in hidden)
            raise NoSandbox(
                f"an unprivileged user cannot reach {names} ({error.strerror or error}): run the worker as an ordinary "
                "user, or install Python and Tenure outside of folders that only root may enter"
            ) from None

    def _mount(self, path: Path) -> Path:
        """Bind-mount a folder or file at a new path in the mount namespace of this thread."""
        if self._cover is None:
            self._cover = _cover_folder()
        place = self._cover / str(self._count)
        self._count += 1
        if path.is_dir():
            place.mkdir()
            place.chmod(0o755)  # whatever the umask of this process is
        else:
            place.touch()
        libc = ctypes.CDLL(None, use_errno=True)
        _check_result(libc.mount(os.fsencode(path.resolve()), os.fsencode(place), None, _BIND | _RECURSIVE, None))
        return place

    def _unmount(self, place: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        _check_result(libc.umount2(os.fsencode(place), _DETACH))
        if place.is_dir():
            place.rmdir()
        else:
            place.unlink()


def is_reachable(path: Path) -> bool:
    """Return whether everybody may enter the parent folders of a path and read it."""
    real = path.resolve()
    try:
        modes = [folder.stat().st_mode for folder in real.parents]
        own = real.stat().st_mode
    except OSError:
        return True
    needed = stat.S_IROTH | (stat.S_IXOTH if stat.S_ISDIR(own) else 0)
    return all(mode & stat.S_IXOTH for mode in modes) and own & needed == needed


def _cover_folder() -> Path:
    """Give this thread a mount namespace of its own, and return a folder that is empty there."""
    places = [Path(place) for place in _MOUNT_POINTS if Path(place).is_dir()]
    if not places:
        raise OSError("no folder to use")
    cover = next((place for place in places if not any(place.iterdir())), places[0])
    libc = ctypes.CDLL(None, use_errno=True)
    _check_result(libc.unshare(_NEW_MOUNTS))
    _check_result(libc.mount(None, b"/", None, _RECURSIVE | _SLAVE, None))
    flags = _NO_DEVICES | _NO_SETUID
    _check_result(libc.mount(b"none", os.fsencode(cover), b"tmpfs", flags, b"size=64k,mode=755"))
    return cover


def _check_result(result: int) -> None:
    """Raise the error of a C library call."""
    if result:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
