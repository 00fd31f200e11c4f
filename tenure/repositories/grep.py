"""List the files of a workspace, and search them for a text or a regular expression.

Git searches: its expressions are those of POSIX, in a process of its own that is ended after some seconds, so that an
expression of a stranger cannot hold this process.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tenure.repositories.errors import RepositoryUnavailable
from tenure.repositories.git import Git, GitFailed, split_records
from tenure.repositories.tree import MAX_TEXT_BYTES

MAX_SECONDS: Final = 20.0
"""Time of one search; 5,000 files take less than a second."""
MAX_SHOWN_FILES: Final = 60
MAX_SHOWN_LINES: Final = 10
"""Lines of one file that are shown."""


class LineSearchRefused(Exception):
    """An expression that cannot be searched for; the message says why."""


class LineHit(NamedTuple):
    """A line that matches."""

    path: str
    line: int
    text: str


class FoundLines(NamedTuple):
    """Lines that match, and the number of files with such lines."""

    hits: tuple[LineHit, ...]
    files: int


def list_state(git: Git) -> list[tuple[str, str]]:
    """Return the paths and the hashes of the regular files of a workspace, as its index has them."""
    files = []
    for record in git.run("ls-files", "--stage", "-z").split(b"\0"):
        facts, _, name = record.partition(b"\t")
        if facts[:3] == b"100":
            files.append((os.fsdecode(name), facts.split()[1].decode("ascii")))
    return files


def search_lines(git: Git, query: str, *, regex: bool, choose: Callable[[Sequence[str]], Sequence[str]]) -> FoundLines:
    """Return the lines of the files of a workspace that contain a text or match an extended regular expression.

    Args:
        git: Git with the index and the files of the workspace.
        query: text or expression; both regard case.
        regex: whether it is an expression.
        choose: function that selects and orders paths of files with matches; lines of the first ones are returned.

    Raises:
        LineSearchRefused: the expression is invalid, or takes too long.
    """
    if "\n" in query or "\0" in query:
        raise LineSearchRefused("a search is for text within a line: search for one of the lines")
    # `-I` leaves binary files out, `-z` ends names with NUL, and `--full-name` counts them from the top folder.
    grep = ("grep", "--no-color", "-I", "-z", "-E" if regex else "-F", "--full-name")
    paths = choose(split_records(_run(git, *grep, "-l", "-e", query)))
    folder = git.work_tree or Path()
    searched = [path for path in paths[:MAX_SHOWN_FILES] if _is_small(folder / path)]
    if not searched:
        return FoundLines((), len(paths))
    output = _run(git, *grep, "-n", "-m", str(MAX_SHOWN_LINES), "-e", query, "--", *searched)
    return FoundLines(tuple(_parse(output)), len(paths))


def _run(git: Git, *command: str) -> bytes:
    try:
        return git.run(*command, seconds=MAX_SECONDS)
    except RepositoryUnavailable as error:
        raise LineSearchRefused(f"the search took more than {MAX_SECONDS:.0f} s: use a simpler expression") from error
    except GitFailed as error:
        if not error.output.strip():
            return b""  # Git fails without a word if nothing matches
        raise LineSearchRefused(f"no valid expression: {error.complaint}") from error


def _parse(output: bytes) -> list[LineHit]:
    """Return the records of an output: path and number, each ended by NUL, and the line."""
    hits, at = [], 0
    while at < len(output):
        path_end = output.index(b"\0", at)
        number_end = output.index(b"\0", path_end + 1)
        line_end = output.find(b"\n", number_end)
        line_end = len(output) if line_end < 0 else line_end
        text = output[number_end + 1 : line_end].decode("utf-8", "replace")
        hits.append(LineHit(os.fsdecode(output[at:path_end]), int(output[path_end + 1 : number_end]), text))
        at = line_end + 1
    return hits


def _is_small(path: Path) -> bool:
    return not path.is_symlink() and path.is_file() and path.stat().st_size <= MAX_TEXT_BYTES
