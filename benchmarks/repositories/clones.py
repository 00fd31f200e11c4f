"""Read clones with Git: commits, differences, and the files of a commit."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ENVIRONMENT: Final = {
    "PATH": os.environ.get("PATH", os.defpath),
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C.UTF-8",
}
_AUTHOR: Final = {
    **{f"GIT_{who}_NAME": "base" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "base@localhost" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_DATE": "2000-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")},
}
"""The same for all, so that the commit of a base has the same hash whenever it is made."""
_RECORD: Final = "\x1e"
_FIELD: Final = "\x1f"


class PatchRefused(Exception):
    """A patch does not apply to the files."""


@dataclass(frozen=True)
class Commit:
    """A commit of a history."""

    hash: str
    parents: tuple[str, ...]
    author: str
    date: str
    message: str

    @property
    def subject(self) -> str:
        """First line of the message."""
        return self.message.partition("\n")[0]


@dataclass(frozen=True)
class FileChange:
    """A file that a commit changes."""

    path: str
    added: int
    removed: int


def run_git(*arguments: str, folder: Path, stdin: bytes | None = None, **variables: str) -> bytes:
    """Run Git without the configuration of a user, and return its output.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    environment = {**_ENVIRONMENT, "GIT_CEILING_DIRECTORIES": str(folder.parent), **variables}
    command = ["git", "-c", "core.hooksPath=/dev/null", "-c", "safe.directory=*", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, input=stdin, capture_output=True, check=True).stdout


def find_clone(folder: Path, repository: str) -> Path:
    """Return the clone of a repository in a folder: `owner+name`, `owner__name` or `name`, bare or not.

    Raises:
        FileNotFoundError: it does not exist.
    """
    owner, name = repository.split("/")
    for base in (f"{owner}+{name}", f"{owner}__{name}", name):
        for place in (folder / base / "repo", folder / base / ".git", folder / base, folder / f"{base}.git"):
            if (place / "objects").is_dir():
                return place
    raise FileNotFoundError(f"no clone of {repository} in {folder}")


def iterate_commits(clone: Path) -> Iterator[Commit]:
    """Yield the commits of the default branch, the newest first."""
    form = _FIELD.join(("%H", "%P", "%an <%ae>", "%cI", "%B")) + _RECORD
    log = run_git("log", "--date-order", f"--format={form}", "HEAD", folder=clone).decode(errors="replace")
    for record in log.split(_RECORD):
        if record.strip():
            commit, parents, author, date, message = record.lstrip("\n").split(_FIELD)
            yield Commit(commit, tuple(parents.split()), author, date, message.strip())


def list_changes(clone: Path, old: str, new: str) -> tuple[FileChange, ...]:
    """Return the files that differ between two commits; binary files have no lines."""
    lines = run_git("diff", "--numstat", "--no-renames", "-z", old, new, folder=clone).decode(errors="replace")
    rows = (line.split("\t", 2) for line in lines.split("\0") if line)
    return tuple(
        FileChange(path, int(added) if added != "-" else 0, int(removed) if removed != "-" else 0)
        for added, removed, path in rows
    )


def build_diff(clone: Path, old: str, new: str, paths: Sequence[str]) -> str:
    """Return the patch of some files between two commits; empty for no files.

    Raises:
        UnicodeDecodeError: the patch is no text.
    """
    if not paths:
        return ""
    return run_git("diff", "--no-renames", "--full-index", "--binary", old, new, "--", *paths, folder=clone).decode()


def check_out(clone: Path, commit: str, target: Path) -> None:
    """Write the files of a commit to a new folder, without a history."""
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as temporary:
        index = str(Path(temporary) / "index")
        run_git("read-tree", commit, folder=clone, GIT_DIR=str(clone), GIT_INDEX_FILE=index)
        run_git(
            "checkout-index", "--all", f"--prefix={target}/", folder=clone, GIT_DIR=str(clone), GIT_INDEX_FILE=index,
            GIT_WORK_TREE=str(target),
        )  # fmt: skip


def make_base(clone: Path, commit: str, target: Path) -> str:
    """Write a repository whose only commit has the files of a commit, and return its hash.

    A process that works in it cannot read the history after the commit.
    """
    check_out(clone, commit, target)
    run_git("init", "--quiet", "--initial-branch=main", folder=target)
    return record_commit(target, "base")


def record_commit(folder: Path, message: str) -> str:
    """Commit all files of a work tree, and return the hash, which is the same whenever it is made."""
    run_git("add", "--all", "--force", folder=folder)
    options = ("--quiet", "--allow-empty", f"--message={message}")
    run_git("commit", *options, folder=folder, stdin=None, **_AUTHOR)
    return run_git("rev-parse", "HEAD", folder=folder).decode().strip()


def apply_patch(folder: Path, patch: str) -> None:
    """Apply a patch to files.

    Raises:
        PatchRefused: it does not apply; nothing was changed.
    """
    if not patch.strip():
        return
    text = patch if patch.endswith("\n") else patch + "\n"
    try:
        run_git("apply", "--whitespace=nowarn", "-", folder=folder, stdin=text.encode())
    except subprocess.CalledProcessError as error:
        raise PatchRefused(error.stderr.decode(errors="replace").strip()[:500]) from None


def list_patched_files(patch: str) -> tuple[str, ...]:
    """Return the paths that a patch of Git names."""
    if not patch.strip():
        return ()
    with tempfile.TemporaryDirectory() as temporary:
        lines = run_git("apply", "--numstat", "-z", "-", folder=Path(temporary), stdin=patch.encode()).decode()
    return tuple(line.split("\t", 2)[2] for line in lines.split("\0") if line)


def restore_files(clone: Path, commit: str, folder: Path, paths: Sequence[str]) -> None:
    """Restore files from a commit; remove those that the commit lacks."""
    with tempfile.TemporaryDirectory() as temporary:
        base = Path(temporary) / "base"
        check_out(clone, commit, base)
        for path in paths:
            (folder / path).unlink(missing_ok=True)
            if (base / path).is_file():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(base / path, folder / path)
