"""Keep the list of folders and files that a worker may ingest, and check paths against it.

A path that arrives in a workflow's arguments proves nothing: everyone who reaches the Temporal server can start a
workflow. Two lists decide instead, and neither can be changed through the server: the setting
`TENURE_DOCUMENT_ROOTS` of the worker, and a file in the home, to which a command adds the paths that its user names.
"""

import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from secrets import token_hex

from filelock import FileLock, Timeout

from tenure.installation import PROGRAM, ROOT

ROOTS_FILE = "document-roots.json"
"""Name of the list in the home: a JSON array of absolute paths, one per line."""

MANUAL = (ROOT / "docs").resolve()
"""Manual of this installation, which every worker may ingest; a copy of the source has a link to it."""

_OWNER = "{owner}"
_LOCK_SECONDS = 30.0


class RootsError(OSError):
    """The list in the home cannot be read, written or trusted; the message is one line that says what to do."""


class PathRefused(ValueError):
    """A path is outside the document roots; the message is one line that names the path and the remedy."""


def resolve_path(path: str | Path) -> Path | None:
    """Return an absolute path without links and `..`, or None if the path is relative or invalid."""
    try:
        return Path(os.path.realpath(path)) if Path(path).is_absolute() else None
    except ValueError:  # a NUL character
        return None


def add_document_roots(home: Path, paths: Iterable[Path]) -> None:
    """Add paths to the list of a home, which keeps no path below another one.

    A home that does not exist is not created: then no worker of this machine reads it.

    Raises:
        RootsError: the list cannot be read or written.
    """
    if not home.is_dir():
        return
    wanted = [real for path in paths if (real := resolve_path(path.absolute()))]
    file = home.absolute() / ROOTS_FILE
    try:
        with FileLock(file.with_suffix(".lock"), timeout=_LOCK_SECONDS):
            known = list(_load_roots(file))
            if all(_is_inside(path, known) for path in wanted):
                return
            roots = sorted({*known, *wanted})
            _save_roots(file, [root for root in roots if not _is_inside(root, [r for r in roots if r != root])])
    except Timeout as error:
        raise RootsError(f"another command holds {file.with_suffix('.lock')}: stop it and retry") from error
    except RootsError:
        raise
    except OSError as error:
        raise RootsError(f"{file} cannot be written ({error.strerror}): the worker cannot read these paths") from error


class DocumentRoots:
    """Folders and files that a worker may ingest.

    Args:
        named: roots of the settings; their links are resolved once. In a root with the word `{owner}`, only links
            before it are resolved, and the word is replaced by the owner of a corpus.
        home: home whose list is read at every check; None for no list.
    """

    def __init__(self, named: Iterable[Path] = (), home: Path | None = None) -> None:
        self._named = tuple(real for path in named if (real := _resolve_root(path)))
        self._home = resolve_path(home.absolute()) if home else None

    def resolve(self, paths: Iterable[str], owner: str | None = None) -> tuple[Path, ...]:
        """Return the real paths of paths inside the roots of an owner.

        The caller reads the returned paths: a link that is replaced after the check then has no effect.

        Raises:
            PathRefused: a path is relative or outside the roots.
            RootsError: the list of the home cannot be trusted.
        """
        roots = self._load(owner)
        found: list[Path] = []
        for path in paths:
            real = resolve_path(path)
            if real is None or not self._is_allowed(real, roots):
                raise PathRefused(_describe_refusal(path, real))
            found.append(real)
        return tuple(found)

    def select(self, paths: Iterable[str], owner: str | None = None) -> frozenset[str]:
        """Return the paths that are inside the roots of an owner.

        Raises:
            RootsError: the list of the home cannot be trusted.
        """
        roots = self._load(owner)
        return frozenset(path for path in paths if (real := resolve_path(path)) and self._is_allowed(real, roots))

    def _load(self, owner: str | None) -> list[Path]:
        """Return the roots of an owner; roots for single owners are closed to a corpus without an owner."""
        named = [
            path if _OWNER not in str(path) else owner and Path(str(path).replace(_OWNER, owner))
            for path in self._named
        ]
        return [
            *(path for path in named if path),
            MANUAL,
            *(_load_roots(self._home / ROOTS_FILE) if self._home else ()),
        ]

    def _is_allowed(self, path: Path, roots: Iterable[Path]) -> bool:
        """Return whether a real path may be read: a root around the home does not open the home's own files."""
        home = self._home
        if home is not None and path.is_relative_to(home):
            roots = [root for root in roots if root != home and root.is_relative_to(home)]
        return _is_inside(path, roots)


def _resolve_root(path: Path) -> Path | None:
    """Return a root without links; an owner may control the part that begins with the word for the owner."""
    place = next((number for number, part in enumerate(path.parts) if _OWNER in part), None)
    if place is None:
        return resolve_path(path)
    fixed = resolve_path(Path(*path.parts[:place])) if place else None
    return fixed and fixed.joinpath(*path.parts[place:])


def _is_inside(path: Path, roots: Iterable[Path]) -> bool:
    """Return whether a real path is a root, or below one without a hidden file or folder in between.

    The roots are compared as they were recorded: a root that becomes a link elsewhere opens nothing.
    """
    return any(
        path.is_relative_to(root) and not any(part.startswith(".") for part in path.relative_to(root).parts)
        for root in roots
    )


def _describe_refusal(path: str, real: Path | None) -> str:
    """Return the message for a refused path; it does not say whether the path exists."""
    shown = "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in path)[:300]
    if real is None:
        return f"the worker reads absolute paths only: {shown!r} is not one"
    # The target of a link is not named: the starter of the workflow may not be allowed to know it.
    return (
        f"{shown} is outside the document roots of the worker: run `{PROGRAM} ingest {shown}` as the user who "
        "started the worker, or add it to TENURE_DOCUMENT_ROOTS there"
    )


def _load_roots(file: Path) -> tuple[Path, ...]:
    """Read a list, which only the user of this process may be able to change; without a file it is empty."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise RootsError(f"{file} cannot be read ({error.strerror}): delete it and name the documents again") from error
    with os.fdopen(descriptor, "rb") as opened:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid not in (0, os.geteuid()) or status.st_mode & 0o022:
            raise RootsError(f"{file} may be changed by other users: delete it and name the documents again")
        try:
            listed = json.loads(opened.read())
        except ValueError as error:
            raise RootsError(f"{file} is damaged: delete it and name the documents again") from error
    if not isinstance(listed, list) or not all(isinstance(root, str) and Path(root).is_absolute() for root in listed):
        raise RootsError(f"{file} is damaged: delete it and name the documents again")
    return tuple(map(Path, listed))


def _save_roots(file: Path, roots: Iterable[Path]) -> None:
    """Replace a list atomically by one that only this user can read."""
    draft = file.with_name(f"{ROOTS_FILE}.{token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as written:
            json.dump([str(root) for root in roots], written, indent=1)
            written.flush()
            os.fsync(descriptor)
        draft.replace(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
