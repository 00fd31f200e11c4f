"""Write the files of a program to where the person's files are, into a patch, or onto a branch of Git."""

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tenure.contracts.coding.repositories import RepositoryChange
from tenure.contracts.result.result import Result
from tenure.files.opening import FileRefused, open_file
from tenure.files.replacing import replace_file
from tenure.installation import PROGRAM
from tenure.runs.errors import InvalidRequest, TenureError
from tenure.runs.programs.repository import is_server_url

_MARK = "\ufeff".encode()
"""Byte order mark, which the text that a run has read lacks."""
MAX_SUBJECT = 72
"""Maximum length of the first line of a commit's message, as Git's own manual advises (`git help commit`: 50; most
programs cut at 72).
"""


_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false")
"""Options of Git against programs that the configuration of a repository names."""
_NO_QUESTIONS = {"GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
"""Variables of Git against questions, and against fetching objects by a program that the configuration names."""


class _Change(NamedTuple):
    target: Path
    before: bytes | None
    """Present content; None for a new file."""
    after: bytes


class _Repository(NamedTuple):
    """Repository of a person, in which Git starts no hooks, filters and other commands of the repository."""

    folder: Path
    options: tuple[str, ...]

    def run(self, *arguments: str, variables: dict[str, str] | None = None, text: str = "") -> str:
        """Return the output of a command of Git.

        Raises:
            InvalidRequest: Git is not installed.
            TenureError: the command fails; with its own words.
        """
        done = _start_git(self.folder, [*self.options, *arguments], variables, text)
        if done.returncode:
            message = done.stderr.decode(errors="replace").strip() or f"git {arguments[0]} failed"
            raise TenureError(f"nothing is written: {' '.join(message.split())}")
        return done.stdout.decode()


def check_accepted(result: Result) -> None:
    """Check that a run has written a program, and that its tests accept it.

    Raises:
        InvalidRequest: the run has written no program.
        TenureError: the program fails.
    """
    if result.repository:
        _check_change(result, result.repository)
        return
    if not result.files:
        raise InvalidRequest(f"run {result.id} has no program with files to write")
    if result.verification and result.verification.failures:
        failed = result.verification.failures[0]
        raise TenureError(
            f"the program of run {result.id} is not accepted ({failed.test or failed.error}): nothing is written; "
            "--failing writes it nevertheless"
        )


def _check_change(result: Result, change: RepositoryChange) -> None:
    """Check that a run has changed a repository, and that the tests of the project do not fail with it."""
    if not result.patch:
        raise InvalidRequest(f"run {result.id} has changed nothing")
    proof = change.proof
    if proof and (failed := (*proof.broken, *proof.failing)) and proof.verdict in ("failed", "regressed"):
        raise TenureError(
            f"tests fail with the change of run {result.id} ({failed[0].id}): nothing is written; "
            "--failing writes it nevertheless"
        )


def write_files(result: Result, folder: Path | None = None) -> tuple[Path, ...]:
    """Write the files of a program to where the given files came from; return the paths of those that changed.

    Args:
        result: result of the run.
        folder: folder to write into, whose given files are as they were; None for where they came from.

    Raises:
        InvalidRequest: the folder of a new file is not known, a file is outside of it, or is hidden.
        TenureError: a file has changed since the run read it, exists already, or cannot be written. None is changed.
    """
    if result.repository:
        return _apply_patch(result, result.repository, folder)
    changes = [change for change in _plan(result, folder) if change.before != change.after]
    changed: list[_Change] = []
    try:
        for change in changes:
            change.target.parent.mkdir(parents=True, exist_ok=True)
            replace_file(change.target, change.after)
            changed.append(change)
    except OSError as error:
        for change in changed:
            with suppress(OSError):  # the first error is the one that a person has to know
                _restore(change)
        raise TenureError(f"{error.filename} cannot be written ({error.strerror}): no file is changed") from error
    return tuple(change.target for change in changes)


def check_files(result: Result, folder: Path | None = None) -> None:
    """Check that the files can be written, as `write_files` does before it changes any.

    Raises:
        TenureError: as by `write_files`.
    """
    if result.repository:
        _check_patch(result, result.repository, folder)
        return
    for _ in _plan(result, folder):
        pass


def _check_patch(result: Result, change: RepositoryChange, folder: Path | None) -> _Repository:
    """Check that a patch fits the files of its repository, and return it with its top folder.

    Raises:
        InvalidRequest: the folder of the repository is not known, or a file is hidden.
        TenureError: a file that the patch changes is not as in the commit.
    """
    given = _find_repository(change, folder).resolve()
    top = next((inner for inner in (given, *given.parents) if (inner / ".git").exists()), None)
    if top is None:
        raise InvalidRequest(f"{given} has no working copy: --branch NAME commits the change there")
    repository = _open_repository(top)
    root = Path(repository.run("rev-parse", "--show-toplevel").rstrip("\n"))
    if root != top:
        # Otherwise a repository of others could have files written to any folder.
        raise TenureError(f"nothing is written: the configuration of {top} places its files in {root} (core.worktree)")
    paths = [file.path for file in change.files]
    # Results of others can be imported: none of them changes a file that programs read at their start.
    hidden = [path for path in paths if any(part.startswith(".") for part in path.split("/"))]
    if hidden and folder is None:
        raise InvalidRequest(f"{hidden[0]} is hidden and is written only with --to DIR")
    known = [f":(literal,top){file.path}" for file in change.files if file.status != "added"]
    compare = ["diff", "--name-only", "--no-ext-diff", "--no-textconv", change.commit, "--", *known]
    if known and (stale := repository.run(*compare).split("\n")[:-1]):
        raise TenureError(
            f"{', '.join(stale)} not as in commit {change.commit[:12]}: no file is changed; "
            f"`{PROGRAM} apply {result.id} --patch FILE` writes the changes as a patch"
        )
    repository.run("apply", "--check", text=result.patch)
    return repository


def _apply_patch(result: Result, change: RepositoryChange, folder: Path | None) -> tuple[Path, ...]:
    """Carry out a patch in the files of its repository, all of it or nothing; return the changed paths."""
    repository = _check_patch(result, change, folder)
    repository.run("apply", text=result.patch)
    return tuple(repository.folder / file.path for file in change.files)


def _find_repository(change: RepositoryChange, folder: Path | None) -> Path:
    """Return the folder of the repository that a run has worked on.

    Raises:
        InvalidRequest: it is not known, or not there any more.
    """
    if folder is None and is_server_url(change.source.path):
        raise InvalidRequest("the repository is on a server: name the folder of its clone with --to DIR")
    given = folder.resolve() if folder else Path(change.source.path)
    if not given.is_dir():
        raise InvalidRequest(f"{given} is not there any more: name the folder of the repository with --to DIR")
    return given


def _plan(result: Result, folder: Path | None) -> Iterator[_Change]:
    """Yield the changes after a check of each file.

    Raises:
        TenureError: as by `write_files`.
    """
    originals = {source_file.path: source_file for source_file in result.originals}
    root = folder.resolve() if folder else _find_root(result)
    stale: list[str] = []
    for file in result.files:
        original = originals.get(file.path)
        target = Path(original.origin) if original and folder is None else _locate(root, file.path)
        # Results of others can be imported: none of them changes a file that programs read at their start.
        if folder is None and any(part.startswith(".") for part in target.parts):
            raise InvalidRequest(f"{target} is hidden and is written only with --to DIR")
        before, after = _read(target), file.text.encode()
        if before is not None and before.startswith(_MARK):
            after = _MARK + after
        yield _Change(target, before, after)
        expected = original.text.encode() if original else None
        if before != after and (before.removeprefix(_MARK) if before is not None else None) != expected:
            stale.append(str(target))
    if stale:
        raise TenureError(
            f"{', '.join(stale)} not as the run has read it, or new and already there: no file is changed; "
            f"`{PROGRAM} apply {result.id} --patch FILE` writes the changes as a patch"
        )


def _find_root(result: Result) -> Path | None:
    """Return the folder to which the names of the given files are relative; None if there is not one."""
    roots = {
        Path(original.origin.removesuffix(f"/{original.path}") or "/")
        for original in result.originals
        if original.origin.endswith(f"/{original.path}")
    }
    return roots.pop() if len(roots) == 1 else None


def _locate(root: Path | None, name: str) -> Path:
    """Return the path of a file in a folder.

    Raises:
        InvalidRequest: there is no folder, or the file is outside of it.
    """
    if root is None:
        raise InvalidRequest(f"it is not known where the new file {name} belongs: name its folder with --to DIR")
    target = (root / name).resolve()
    if not target.is_relative_to(root):
        raise InvalidRequest(f"{name} leads out of {root} and is not written")
    return target


def _read(path: Path) -> bytes | None:
    """Return the content of a file; None if there is none.

    Raises:
        TenureError: it is no readable file.
    """
    try:
        with open_file(path) as opened:
            return opened.file.read()
    except FileNotFoundError:
        return None
    except FileRefused as error:
        raise TenureError(f"{path} {error.reason}: no file is changed") from error
    except OSError as error:
        raise TenureError(f"{path} cannot be read ({error.strerror}): no file is changed") from error


def _restore(change: _Change) -> None:
    if change.before is None:
        change.target.unlink()
    else:
        replace_file(change.target, change.before)


def commit_to_branch(result: Result, branch: str, folder: Path | None = None) -> str:
    """Commit the files of a program to a new branch, from the commit that is checked out; return its id.

    The working tree, the index and hooks are not touched.

    Raises:
        InvalidRequest: the folder of the files is not known.
        TenureError: the folder is in no repository, the branch exists, or the files of the commit are not those that
            the run has read.
    """
    if change := result.repository:
        # A bare repository has no top folder, and takes a branch as well.
        repository, base, prefix = _open_repository(_find_repository(change, folder)), change.commit, ""
    else:
        found = folder.resolve() if folder else _find_root(result)
        if found is None:
            raise InvalidRequest(
                "it is not known to which repository the files belong: name their folder with --to DIR"
            )
        repository, base = _open_repository(found), "HEAD"
        prefix = repository.run("rev-parse", "--show-prefix").rstrip("\n")
    with tempfile.TemporaryDirectory(prefix="tenure-index-") as scratch:
        index = {"GIT_INDEX_FILE": str(Path(scratch, "index"))}
        repository.run("read-tree", base, variables=index)
        directory = [f"--directory={prefix}"] if prefix else []
        repository.run("apply", "--cached", *directory, variables=index, text=result.patch)
        tree = repository.run("write-tree", variables=index).strip()
    commit = repository.run("commit-tree", tree, "-p", base, "-F", "-", text=write_message(result)).strip()
    repository.run("branch", "--no-track", "--", branch, commit)
    return commit


def write_message(result: Result) -> str:
    """Return a draft of the message of a commit: that of the model, or the request, the approach and the proof."""
    if result.repository and result.repository.message:
        return f"{result.repository.message.strip()}\n\nTenure-Run: {result.id}\n"
    question = " ".join(result.question.split())
    subject = question if len(question) <= MAX_SUBJECT else f"{question[: MAX_SUBJECT - 1].rsplit(' ', 1)[0]}…"
    accepted = next((attempt for attempt in reversed(result.attempts) if not attempt.error), None)
    proof = result.verification
    paragraphs = (
        subject,
        question if subject != question else "",
        accepted.approach if accepted else "",
        f"{proof.passed} of {proof.total} tests passed in the sandbox." if proof and proof.total else "",
    )
    return "\n\n".join(filter(None, paragraphs)) + f"\n\nTenure-Run: {result.id}\n"


def _open_repository(folder: Path) -> _Repository:
    """Return a repository whose filters, such as `filter.lfs.clean`, have no value: a file is used as it is.

    Raises:
        InvalidRequest: Git is not installed.
    """
    listed = _start_git(folder, ["config", "--null", "--name-only", "--get-regexp", r"^filter\."]).stdout
    filters = dict.fromkeys(listed.decode(errors="surrogateescape").split("\0")[:-1])
    return _Repository(folder, (*_QUIET, *(option for name in filters for option in ("-c", f"{name}="))))


def _start_git(
    folder: Path, arguments: Sequence[str], variables: dict[str, str] | None = None, text: str = ""
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["git", "-C", str(folder), *arguments],
            input=text.encode(),
            capture_output=True,
            env=os.environ | _NO_QUESTIONS | (variables or {}),
            check=False,
        )
    except FileNotFoundError as error:
        raise InvalidRequest("--branch needs the program `git`, which is not installed") from error
