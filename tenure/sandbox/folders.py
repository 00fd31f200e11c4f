"""Give a folder of the host to a command, and make it safe for the worker to read, add to Git and remove afterwards.

A command can leave anything in its folder: links, sockets, pipes, folders that cannot be entered, set-user-id bits, a
chain of thousands of folders, or a Git repository whose configuration would run commands on the host. All functions
work by descriptors and follow no link. No process of the sandbox is alive while they run.
"""

import hashlib
import os
import re
import stat
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

MAX_DEPTH: Final = 100
"""Maximum depth of folders; deeper ones are removed. The deepest file of most projects is below 15 folders."""

MAX_REMOVED: Final = 20
"""Number of removed entries that are named."""

# `tenure/run 1` becomes `tenure-run-1-` and the beginning of its hash
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")

_SPECIAL_BITS: Final = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX


def make_folder_name(run: str) -> str:
    """Return a safe name for the folder of a run, with a hash that distinguishes similar names."""
    return f"{_UNSAFE.sub('-', run)[:80]}-{hashlib.sha256(run.encode()).hexdigest()[:8]}"


@dataclass
class FolderFacts:
    """Size of a folder, and what was removed from it."""

    files: int = 0
    """Number of entries of all kinds."""
    bytes: int = 0
    """Space on the disk."""
    removed: list[str] = field(default_factory=list)
    """Paths of removed entries with the reasons, the first `MAX_REMOVED`."""


def clean_folder(folder: Path, owner: int | None = None) -> FolderFacts:
    """Remove everything but files, folders and links, and every Git repository; make the rest readable.

    Everything that stays is given to `owner`, the number of a user and a group, if there is one.

    Raises:
        OSError: the folder cannot be read or changed.
    """
    return _Cleaner(owner).clean(folder)


def remove_folder(folder: Path) -> None:
    """Remove a folder with all that a command has left in it, or a file or link; a missing one is no error.

    Raises:
        OSError: an entry cannot be removed.
    """
    # 5,000 files take 0.4 s of processor time in Python and a tenth of it in `rm`, which cannot enter every folder.
    if subprocess.run(["rm", "-rf", "--", str(folder)], capture_output=True, check=False).returncode:
        with _open_folder(folder.parent) as parent:
            _remove_tree(parent, folder.name)


class _Cleaner:
    """One pass over a folder."""

    def __init__(self, owner: int | None) -> None:
        self._owner = owner
        self._facts = FolderFacts()
        self._top = -1

    def clean(self, folder: Path) -> FolderFacts:
        """Clean a folder and return its size."""
        facts = folder.stat(follow_symlinks=False)
        if not stat.S_ISDIR(facts.st_mode):
            raise NotADirectoryError(f"{folder} is not a folder")
        if stat.S_IMODE(facts.st_mode) != 0o700:
            folder.chmod(0o700)
        with _open_folder(folder) as top:
            self._top = top
            if self._owner is not None and facts.st_uid != self._owner:
                os.fchown(top, self._owner, self._owner)
            self._visit(top, "", 1)
        return self._facts

    def _visit(self, folder: int, prefix: str, depth: int) -> None:
        with os.scandir(folder) as entries:
            for entry in entries:
                self._clean_entry(folder, entry.name, entry.stat(follow_symlinks=False), prefix, depth)

    def _clean_entry(self, folder: int, name: str, facts: os.stat_result, prefix: str, depth: int) -> None:
        is_folder = stat.S_ISDIR(facts.st_mode)
        reason = _find_reason(name, facts, depth)
        if reason:
            if len(self._facts.removed) < MAX_REMOVED:
                self._facts.removed.append(f"{prefix}{name} ({reason})")
            if is_folder:
                _remove_tree(folder, name, self._top)
            else:
                os.unlink(name, dir_fd=folder)
            return
        self._facts.files += 1
        self._facts.bytes += facts.st_blocks * 512
        if self._owner is not None and facts.st_uid != self._owner:
            os.chown(name, self._owner, self._owner, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(facts.st_mode):
            return
        mode = stat.S_IMODE(facts.st_mode)
        wanted = (mode & ~_SPECIAL_BITS) | (0o700 if is_folder else 0o600)
        if wanted != mode:
            os.chmod(name, wanted, dir_fd=folder)
        if is_folder:
            with _open_folder(name, folder) as inner:
                self._visit(inner, f"{prefix}{name}/", depth + 1)


def _find_reason(name: str, facts: os.stat_result, depth: int) -> str:
    """Return the reason for removing an entry, or an empty text."""
    if is_git_name(name):
        # Git reads the configuration of a repository below the one that it adds, which can name commands.
        return "a Git repository of its own"
    if stat.S_ISDIR(facts.st_mode):
        return f"deeper than {MAX_DEPTH} folders" if depth >= MAX_DEPTH else ""
    return "" if stat.S_ISREG(facts.st_mode) or stat.S_ISLNK(facts.st_mode) else "neither file, folder nor link"


def is_git_name(name: str) -> bool:
    """Return whether Git takes a name for that of a repository's folder, on some file system."""
    # `.GIT`, `.git.`, `.git ` and `.git::$INDEX_ALLOCATION` are the same folder for NTFS, as is `git~1`.
    return name.partition(":")[0].rstrip(" .").casefold() in (".git", "git~1")


@contextmanager
def _open_folder(path: Path | str, parent: int | None = None) -> Iterator[int]:
    opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        yield opened
    finally:
        os.close(opened)


def _remove_tree(parent: int, name: str, trash_parent: int | None = None) -> None:
    """Remove a folder of any depth: each folder in it is first moved to the top of a trash folder."""
    trash_name = f".tenure-removed-{uuid.uuid4().hex[:12]}"
    top = parent if trash_parent is None else trash_parent
    os.mkdir(trash_name, 0o700, dir_fd=top)
    with _open_folder(trash_name, top) as trash:
        count = 0
        _move(parent, name, trash, "0")
        waiting = ["0"]
        while waiting:
            current = waiting.pop()
            os.chmod(current, 0o700, dir_fd=trash)
            with _open_folder(current, trash) as folder, os.scandir(folder) as entries:
                for entry in list(entries):
                    if entry.is_dir(follow_symlinks=False):
                        count += 1
                        _move(folder, entry.name, trash, str(count))
                        waiting.append(str(count))
                    else:
                        os.unlink(entry.name, dir_fd=folder)
            os.rmdir(current, dir_fd=trash)
    os.rmdir(trash_name, dir_fd=top)


def _move(source: int, name: str, target: int, new_name: str) -> None:
    """Move a folder; its own mode must allow writing, since its entry for the parent changes."""
    os.chmod(name, 0o700, dir_fd=source)
    os.rename(name, new_name, src_dir_fd=source, dst_dir_fd=target)


def place_file(folder: Path, name: str, content: bytes, *, replaces: bool = True, mode: int = 0o644) -> bool:
    """Write a file into a folder that a command or a repository has filled, without following a link in it.

    A link or file in the way of a folder, and a link in the way of the file, are replaced.

    Args:
        folder: top folder, which is no link.
        name: relative path, which does not leave it.
        content: content of the file.
        replaces: whether an existing file is replaced.
        mode: permissions of the file.

    Returns:
        Whether the file was written.
    """
    *parents, last = name.split("/")
    with ExitStack() as stack:
        current = stack.enter_context(_open_folder(folder))
        for part in parents:
            with suppress(FileNotFoundError):
                if not stat.S_ISDIR(os.stat(part, dir_fd=current, follow_symlinks=False).st_mode):
                    os.unlink(part, dir_fd=current)
            with suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=current)
            current = stack.enter_context(_open_folder(part, current))
        try:
            facts = os.stat(last, dir_fd=current, follow_symlinks=False)
        except FileNotFoundError:
            pass
        else:
            if not replaces:
                return False
            if stat.S_ISDIR(facts.st_mode):
                _remove_tree(current, last)
            else:
                os.unlink(last, dir_fd=current)
        opened = os.open(last, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=current)
        with os.fdopen(opened, "wb") as file:
            os.fchmod(opened, mode)
            file.write(content)
    return True


def read_file(folder: Path, name: str, max_bytes: int) -> bytes | None:
    """Return the beginning of a regular file in such a folder; None if there is none without following a link."""
    *parents, last = name.split("/")
    try:
        with ExitStack() as stack:
            current = stack.enter_context(_open_folder(folder))
            for part in parents:
                current = stack.enter_context(_open_folder(part, current))
            opened = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=current)
            with os.fdopen(opened, "rb") as file:
                return file.read(max_bytes) if stat.S_ISREG(os.fstat(opened).st_mode) else None
    except OSError:
        return None


def delete_file(folder: Path, name: str) -> None:
    """Remove a file or link of such a folder, if it exists."""
    *parents, last = name.split("/")
    with ExitStack() as stack, suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
        current = stack.enter_context(_open_folder(folder))
        for part in parents:
            try:
                current = stack.enter_context(_open_folder(part, current))
            except OSError:  # a link or no folder
                return
        os.unlink(last, dir_fd=current)


def list_files(folder: Path) -> dict[str, int]:
    """Return the relative paths of the regular files of a folder with their sizes; links are left out.

    Raises:
        OSError: the folder cannot be read.
    """
    found: dict[str, int] = {}
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        with os.scandir(folder / prefix) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{prefix}{entry.name}/")
                elif entry.is_file(follow_symlinks=False):
                    found[f"{prefix}{entry.name}"] = entry.stat(follow_symlinks=False).st_size
    return found
