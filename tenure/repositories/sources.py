"""Find the repository at a path, and open it for reading without its configuration.

A folder of Git that Tenure has created takes the references and objects of the repository as they are. So no command
that the repository's configuration names is ever started, whatever Git does with the objects.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tenure.repositories.errors import RepositoryRefused, RepositoryUnavailable
from tenure.repositories.git import Git, GitFailed, initialize, show_paths, split_records

MAX_ALTERNATES: Final = 20
# The note on uncommitted changes is not worth a longer wait
_STATUS_SECONDS: Final = 20.0
_MAX_POINTER_BYTES: Final = 4_096
"""Maximum size of the small files that lead to other folders; a path has at most 4,096 bytes."""

FolderCheck = Callable[[Path], None]
"""Function that refuses a folder, outside the first one, that may not be read."""


@dataclass(frozen=True)
class LocalRepository:
    """Folders of a repository on this machine."""

    top: Path
    """Folder that the person named, without links."""
    git_folder: Path
    """Folder with `HEAD` and the index."""
    common_folder: Path
    """Folder with references and objects; another one than `git_folder` for a linked working copy."""
    alternates: tuple[Path, ...]
    """Folders of objects that it borrows from other repositories."""
    object_format: str
    is_bare: bool
    is_linked: bool
    """Whether the top folder is a working copy that its repository elsewhere names, as `git worktree add` makes it."""

    @property
    def outside(self) -> tuple[Path, ...]:
        """Folders that it needs, that are not in the named one, and that have not agreed to be used from there.

        A file `.git` may name any repository, but only the user of that one can let it name the working copy in turn.
        """
        own = () if self.is_linked else (self.git_folder, self.common_folder)
        needed = dict.fromkeys((*own, *self.alternates))
        return tuple(folder for folder in needed if not folder.is_relative_to(self.top))


def locate_repository(path: Path) -> LocalRepository:
    """Return the folders of the repository whose top folder, or bare repository, is at an absolute path.

    Raises:
        RepositoryRefused: it does not exist, or has a form that is not supported.
    """
    if not path.is_dir():
        raise RepositoryRefused(f"{path} is not a folder")
    top = path.resolve()
    entry = top / ".git"
    if entry.is_dir():
        git_folder = entry.resolve()
    elif entry.is_file():
        git_folder = _follow_pointer(entry, "gitdir: ")
    elif (top / "HEAD").is_file() and (top / "objects").is_dir():
        git_folder = top
    else:
        above = next((folder for folder in top.parents if (folder / ".git").exists()), None)
        hint = f": its repository is {above}" if above else ""
        raise RepositoryRefused(f"{path} is not the top folder of a Git repository{hint}")
    shared = git_folder / "commondir"
    common_folder = _follow_pointer(shared, "") if shared.is_file() else git_folder
    objects = common_folder / "objects"
    if not objects.is_dir() or not (git_folder / "HEAD").exists():
        raise RepositoryRefused(f"{path} is a damaged Git repository: it has no objects or no HEAD")
    if (common_folder / "reftable").is_dir():
        raise RepositoryRefused(f"{path} stores its references as a reftable: `git refs migrate --ref-format=files`")
    return LocalRepository(
        top,
        git_folder,
        common_folder,
        tuple(_list_alternates(objects)),
        _read_object_format(common_folder / "config"),
        git_folder == top,
        _is_linked(git_folder, common_folder, entry),
    )


@contextmanager
def open_source(repository: LocalRepository, check: FolderCheck) -> Iterator[Git]:
    """Yield a folder of Git that reads a repository without its configuration.

    Raises:
        RepositoryRefused: it needs a folder that may not be read, or links to files elsewhere.
    """
    for folder in repository.outside:
        check(folder)
    objects = repository.common_folder / "objects"
    if objects.is_symlink():
        check(objects.resolve())
    for folder in (objects, *repository.alternates):
        _refuse_links(folder)
    with TemporaryDirectory(prefix="tenure-git-") as temporary:
        folder = Path(temporary)
        git = initialize(folder, repository.object_format)
        for name, origin in (
            ("HEAD", repository.git_folder / "HEAD"),
            ("packed-refs", repository.common_folder / "packed-refs"),
            ("shallow", repository.common_folder / "shallow"),
        ):
            if origin.is_file() and not origin.is_symlink():
                (folder / name).write_bytes(origin.read_bytes())
        for name in ("tags", "heads"):
            (folder / "refs" / name).rmdir()
        (folder / "refs").rmdir()
        (folder / "refs").symlink_to(repository.common_folder / "refs")
        yield Git(folder, git.objects, (objects, *repository.alternates))


def resolve_revision(git: Git, revision: str, name: str) -> str:
    """Return the full hash of a commit.

    Raises:
        RepositoryRefused: there is no such commit, or the repository is empty.
    """
    try:
        return git.read("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except (GitFailed, ValueError):
        pass
    try:
        git.run("rev-parse", "--verify", "--quiet", "HEAD")
    except GitFailed:
        if not git.run("for-each-ref", "--count=1"):
            raise RepositoryRefused(f"{name} is an empty repository: it has no commits") from None
    raise RepositoryRefused(f"{name} has no revision {revision!r}") from None


def find_uncommitted(repository: LocalRepository, source: Git) -> tuple[str, ...]:
    """Return a note about changes of the working copy that are not committed, or none."""
    listed = repository.git_folder / "index"
    if repository.is_bare or not listed.is_file() or listed.is_symlink():
        return ()
    index = source.folder / "index"
    index.write_bytes(listed.read_bytes())
    # Git compares contents of files that are as young as the index.
    status = listed.stat()
    os.utime(index, ns=(status.st_atime_ns, status.st_mtime_ns))
    git = source.bind(index=index, work_tree=repository.top)
    try:
        output = git.run(
            "status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all", seconds=_STATUS_SECONDS
        )
    except (GitFailed, RepositoryUnavailable) as error:
        return (f"whether there are changes that are not committed could not be found: {error}",)
    paths = [record[3:] for record in split_records(output)]
    return (f"changes that are not committed are not part of the work: {show_paths(paths)}",) if paths else ()


def _follow_pointer(file: Path, prefix: str) -> Path:
    """Return the folder that a small file names."""
    with file.open("rb") as opened:
        text = opened.read(_MAX_POINTER_BYTES).decode("utf-8", "surrogateescape").strip()
    if not text.startswith(prefix) or "\0" in text:
        raise RepositoryRefused(f"{file} does not name a folder of Git")
    target = (file.parent / text.removeprefix(prefix)).resolve()
    if not target.is_dir():
        raise RepositoryRefused(f"{file} names a folder that does not exist: {target}")
    return target


def _is_linked(git_folder: Path, common_folder: Path, entry: Path) -> bool:
    """Return whether a folder below `.git/worktrees` of a repository names the file `.git` of a working copy."""
    back = git_folder / "gitdir"
    if git_folder.parent != common_folder / "worktrees" or back.is_symlink() or not back.is_file():
        return False
    with back.open("rb") as opened:
        named = os.fsdecode(opened.read(_MAX_POINTER_BYTES)).strip()
    # Relative since Git 2.48 with `worktree.useRelativePaths`.
    return "\0" not in named and (git_folder / named).parent.resolve() / entry.name == entry


def _list_alternates(objects: Path) -> Iterator[Path]:
    """Yield the folders of objects that a repository borrows, and those that they borrow."""
    known_folders, open_folders = {objects.resolve()}, [objects]
    while open_folders:
        folder = open_folders.pop()
        listed = folder / "info" / "alternates"
        if not listed.is_file():
            continue
        for line in listed.read_bytes().splitlines():
            text = os.fsdecode(line).strip()
            if not text or text.startswith("#"):
                continue
            borrowed = (folder / text.strip('"')).resolve()
            if borrowed in known_folders or not borrowed.is_dir():
                continue
            if len(known_folders) > MAX_ALTERNATES:
                raise RepositoryRefused(f"{objects} borrows from more than {MAX_ALTERNATES} repositories")
            known_folders.add(borrowed)
            open_folders.append(borrowed)
            yield borrowed


def _read_object_format(config: Path) -> str:
    """Return the hash function of a repository, from its configuration, which Git itself never reads."""
    section = ""
    text = config.read_bytes().decode("utf-8", "replace") if config.is_file() else ""
    for line in map(str.strip, text.casefold().splitlines()):
        if line.startswith("["):
            section = line.strip("[] ")
        elif section == "extensions" and line.partition("=")[0].strip() == "objectformat":
            return "sha256" if line.partition("=")[2].strip() == "sha256" else "sha1"
    return "sha1"


def _refuse_links(objects: Path) -> None:
    """Refuse objects that are links: they could lead to a repository that may not be read."""
    for folder in (objects, *(inner for inner in objects.iterdir() if not inner.is_symlink() and inner.is_dir())):
        for path in folder.iterdir():
            mode = path.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise RepositoryRefused(f"{path} is a link: copy the repository with `git clone --no-hardlinks`")
