"""Record what the files of a workspace hold: its changes, as Git sees them.

Before Git looks at the files, `clean_folder` removes every repository that a program in the sandbox could have created,
since its configuration can name commands.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, NamedTuple

from tenure.algorithms.coding.code_files import is_test_path
from tenure.contracts.coding.repositories import ChangedFile
from tenure.repositories.errors import RepositoryRefused
from tenure.repositories.git import Git, GitFailed, initialize, split_records
from tenure.repositories.tree import MAX_TEXT_BYTES
from tenure.sandbox.folders import clean_folder

MAX_PATCH_BYTES: Final = 1_000_000
"""Maximum size of a patch: it is sent as one payload, of which the server accepts 2 MB."""
MAX_NEW_BYTES: Final = 500_000
"""Maximum size of all new files of one action; the largest of the others are products of a command, such as reports."""
MAX_CHANGED_FILE_BYTES: Final = 64_000_000
"""Maximum size of a changed file of the commit."""
_BINARY_BYTES: Final = 8_000
"""Bytes from the beginning of a file in which NUL marks a binary file for Git."""
_DIFF: Final = ("diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none")
_PATCH: Final = (*_DIFF, "-p", "--binary", "--full-index")
# Letters of `git diff-tree --raw`; every other one is a change: M, T
_STATUS: Final[dict[str, Literal["added", "changed", "deleted"]]] = {"A": "added", "D": "deleted"}


class Recorded(NamedTuple):
    """Changes of a workspace against its commit."""

    tree: str
    patch: bytes
    files: tuple[ChangedFile, ...]
    left_out: tuple[str, ...]
    """New files that are no part of the patch, with the reason."""


def record_changes(git: Git, folder: Path, commit: str) -> Recorded:
    """Return the changes of the files against a commit, and put them into the index.

    Args:
        git: folder of Git with the index of the workspace.
        folder: files of the workspace.
        commit: commit that the workspace began with.

    Raises:
        RepositoryRefused: a change is too large, or Git cannot store it.
    """
    left_out = [f"{entry}: removed" for entry in clean_folder(folder).removed]
    try:
        chosen, new, deleted = [], [], []
        listed = git.run("ls-files", "-z", "-t", "--modified", "--deleted", "--others", "--exclude-standard")
        for record in dict.fromkeys(listed.split(b"\0")):
            if not record:
                continue
            tag, name = record[:1], record[2:]
            if tag == b"R":
                deleted.append(name)
            elif tag != b"?":
                _check_tracked(folder, name)
                chosen.append(name)
            elif reason := _find_fault(folder, name):
                left_out.append(f"{os.fsdecode(name)}: {reason}")
            else:
                new.append(name)
        room = MAX_NEW_BYTES
        for name in sorted(new, key=lambda name: os.lstat(folder / os.fsdecode(name)).st_size):
            room -= os.lstat(folder / os.fsdecode(name)).st_size
            if room < 0:
                left_out.append(f"{os.fsdecode(name)}: new, and all new files exceed {MAX_NEW_BYTES:,} bytes")
            else:
                chosen.append(name)
        chosen = [name for name in chosen if name not in set(deleted)]  # Git lists them as changed as well
        # Deleted files first: a link or a file may be where their folder was.
        for options, names in ((("--force-remove",), deleted), (("--add", "--remove", "--replace"), chosen)):
            if names:
                git.run("update-index", *options, "-z", "--stdin", data=b"".join(name + b"\0" for name in names))
        tree = git.read("write-tree")
        return _compare(git, commit, tree, tuple(left_out))
    except GitFailed as error:
        raise RepositoryRefused(f"the changes cannot be stored: {error.complaint}") from error


def _compare(git: Git, commit: str, tree: str, left_out: tuple[str, ...]) -> Recorded:
    """Return the changes of a tree against a commit."""
    patch = git.run(*_PATCH, commit, tree)
    try:
        patch.decode()
    except UnicodeDecodeError:
        patch = _encode_binary(git, commit, tree)
    if len(patch) > MAX_PATCH_BYTES:
        raise RepositoryRefused(
            f"the changes make a patch of {len(patch) / 1e6:.0f} MB; at most {MAX_PATCH_BYTES / 1e6:.0f} MB are kept"
        )
    files = list_changes(git, commit, tree) if patch else ()
    return Recorded(tree, patch, files, left_out)


def _encode_binary(git: Git, commit: str, tree: str) -> bytes:
    """Return a patch in which files that are no UTF-8 are binary, so that it is text for everyone who transports it."""
    pieces = []
    with TemporaryDirectory(prefix="tenure-git-") as temporary:
        object_format = "sha256" if len(commit) == 64 else "sha1"
        binary = initialize(Path(temporary), object_format, "* -diff\n")
        binary_git = Git(binary.folder, alternates=(*filter(None, (git.objects,)), *git.alternates))
        for file in list_changes(git, commit, tree):
            piece = git.run(*_PATCH, commit, tree, "--", file.path)
            try:
                piece.decode()
            except UnicodeDecodeError:
                piece = binary_git.run(*_PATCH, commit, tree, "--", file.path)
            pieces.append(piece)
    return b"".join(pieces)


def list_changes(git: Git, commit: str, tree: str) -> tuple[ChangedFile, ...]:
    """Return the files in which a tree differs from a commit."""
    states: dict[bytes, str] = {}
    lines: dict[bytes, tuple[int, int]] = {}
    records = iter(git.run(*_DIFF, "-z", "--raw", "--numstat", commit, tree).split(b"\0"))
    for record in records:
        if record.startswith(b":"):
            states[next(records)] = record.split()[-1][:1].decode()
        elif record:
            added, removed, path = record.split(b"\t", 2)
            lines[path] = (int(added), int(removed)) if added != b"-" else (0, 0)
    return tuple(
        ChangedFile(
            path=os.fsdecode(path),
            status=_STATUS.get(state, "changed"),
            added=lines.get(path, (0, 0))[0],
            removed=lines.get(path, (0, 0))[1],
            is_test=is_test_path(os.fsdecode(path)),
        )
        for path, state in states.items()
    )


def _find_fault(folder: Path, name: bytes) -> str:
    """Return the reason for which a new file is no part of a patch, or an empty text."""
    path = folder / os.fsdecode(name)
    if any("\ud800" <= character <= "\udfff" for character in path.name):
        return "its name is no text"
    if path.is_symlink():
        return ""
    size = path.stat().st_size
    if size > MAX_TEXT_BYTES:
        return f"new and large ({size:,} bytes)"
    with path.open("rb") as file:
        return "new and binary" if b"\0" in file.read(_BINARY_BYTES) else ""


def _check_tracked(folder: Path, name: bytes) -> None:
    """Refuse a changed file of the commit that is too large to be stored."""
    path = folder / os.fsdecode(name)
    size = 0 if path.is_symlink() or not path.is_file() else path.stat().st_size
    if size > MAX_CHANGED_FILE_BYTES:
        shown = os.fsdecode(name)
        raise RepositoryRefused(f"{shown} has grown to {size:,} bytes; at most {MAX_CHANGED_FILE_BYTES:,} are kept")


def apply_patch(git: Git, commit: str, patch: bytes, index: Path) -> str:
    """Return the tree of a commit with a patch; use a temporary index."""
    private = git.bind(index=index)
    for leftover in (index, index.with_name(f"{index.name}.lock")):
        leftover.unlink(missing_ok=True)
    try:
        private.run("read-tree", commit)
        if patch:
            private.run("apply", "--cached", "--whitespace=nowarn", "-", data=patch)
        return private.read("write-tree")
    finally:
        index.unlink(missing_ok=True)


def check_out(git: Git, tree: str) -> None:
    """Make the files of the index's work tree those of a tree, whatever they are."""
    assert git.index is not None and git.work_tree is not None
    git.index.with_name(f"{git.index.name}.lock").unlink(missing_ok=True)  # of a killed process
    clean_folder(git.work_tree)
    git.run("read-tree", "--reset", "-u", tree)
    git.run("clean", "-ffdxq")


def list_ignored(git: Git, paths: Sequence[str]) -> list[str]:
    """Return those of some paths that the repository's rules, or those of every workspace, leave out of a patch."""
    # A path that begins so has no magic characters; the command does not take the variable that turns them off.
    data = b"".join(os.fsencode(f"./{path}") + b"\0" for path in paths)
    try:
        output = git.run("check-ignore", "-z", "--stdin", data=data, environment={"GIT_LITERAL_PATHSPECS": "0"})
    except GitFailed as error:
        if error.output.strip():
            raise
        return []  # Git fails without a word if it ignores none
    return [path.removeprefix("./") for path in split_records(output)]
