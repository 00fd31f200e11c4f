"""List and check the tree of a commit, and describe the parts that cannot be worked on."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from tenure.repositories.errors import RepositoryRefused
from tenure.repositories.git import MAX_SHOWN_PATHS, Git, GitFailed, show_paths

MAX_TREE_BYTES: Final = 1 << 30
"""Maximum size of the files of a commit. Every candidate and every run of tests has a copy of them, so that a
repository of this size takes several gigabytes and minutes; the working copy of CPython has 0.1 GiB."""
MAX_TREE_FILES: Final = 200_000
"""Maximum number of files of a commit; the working copy of Linux has 90,000."""
MAX_TEXT_BYTES: Final = 1_000_000
"""Size from which a file is neither read nor edited nor added to a patch: a person has not written it."""
_LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"
_POINTER_BYTES: Final = range(100, 1024)
"""Sizes of pointers to files in LFS; the specification permits at most 1,023 bytes."""
# Modes of `git ls-tree`
_LINK: Final = "120000"
_SUBMODULE: Final = "160000"

LANGUAGES: Final = {
    **dict.fromkeys((".py", ".pyi", ".pyx"), "Python"),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), "JavaScript"),
    **dict.fromkeys((".ts", ".tsx", ".mts"), "TypeScript"),
    **dict.fromkeys((".c", ".h"), "C"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hpp", ".hh"), "C++"),
    **dict.fromkeys((".sh", ".bash"), "Shell"),
    **dict.fromkeys((".rb", ".rake"), "Ruby"),
    **{".go": "Go", ".rs": "Rust", ".java": "Java", ".kt": "Kotlin", ".cs": "C#", ".php": "PHP", ".swift": "Swift"},
    **{".scala": "Scala", ".pl": "Perl", ".lua": "Lua", ".hs": "Haskell", ".ex": "Elixir", ".jl": "Julia", ".r": "R"},
}
"""Languages of programs by the suffixes of their files."""


class TreeEntry(NamedTuple):
    """File, link or folder of a commit."""

    mode: str
    kind: str
    """`blob`, `tree` or `commit`, which is a submodule."""
    id: str
    size: int
    path: str

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return self.mode == _LINK


class TreeSummary(NamedTuple):
    """Files of a commit in figures."""

    files: int
    bytes: int
    languages: tuple[str, ...]
    notes: tuple[str, ...]


def list_tree(git: Git, commit: str) -> list[TreeEntry]:
    """Return everything in the tree of a commit, folders included.

    Raises:
        RepositoryRefused: an object is missing or damaged, or a path is not one that Git permits.
    """
    try:
        output = git.run("ls-tree", "-r", "-t", "-l", "-z", "--full-tree", commit)
    except GitFailed as error:
        raise RepositoryRefused(f"the files of commit {commit[:12]} cannot be read: {error.complaint}") from error
    entries = []
    for record in output.split(b"\0"):
        if not record:
            continue
        facts, _, name = record.partition(b"\t")
        mode, kind, identity, size = facts.decode("ascii", "replace").split()
        if size == "BAD":
            raise RepositoryRefused(
                f"{os.fsdecode(name)!r} is missing in the repository, which is a partial clone or damaged: "
                "`git fetch --refetch --no-filter` completes it"
            )
        entries.append(TreeEntry(mode, kind, identity, int(size) if size.isdigit() else 0, os.fsdecode(name)))
    return entries


def check_tree(entries: Sequence[TreeEntry], read: Callable[[Iterable[str]], Sequence[bytes]]) -> None:
    """Check that the files of a commit can be worked on.

    Args:
        entries: its entries.
        read: function that returns the contents of objects.

    Raises:
        RepositoryRefused: it has submodules, files in LFS, paths that are no text or that Git does not permit, too many
            files or too large ones.
    """
    files = [entry for entry in entries if entry.kind == "blob"]
    if submodules := [entry.path for entry in entries if entry.mode == _SUBMODULE]:
        raise RepositoryRefused(
            f"it has submodules, whose files are not in the repository: {show_paths(submodules)}. Work in the "
            "repository of the submodule, or on a commit without it"
        )
    if wrong := [entry.path for entry in entries if not _is_permitted(entry.path)]:
        raise RepositoryRefused(f"it has paths that Git does not permit or that are no text: {show_paths(wrong)}")
    if len(files) > MAX_TREE_FILES:
        raise RepositoryRefused(f"it has {len(files):,} files, and at most {MAX_TREE_FILES:,} are worked on")
    size = sum(entry.size for entry in files)
    if size > MAX_TREE_BYTES:
        largest = sorted(files, key=lambda entry: -entry.size)[:MAX_SHOWN_PATHS]
        raise RepositoryRefused(
            f"its files have {size / 1e9:.1f} GB, and at most {MAX_TREE_BYTES / 1e9:.1f} GB are worked on; the largest "
            f"are {show_paths([entry.path for entry in largest])}"
        )
    if stored := _find_lfs_files(files, read):
        raise RepositoryRefused(
            f"it has files in Git LFS, of which the repository has pointers only: {show_paths(stored)}"
        )


def summarize_tree(git: Git, commit: str, entries: Sequence[TreeEntry]) -> TreeSummary:
    """Return the figures of a commit, and what cannot be read or changed in it."""
    files = [entry for entry in entries if entry.kind == "blob"]
    sizes = {entry.path: entry.size for entry in files}
    links = [entry.path for entry in files if entry.is_link]
    large = [path for path, size in sizes.items() if size > MAX_TEXT_BYTES]
    binary, lines = [], Counter[str]()
    for path, added in _count_lines(git, commit):
        if added is None:
            binary.append(path)
        elif language := LANGUAGES.get(PurePosixPath(path).suffix.lower()):
            lines[language] += added
    notes = []
    if large:
        notes.append(f"files over {MAX_TEXT_BYTES // 1_000_000} MB, not read or changed: {show_paths(large)}")
    if unread := [path for path in binary if path not in large]:
        notes.append(f"binary files, not read: {show_paths(unread)}")
    if links:
        notes.append(f"symbolic links, kept and not followed: {show_paths(links)}")
    return TreeSummary(len(files), sum(sizes.values()), tuple(name for name, _ in lines.most_common()), tuple(notes))


def read_objects(git: Git, ids: Iterable[str]) -> list[bytes]:
    """Return the contents of objects, read by one process."""
    object_ids = list(ids)
    if not object_ids:
        return []
    output = git.run("cat-file", "--batch", "--buffer", data="".join(f"{name}\n" for name in object_ids).encode())
    contents, at = [], 0
    for name in object_ids:
        end = output.index(b"\n", at)
        fields = output[at:end].split()
        if len(fields) != 3:
            raise RepositoryRefused(f"object {name} is missing: the repository is damaged")
        at = end + 1 + int(fields[2]) + 1
        contents.append(output[end + 1 : at - 1])
    return contents


def _count_lines(git: Git, commit: str) -> Iterable[tuple[str, int | None]]:
    """Yield each file with its number of lines, or None for a binary one."""
    empty = git.read("hash-object", "-t", "tree", "--stdin")
    output = git.run("diff-tree", "-r", "-z", "--numstat", "--no-renames", empty, commit)
    for record in output.split(b"\0"):
        if record:
            added, _, path = record.split(b"\t", 2)
            yield os.fsdecode(path), None if added == b"-" else int(added)


def _find_lfs_files(files: Sequence[TreeEntry], read: Callable[[Iterable[str]], Sequence[bytes]]) -> list[str]:
    """Return the files that are pointers to others; a pointer without an attribute is an ordinary file."""
    rules = [entry.id for entry in files if PurePosixPath(entry.path).name == ".gitattributes" and not entry.is_link]
    if not any(b"filter=lfs" in content for content in read(dict.fromkeys(rules))):
        return []
    small = [entry for entry in files if entry.size in _POINTER_BYTES and not entry.is_link]
    contents = read([entry.id for entry in small])
    pairs = zip(small, contents, strict=True)
    return [entry.path for entry, content in pairs if content.startswith(_LFS_POINTER)]


def _is_permitted(path: str) -> bool:
    """Return whether a path is text and stays in the tree; Git itself refuses other spellings of `.git`."""
    parts = path.split("/")
    is_text = not any("\ud800" <= character <= "\udfff" for character in path)
    return is_text and not any(part in ("", ".", "..") or part.casefold() == ".git" for part in parts)
