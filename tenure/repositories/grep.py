"""List the files of a workspace, and search them for a text or a regular expression.

Git searches: its expressions are those of Perl, which models write, in a process of its own that is ended after some
seconds, so that an expression of a stranger cannot hold this process.
"""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tenure.algorithms.coding.code_hits import divide_room
from tenure.repositories.errors import RepositoryUnavailable
from tenure.repositories.git import Git, GitFailed
from tenure.repositories.tree import MAX_TEXT_BYTES

MAX_SECONDS: Final = 20.0
"""Time of one search; 5,000 files take less than a second."""
MAX_SHOWN_FILES: Final = 30
MAX_SHOWN_LINES: Final = 40
"""Lines of a search that are shown, of each file an equal share: of 27 recorded searches three found more, and twelve
more than ten in one file."""
# Records of `-z`: path, NUL, number of lines; and path, NUL, number of a line, NUL, the line
_COUNT: Final = re.compile(rb"([^\0]+)\0(\d+)\n")
_LINE: Final = re.compile(rb"([^\0]+)\0(\d+)\0([^\n]*)\n?")


class LineSearchRefused(Exception):
    """An expression that cannot be searched for; the message says why."""


class FoundLines(NamedTuple):
    """Lines of a file that match."""

    path: str
    total: int
    """Number of its lines that match."""
    lines: tuple[tuple[int, str], ...]
    """Numbers and texts of the first ones, as many as are shown; empty for a file behind those."""


def list_state(git: Git) -> list[tuple[str, str]]:
    """Return the paths and the hashes of the regular files of a workspace, as its index has them."""
    files = []
    for record in git.run("ls-files", "--stage", "-z").split(b"\0"):
        facts, _, name = record.partition(b"\t")
        if facts[:3] == b"100":
            files.append((os.fsdecode(name), facts.split()[1].decode("ascii")))
    return files


def search_lines(
    git: Git, query: str, *, regex: bool, choose: Callable[[Sequence[str]], Sequence[str]]
) -> tuple[FoundLines, ...]:
    """Return the lines of the files of a workspace that contain a text or match a regular expression.

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
    grep = ("grep", "--no-color", "-I", "-z", "-P" if regex else "-F", "--full-name")
    counts = {os.fsdecode(path): int(count) for path, count in _COUNT.findall(_run(git, *grep, "-c", "-e", query))}
    paths = choose(tuple(counts))
    folder = git.work_tree or Path()
    searched = [path for path in paths[:MAX_SHOWN_FILES] if _is_small(folder / path)]
    shares = dict(zip(searched, divide_room([counts[path] for path in searched], MAX_SHOWN_LINES), strict=True))
    lines: dict[str, list[tuple[int, str]]] = {path: [] for path in paths}
    if searched:
        output = _run(git, *grep, "-n", "-m", str(MAX_SHOWN_LINES), "-e", query, "--", *searched)
        for name, number, text in _LINE.findall(output):
            path = os.fsdecode(name)
            if len(lines[path]) < shares[path]:
                lines[path].append((int(number), text.decode("utf-8", "replace")))
    return tuple(FoundLines(path, counts[path], tuple(lines[path])) for path in paths)


def _run(git: Git, *command: str) -> bytes:
    try:
        return git.run(*command, seconds=MAX_SECONDS)
    except RepositoryUnavailable as error:
        raise LineSearchRefused(f"the search took more than {MAX_SECONDS:.0f} s: use a simpler expression") from error
    except GitFailed as error:
        if not error.output.strip():
            return b""  # Git fails without a word if nothing matches
        raise LineSearchRefused(f"no valid expression: {error.complaint}") from error


def _is_small(path: Path) -> bool:
    return not path.is_symlink() and path.is_file() and path.stat().st_size <= MAX_TEXT_BYTES
