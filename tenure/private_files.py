"""Keep files of a home from other users of the machine: modes, secrets and the permissions of existing homes."""

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

PRIVATE_UMASK = 0o077
"""Mask of every process that writes into a home."""

# 256 bits.
SECRET_BYTES = 32
_MAX_SECRET_BYTES = 1024
# Permissions of the group and of all others.
_OTHERS = 0o077
_EXEMPT = frozenset({"sandbox", "versions"})
"""Folders of a home whose contents programs of another user read: packages and source code, and no data."""


class ForeignHome(OSError):
    """The home belongs to another user."""


def read_or_create_secret(path: Path) -> bytes:
    """Return the secret of a file; a file that does not exist is created with mode 0600 and random digits.

    Raises:
        OSError: the file can neither be read nor created, or is a symbolic link.
    """
    with suppress(FileNotFoundError):
        return _read(path)
    # Written under another name first, so that a concurrent reader never sees an empty file.
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(SECRET_BYTES))
        with suppress(FileExistsError):
            path.hardlink_to(draft)
    finally:
        draft.unlink()
    return _read(path)


def make_private(home: Path) -> int:
    """Create a home with mode 0700, or remove the permissions of other users; return how much was open.

    The number counts the corrected files and folders of a home that other users could enter; it is 0 for one that they
    could not, of which only the top is corrected: no other user reaches the rest. Symbolic links and entries of other
    users are left alone.

    Raises:
        ForeignHome: the home belongs to another user.
        OSError: the home cannot be created or opened.
    """
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    top = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        status = os.fstat(top)
        if status.st_uid != os.geteuid():
            raise ForeignHome(f"{home} belongs to another user")
        was_open = bool(status.st_mode & _OTHERS)
        if was_open:
            # First, so that no other user enters while the rest is corrected.
            os.fchmod(top, stat.S_IMODE(status.st_mode) & ~_OTHERS)
        corrected = 0
        # By descriptors and without links: another process may replace a folder meanwhile.
        for path, folders, files, folder in os.fwalk(".", dir_fd=top):
            folders[:] = [name for name in folders if path != "." or name not in _EXEMPT]
            corrected += sum(_correct_entry(folder, name) for name in (*folders, *files))
            if not was_open:
                return 0
        return 1 + corrected
    finally:
        os.close(top)


def open_private(path: str, flags: int) -> int:
    """Open a file that only its owner may read, for `open(…, opener=open_private)`; follow no symbolic link."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _correct_entry(folder: int, name: str) -> bool:
    """Remove the permissions of other users from a file or folder of this user; return whether it had any."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if status.st_uid != os.geteuid() or not status.st_mode & _OTHERS:
            return False
        # Not blocking: it may be a pipe.
        opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError:
        return False  # gone, replaced by a symbolic link, or unreadable even for its owner
    try:
        mode = os.fstat(opened).st_mode
        is_open = bool(mode & _OTHERS) and (stat.S_ISDIR(mode) or stat.S_ISREG(mode))
        if is_open:
            os.fchmod(opened, stat.S_IMODE(mode) & ~_OTHERS)
        return is_open
    finally:
        os.close(opened)


def _read(path: Path) -> bytes:
    """Return the contents of a secret file."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        content = file.read(_MAX_SECRET_BYTES)
    if not content:
        raise OSError(errno.EINVAL, "it is empty: delete it, and a new one is created", str(path))
    return content
