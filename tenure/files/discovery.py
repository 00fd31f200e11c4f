"""Find the files of a set of paths, in a deterministic order.

Folders are walked recursively, without recursion and within bounds. Excluded are version control, virtual
environments, installed packages, caches, hidden files, and files that a `.gitignore` in the tree excludes. A file of an
unknown format is included, so that the parser can report why it is unreadable.

Symbolic links below a named folder are not followed: a file inside the named folders is found under its own name, and
everything else is outside. Such links, and everything else that is left out and not ordinary, are reported.
"""

import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from tenure.files.ignore_rules import MAX_IGNORE_FILE_BYTES, IgnoreRules
from tenure.files.opening import FileRefused, open_file, open_folder
from tenure.files.secret_files import describe_secret_name

INCLUDE_SECRETS_HINT: Final = "--include-secrets reads it nevertheless"
"""Advice in the reason of a file that contains secrets."""
MAX_LISTED_SKIPS: Final = 200
"""Skipped files and folders that are listed; the others are counted."""
_TOO_LARGE: Final = "the maximum of one search for files: name smaller folders"
_CLOCK_INTERVAL: Final = 256
"""Entries between two looks at the clock."""
_CACHE_FOLDERS: Final = frozenset(("__pycache__", "node_modules"))
_SKIPPED_FOLDERS: Final = _CACHE_FOLDERS | {
    *("bower_components", "venv", "virtualenv", "site-packages", "cvs", "_darcs")
}
_SKIPPED_SUFFIXES: Final = (".egg-info", ".dist-info")
_FOLDER_MARKS: Final = frozenset(("pyvenv.cfg", "CACHEDIR.TAG"))
"""Names of files that mark a virtual environment or a cache."""
_IGNORE_FILE: Final = ".gitignore"
_MOUNTS: Final = Path("/proc/self/mountinfo")
_OCTAL: Final = re.compile(r"\\([0-7]{3})")  # A space in a mount point of /proc/self/mountinfo is "\\040".
_DECEPTIVE_NAME: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters and changes of direction, with which a name looks like another."""


class DiscoveryFailed(Exception):
    """The files of a path cannot be listed; a repetition would fail as well."""

    def __init__(self, path: str, reason: str) -> None:
        """Store the path and the reason, which completes the sentence "the path …"."""
        super().__init__(f"{path} {reason}")
        self.path, self.reason = path, reason


class FoundFile(NamedTuple):
    """File to read."""

    path: str
    size: int
    mtime_ns: int


class SkippedPath(NamedTuple):
    """File or folder that is not read, with the reason."""

    path: str
    """Absolute path; characters that are no text are escaped."""
    reason: str
    """Completes the sentence "the file …"."""


@dataclass(frozen=True)
class Discovery:
    """Files of a set of paths."""

    files: tuple[FoundFile, ...]
    """Files to read, each once, folders in the order of names."""
    skipped: tuple[SkippedPath, ...]
    """The first skipped files and folders; ordinary exclusions, such as hidden files, are not among them."""
    skipped_total: int


@dataclass(frozen=True)
class DiscoveryLimits:
    """Bounds of the search for files."""

    entries: int = 500_000
    path_bytes: int = 100_000_000
    """Maximum length of all paths together."""
    depth: int = 64
    """Maximum number of folders in each other below a named one."""
    name_bytes: int = 4_095
    seconds: float = 300.0


class _Entry(NamedTuple):
    name: str
    status: os.stat_result
    target: str


class _Rules(NamedTuple):
    """Rules of a `.gitignore` and the number of components of its folder's path."""

    above: int
    rules: IgnoreRules


def discover_files(
    paths: Sequence[Path],
    *,
    include_secrets: bool = False,
    all_visible: bool = False,
    limits: DiscoveryLimits | None = None,
) -> Discovery:
    """Return the files of absolute paths.

    An explicitly named path is included even if it is hidden or a rule would exclude it inside a folder.

    Args:
        paths: files and folders; none of them may be reached through a symbolic link.
        include_secrets: whether files whose names indicate secrets are included.
        all_visible: whether files are included that belong to a program and are no documents, such as those that a
            `.gitignore` excludes; caches and installed packages of JavaScript are not.
        limits: bounds; the defaults if None.

    Raises:
        FileNotFoundError: one of the paths does not exist.
        DiscoveryFailed: a path is reached through a symbolic link, or has more files than the bounds permit.
    """
    search = _Search(include_secrets, all_visible, limits or DiscoveryLimits())
    for path in paths:
        search.add_path(path)
    return search.finish()


class _Search:
    def __init__(self, include_secrets: bool, all_visible: bool, limits: DiscoveryLimits) -> None:
        self._include_secrets, self._all_visible, self._limits = include_secrets, all_visible, limits
        self._files: dict[str, FoundFile] = {}
        self._folders: set[str] = set()
        self._links: list[tuple[str, str]] = []
        self._roots: set[str] = set()
        self._skipped: list[SkippedPath] = []
        self._skipped_total = 0
        self._entries = 0
        self._path_bytes = 0
        self._deadline = time.monotonic() + limits.seconds
        self._mounts = _list_mounts()

    def add_path(self, path: Path) -> None:
        """Search a named path."""
        name = str(path)
        self._roots.add(name)
        try:
            with open_folder(path.parent, passed_through=True) as parent:
                status = os.stat(path.name or ".", dir_fd=parent, follow_symlinks=False)
        except FileRefused as error:
            raise DiscoveryFailed(_escape(name), f"{error.reason}: name the path without it") from error
        except FileNotFoundError as error:
            raise FileNotFoundError(f"no such file or folder: {_escape(name)}") from error
        except OSError as error:
            self._skip(name, f"could not be opened ({_describe(error)})")
            return
        if stat.S_ISLNK(status.st_mode):
            raise DiscoveryFailed(_escape(name), "is a symbolic link: name the file or folder that it leads to")
        if stat.S_ISDIR(status.st_mode):
            self._walk(name, status.st_dev)
        else:
            self._add_file(name, status)

    def finish(self) -> Discovery:
        """Report the links that lead to nothing that is read, and return the files."""
        for path, target in self._links:
            if target not in self._files and target not in self._folders:
                self._skip(path, self._describe_link(target))
        return Discovery(tuple(self._files.values()), tuple(self._skipped), self._skipped_total)

    def _walk(self, root: str, device: int) -> None:
        """Search a folder, depth first; the stack holds the folders above, each with the ones still to be searched."""
        stack = [self._list_folder(root, (), device)]
        while stack:
            inner = next(stack[-1], None)
            if inner is None:
                stack.pop()
            elif len(stack) > self._limits.depth:
                self._skip(inner[0], f"is more than {self._limits.depth} folders deep")
            else:
                stack.append(self._list_folder(*inner, device))

    def _list_folder(
        self, folder: str, rules: tuple[_Rules, ...], device: int
    ) -> Iterator[tuple[str, tuple[_Rules, ...]]]:
        """Add the files of a folder in the order of names, and yield its folders with the rules that apply in them."""
        if folder in self._folders:
            return
        try:
            entries = self._read_entries(folder)
            if not self._all_visible:
                if folder not in self._roots and any(entry.name in _FOLDER_MARKS for entry in entries):
                    return
                rules = _extend_rules(folder, rules, entries)
        except FileRefused as error:
            self._skip(folder, error.reason)
            return
        except OSError as error:
            self._skip(folder, f"is a folder that cannot be listed ({_describe(error)})")
            return
        self._folders.add(folder)
        for number, entry in enumerate(entries):
            if number % _CLOCK_INTERVAL == 0:
                self._check_time(folder)
            path = str(Path(folder, entry.name))
            is_folder = stat.S_ISDIR(entry.status.st_mode)
            if self._is_left_out(path, entry.name, rules, is_folder=is_folder):
                continue
            if reason := self._find_fault(path, entry, device):
                self._skip(path, reason)
            elif stat.S_ISLNK(entry.status.st_mode):
                self._links.append((path, os.path.normpath(Path(folder, entry.target))))
            elif is_folder:
                yield path, rules
            else:
                self._add_file(path, entry.status)

    def _read_entries(self, folder: str) -> list[_Entry]:
        """Return the entries of a folder in the order of their names."""
        entries = []
        with open_folder(Path(folder)) as descriptor, os.scandir(descriptor) as listing:
            for item in listing:
                self._entries += 1
                if self._entries > self._limits.entries:
                    raise DiscoveryFailed(
                        _escape(folder), f"was reached after {self._limits.entries:,} files and folders, {_TOO_LARGE}"
                    )
                if self._entries % _CLOCK_INTERVAL == 0:
                    self._check_time(folder)
                try:
                    status = item.stat(follow_symlinks=False)
                    is_link = stat.S_ISLNK(status.st_mode)
                    target = os.readlink(item.name, dir_fd=descriptor) if is_link else ""
                except FileNotFoundError:
                    # It was deleted since the listing began.
                    continue
                entries.append(_Entry(item.name, status, target))
        return sorted(entries, key=lambda entry: entry.name)

    def _is_left_out(self, path: str, name: str, rules: Sequence[_Rules], *, is_folder: bool) -> bool:
        """Return whether an entry is hidden, no document, or excluded by a `.gitignore`; such entries are no news."""
        if name.startswith(".") or _is_ignored(path, rules, is_folder=is_folder):
            return True
        skipped = _CACHE_FOLDERS if self._all_visible else _SKIPPED_FOLDERS
        name = name.casefold()
        return is_folder and (name in skipped or (not self._all_visible and name.endswith(_SKIPPED_SUFFIXES)))

    def _find_fault(self, path: str, entry: _Entry, device: int) -> str:
        mode = entry.status.st_mode
        is_mount = path in self._mounts if self._mounts is not None else entry.status.st_dev != device
        if any("\ud800" <= character <= "\udfff" for character in entry.name):
            return "has a name that is not valid UTF-8: rename it"
        if _DECEPTIVE_NAME.search(entry.name):
            return "has a name with control characters: rename it"
        if len(os.fsencode(path)) > self._limits.name_bytes:
            return f"has a path of more than {self._limits.name_bytes:,} bytes"
        if stat.S_ISDIR(mode) or stat.S_ISREG(mode):
            return "is a mount point: name it itself to read it" if is_mount else ""
        return "" if stat.S_ISLNK(mode) else "is not a regular file"

    def _add_file(self, path: str, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            self._skip(path, "is not a regular file")
        elif not self._include_secrets and (reason := describe_secret_name(Path(path).name)):
            self._skip(path, f"{reason}: {INCLUDE_SECRETS_HINT}")
        elif path not in self._files:
            self._path_bytes += len(path.encode())
            if self._path_bytes > self._limits.path_bytes:
                raise DiscoveryFailed(
                    _escape(path), f"was reached after {self._limits.path_bytes:,} bytes of paths, {_TOO_LARGE}"
                )
            self._files[path] = FoundFile(path, status.st_size, status.st_mtime_ns)

    def _describe_link(self, target: str) -> str:
        roots = [root for root in self._roots if target == root or target.startswith(root.rstrip("/") + "/")]
        if not roots:
            return "is a symbolic link that leads out of the named folders"
        parts = Path(target).relative_to(max(roots, key=len)).parts
        if any(part.startswith(".") for part in parts):
            return "is a symbolic link to a hidden file or folder"
        return "is a symbolic link to something that is not read"

    def _skip(self, path: str, reason: str) -> None:
        self._skipped_total += 1
        if len(self._skipped) < MAX_LISTED_SKIPS:
            self._skipped.append(SkippedPath(_escape(path), reason))

    def _check_time(self, folder: str) -> None:
        if time.monotonic() > self._deadline:
            raise DiscoveryFailed(_escape(folder), f"was reached after {self._limits.seconds:g} s, {_TOO_LARGE}")


def _extend_rules(folder: str, rules: tuple[_Rules, ...], entries: Sequence[_Entry]) -> tuple[_Rules, ...]:
    file = next((entry for entry in entries if entry.name == _IGNORE_FILE), None)
    if file is None or stat.S_ISDIR(file.status.st_mode):
        return rules
    try:
        with open_file(Path(folder, _IGNORE_FILE)) as opened:
            content = opened.read(MAX_IGNORE_FILE_BYTES + 1)
    except FileRefused as error:
        raise FileRefused(f"has a .gitignore that {error.reason}") from error
    except OSError as error:
        raise FileRefused(f"has a .gitignore that could not be opened ({_describe(error)})") from error
    if len(content) > MAX_IGNORE_FILE_BYTES:
        raise FileRefused(f"has a .gitignore that is larger than {MAX_IGNORE_FILE_BYTES / 1e6:g} MB")
    return (*rules, _Rules(len(Path(folder).parts), IgnoreRules(content)))


def _is_ignored(path: str, rules: Sequence[_Rules], *, is_folder: bool) -> bool:
    """Return the decision of the innermost `.gitignore` with a matching pattern, as git does."""
    parts = Path(path).parts if rules else ()
    for above, folder_rules in reversed(rules):
        verdict = folder_rules.decide(parts[above:], is_folder=is_folder)
        if verdict is not None:
            return verdict
    return False


def _escape(path: str) -> str:
    """Return a path as text: bytes that are not UTF-8 and control characters as escapes."""
    text = os.fsencode(path).decode("utf-8", errors="backslashreplace")
    return _DECEPTIVE_NAME.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _describe(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _list_mounts() -> frozenset[str] | None:
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    return frozenset(_OCTAL.sub(lambda match: chr(int(match[1], 8)), line.split(" ")[4]) for line in lines)
