"""Show files of a workspace: lines with their numbers, and lists of files."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tenure.contracts.coding.repositories import MAX_OBSERVATION_CHARS, ActionResult
from tenure.files.ignore_rules import IgnoreRules
from tenure.files.opening import FileRefused
from tenure.repositories.git import Git, split_records
from tenure.repositories.source_text import number_lines, read_text

_MAX_READ_CHARS: Final = 24_000
"""Length of what a request shows of a file, about 500 lines: more than of a search, since its lines are asked for."""
_MAX_LINE_CHARS: Final = 1_000
"""Length from which a line is cut; longer ones are generated."""
# Signs of a pattern such as `src/**/*.py`; without one it names a folder
_GLOB: Final = frozenset("*?[{")


def show_lines(folder: Path, name: str, first: int, last: int | None) -> ActionResult:
    """Return lines of a file with their numbers.

    Raises:
        ActionRefused: the file cannot be read as text.
    """
    lines = read_text(folder, name).lines
    total = len(lines)
    if total == 0:
        return ActionResult(text=f"{name} is empty", summary=f"read {name}: it is empty")
    if first > total or (last is not None and last < first):
        text = f"{name} has {total:,} lines: there are no lines {first}–{last or 'end'}"
        return ActionResult(text=text, summary=f"read {name}: no such lines", failed=True)
    shown_lines: list[str] = []
    room = _MAX_READ_CHARS - 200
    for line in lines[first - 1 : last]:
        cut = line if len(line) <= _MAX_LINE_CHARS else f"{line[:_MAX_LINE_CHARS]}… ({len(line):,} characters)"
        room -= len(cut) + 7
        if room < 0:
            break
        shown_lines.append(_escape(cut))
    end = first + len(shown_lines) - 1
    more = f"; lines {end + 1}–{min(last or total, total)} did not fit" if end < min(last or total, total) else ""
    head = f"{name}, lines {first}–{end} of {total:,}{more}"
    return ActionResult(text=f"{head}\n{number_lines(shown_lines, first)}", summary=f"read {name}:{first}–{end}")


def list_files(git: Git, pattern: str) -> ActionResult:
    """Return the files of a folder, or those that a pattern matches; Git's rules leave out ignored ones."""
    paths = list_paths(git)
    pattern = pattern.strip().removeprefix("./")
    name = pattern or "top folder"
    if _GLOB.isdisjoint(pattern):
        entries = _list_folder(paths, pattern.rstrip("/"))
    else:
        try:
            entries = match_paths(paths, pattern)
        except FileRefused:
            entries = []
    if not entries:
        return ActionResult(text=f"no file matches {name}", summary=f"list {name}: nothing", failed=True)
    fitting: list[str] = []
    room = MAX_OBSERVATION_CHARS - 200
    for line in map(_escape, entries):
        room -= len(line) + 1
        if room < 0:
            break
        fitting.append(line)
    more = (
        f"\n… {len(entries) - len(fitting):,} more: name a folder or a narrower pattern"
        if len(fitting) < len(entries)
        else ""
    )
    text = "\n".join((f"{name}: {len(entries):,} entries", *fitting)) + more
    return ActionResult(text=text, summary=f"list {name}: {len(entries):,} entries")


def list_paths(git: Git) -> list[str]:
    """Return the paths of all files of a workspace that Git does not ignore, sorted."""
    output = git.run("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
    return sorted(split_records(output))


def match_paths(paths: Sequence[str], pattern: str) -> list[str]:
    """Return the paths that a glob pattern matches; one without a slash is matched with names in every folder.

    Raises:
        FileRefused: the pattern is too long.
    """
    rules = IgnoreRules.from_glob(pattern)
    return [path for path in paths if rules.decide(path.split("/"), is_folder=False)]


def _list_folder(paths: Sequence[str], folder: str) -> list[str]:
    """Return the files and folders in a folder; folders first, with the number of their files."""
    prefix = f"{folder}/" if folder else ""
    inner = [path.removeprefix(prefix) for path in paths if path.startswith(prefix)]
    folders = Counter(path.partition("/")[0] for path in inner if "/" in path)
    files = [f"{prefix}{path}" for path in inner if "/" not in path]
    if not inner and folder in paths:
        return [folder]
    return [*(f"{prefix}{name}/ ({count:,} files)" for name, count in sorted(folders.items())), *files]


def _escape(text: str) -> str:
    """Return a text whose control characters, apart from tabs, are escaped."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter == "\t" or letter == "\u00a0" else f"\\x{ord(letter):02x}"
        for letter in text
    )
