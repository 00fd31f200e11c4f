"""Keep the lists of folders and files that a worker may read, and check paths against them.

A path that arrives in a workflow's arguments proves nothing: everyone who reaches the Temporal server can start a
workflow. Two lists decide instead, and neither can be changed through the server: the setting
`TENURE_DOCUMENT_ROOTS` of the worker, and a file in the home, to which a command adds the paths that its user names.
A path of the file is open to one scope: the corpus that the path was named for, or the run that a program's file was
named for. Another request reads it only if it names it again. Keys, the state of the system and a whole home directory
are closed to all.
"""

import json
import os
import pwd
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from secrets import token_hex

from filelock import FileLock, Timeout

from tenure.installation import ROOT
from tenure.ownership import locate_owner_home

ROOTS_FILE = "document-roots.json"
"""Name of the list in the home: a JSON object of absolute paths by scope."""

MANUAL = (ROOT / "docs").resolve()
"""Manual of this installation, which every worker may ingest; a copy of the source has a link to it."""

_OWNER = "{owner}"
_LOCK_SECONDS = 30.0

_HOMES, _ROOT_HOME = Path("/home"), Path("/root")
_SYSTEM = tuple(map(Path, "/proc /dev /sys /run/secrets /run/credentials /etc/ssh /etc/ssl/private".split()))
_PASSWORDS = tuple(map(Path, ("/etc/shadow", "/etc/gshadow")))
_KEYS = frozenset(
    ".ssh .gnupg .aws .azure .kube .docker .password-store .mozilla .netrc .pgpass .git-credentials .npmrc "
    ".pypirc".split()
)
"""Names of files and folders with keys and passwords in home directories."""

_SCHEDULED = re.compile(r"-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$")
"""Time that a schedule appends to the id of a workflow: `nightly-2026-11-24T03:00:00Z`."""


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


def make_run_scope(workflow_id: str) -> str:
    """Return the scope of a run, given its id or the id of a workflow that it or its schedule has started."""
    return f"run {_SCHEDULED.sub('', workflow_id.partition('/')[0])}"


def explain_closed_path(path: Path) -> str:
    """Return the reason that closes an absolute path without links to all requests, or an empty text."""
    if path in (_HOMES, _ROOT_HOME) or any(home.is_relative_to(path) for home in _list_homes()):
        return "is or contains a whole home directory"
    if any(path.is_relative_to(protected) for protected in _SYSTEM):
        return "belongs to the operating system"
    if path in _PASSWORDS or not _KEYS.isdisjoint(path.parts) or "/.config/gcloud/" in f"{path}/":
        return "contains keys or passwords"
    if any(protected.is_relative_to(path) for protected in (*_SYSTEM, *_PASSWORDS)):
        return "contains files of the operating system"
    homes = [folder for folder in (path, path.parent) if (folder / ROOTS_FILE).exists()]
    return "is Tenure's own state" if homes and (path in homes or not path.is_dir()) else ""


def _list_homes() -> Iterable[Path]:
    """Yield the home directories of people: of this user, of root, and of users who log in.

    Accounts of services are below 1000 (`UID_MIN` of shadow-utils), and theirs are folders of data such as `/var/www`.
    """
    names = [entry.pw_dir for entry in pwd.getpwall() if entry.pw_uid == 0 or entry.pw_uid >= 1000]
    own = os.path.expanduser("~")  # noqa: PTH111 - a user without a home raises no error
    yield from (home for name in (own, *names) if (home := resolve_path(name)) and home != Path("/"))


def add_document_roots(home: Path, scopes: Iterable[str], paths: Iterable[Path], owner: str = "") -> None:
    """Open paths to corpora or the scopes of runs, in the list of an owner; it keeps no path below another one.

    A home that does not exist is not created: then no worker of this machine reads it.

    Raises:
        RootsError: the list cannot be read or written.
    """
    _change_roots(home, owner, scopes, [real for path in paths if (real := resolve_path(path.absolute()))])


def remove_document_roots(home: Path, scope: str, owner: str = "") -> None:
    """Close all paths that the list of an owner opens to a corpus or to the scope of a run.

    Raises:
        RootsError: the list cannot be read or written.
    """
    _change_roots(home, owner, [scope], None)


def load_document_roots(home: Path, owner: str = "") -> dict[str, tuple[Path, ...]]:
    """Return the paths that the list of an owner opens, by scope.

    Raises:
        RootsError: the list cannot be trusted.
    """
    return _load_roots(locate_owner_home(home, owner) / ROOTS_FILE)


def _change_roots(home: Path, owner: str, scopes: Iterable[str], added: Sequence[Path] | None) -> None:
    """Add roots of scopes to a list, or remove all of them if none are added."""
    if not home.is_dir():
        return
    file = locate_owner_home(home, owner) / ROOTS_FILE
    try:
        file.parent.mkdir(mode=0o700, exist_ok=True)
        with FileLock(file.with_suffix(".lock"), timeout=_LOCK_SECONDS):
            before = _load_roots(file)
            after = dict(before)
            for scope in scopes:
                roots = [] if added is None else sorted({*before.get(scope, ()), *added})
                after[scope] = tuple(
                    root for root in roots if not _is_inside(root, [other for other in roots if other != root])
                )
            after = {scope: roots for scope, roots in sorted(after.items()) if roots}
            if after != before:
                _save_roots(file, after)
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
            before it are resolved, and the word is replaced by the owner.
        home: home with the list of the owner, which is read at every check; None for no list.
        owner: owner of the corpora and runs; empty for the owner without a name, who has no roots with that word.
    """

    def __init__(self, configured: Iterable[Path] = (), home: Path | None = None, owner: str = "") -> None:
        self._named = tuple(
            Path(str(real).replace(_OWNER, owner))
            for path in configured
            if (real := _resolve_root(path)) and (owner or _OWNER not in str(real))
        )
        self._home = resolve_path(home.absolute()) if home else None
        self._list = locate_owner_home(self._home, owner) / ROOTS_FILE if self._home else None

    def resolve(self, paths: Iterable[str], scope: str) -> tuple[Path, ...]:
        """Return the real paths of paths inside the roots of a scope.

        The caller reads the returned paths: a link that is replaced after the check then has no effect.

        Raises:
            PathRefused: a path is relative, outside the roots, or closed to all.
            RootsError: the list of the home cannot be trusted.
        """
        roots = self._load(scope)
        resolved: list[Path] = []
        for path in paths:
            real = resolve_path(path)
            if real is None or not self._is_allowed(real, roots):
                raise PathRefused(_describe_refusal(path, real))
            resolved.append(real)
        return tuple(resolved)

    def select(self, paths: Iterable[str], scope: str) -> frozenset[str]:
        """Return the paths that are inside the roots of a scope.

        Raises:
            RootsError: the list of the home cannot be trusted.
        """
        roots = self._load(scope)
        return frozenset(path for path in paths if (real := resolve_path(path)) and self._is_allowed(real, roots))

    def _load(self, scope: str) -> list[Path]:
        return [*self._named, MANUAL, *(_load_roots(self._list).get(scope, ()) if self._list else ())]

    def _is_allowed(self, path: Path, roots: Iterable[Path]) -> bool:
        """Return whether a real path may be read: a root around the home does not open the home's own files."""
        home = self._home
        if explain_closed_path(path):
            return False
        if home is not None and path.is_relative_to(home):
            roots = [root for root in roots if root != home and root.is_relative_to(home)]
        return _is_inside(path, roots)


def _resolve_root(path: Path) -> Path | None:
    """Return a root without links; an owner may control the part that begins with the word for the owner."""
    position = next((number for number, part in enumerate(path.parts) if _OWNER in part), None)
    if position is None:
        return resolve_path(path)
    fixed = resolve_path(Path(*path.parts[:position])) if position else None
    return fixed and fixed.joinpath(*path.parts[position:])


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
    name = "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in path)[:300]
    if real is None:
        return f"the worker reads absolute paths only: {name!r} is not one"
    if str(real) == path and (closed := explain_closed_path(real)):
        return f"{name} {closed} and is not read: name the files and folders that are needed"
    # The target of a link is not named: the starter of the workflow may not be allowed to know it.
    return (
        f"{name} is outside the document roots of this corpus or run: name it in a command or request of the user who "
        "started the worker, or add it to TENURE_DOCUMENT_ROOTS there"
    )


def _load_roots(file: Path) -> dict[str, tuple[Path, ...]]:
    """Read a list, which only the user of this process may be able to change; without a file it is empty."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return {}
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
    if not isinstance(listed, dict) or not all(map(_is_list_of_roots, listed.values())):
        raise RootsError(f"{file} is damaged: delete it and name the documents again")
    return {scope: tuple(map(Path, roots)) for scope, roots in listed.items()}


def _is_list_of_roots(roots: object) -> bool:
    return isinstance(roots, list) and all(isinstance(root, str) and Path(root).is_absolute() for root in roots)


def _save_roots(file: Path, roots: Mapping[str, Iterable[Path]]) -> None:
    """Replace a list atomically by one that only this user can read."""
    draft = file.with_name(f"{ROOTS_FILE}.{token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump({scope: [*map(str, paths)] for scope, paths in roots.items()}, stream, indent=1)
            stream.flush()
            os.fsync(descriptor)
        draft.replace(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
