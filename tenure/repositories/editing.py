"""Change files of a workspace: all edits of a request, or none.

An edit replaces lines that occur exactly once, so that it can hit no other place than the meant one. The message of an
edit that does not fit shows how often the lines occur, or similar lines of the file.
"""

import difflib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from tenure.contracts.coding.repositories import MAX_OBSERVATION_CHARS, FileEdit, Replacement
from tenure.files.replacing import replace_file
from tenure.repositories.changes import list_ignored
from tenure.repositories.git import Git
from tenure.repositories.source_text import (
    ActionRefused,
    SourceText,
    decode_text,
    is_file,
    locate_file,
    number_lines,
    read_text,
)
from tenure.repositories.tree import MAX_TEXT_BYTES

_CONTEXT: Final = 3
"""Lines that are shown before and after changed ones."""
_MAX_EXCERPT_LINES: Final = 30
_MAX_MATCHES: Final = 5
_MAX_COMPARED_LINES: Final = 5_000
"""Lines of a file among which the most similar one is searched; more would take seconds."""
_MIN_SIMILARITY: Final = 0.6
"""Similarity from which a line is shown as the one that may be meant; `return a + b` and `return a - b` have 0.92."""
_NUMBERED: Final = re.compile(r"^ *\d+\|", re.MULTILINE)
"""Beginning of a line as this program shows it, such as `12|`."""
# An end of a word, or a place behind a character of none, such as a bracket
_WORD_END: Final = re.compile(r"\b|(?<=\W)")
_SYNTAX_SECONDS: Final = 20.0
_CHECK: Final = """
import sys, warnings
warnings.simplefilter("ignore")
for name in sys.argv[1:]:
    try:
        with open(name, "rb") as file:
            compile(file.read(), name, "exec", dont_inherit=True)
    except SyntaxError as error:
        print(f"{name}\\0{error.lineno or 0}\\0{error.msg}", end="\\0\\n")
    except (ValueError, RecursionError, MemoryError) as error:
        print(f"{name}\\0000\\0{type(error).__name__}", end="\\0\\n")
"""
"""Program that checks the syntax of files without executing them, in a process that they may crash."""


class EditsRefused(ActionRefused):
    """Edits that do not fit; the message has all reasons.

    Args:
        problems: reasons, by the index of the edit.
    """

    def __init__(self, problems: Mapping[int, str]) -> None:
        super().__init__("\n\n".join(problems.values()))
        self.problems = problems


@dataclass
class PlannedEdits:
    """Changes that fit."""

    contents: dict[str, bytes | None] = field(default_factory=dict)
    """Next contents of files; None for a file that is deleted."""
    changed: list[str] = field(default_factory=list)
    created: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)
    """Changed lines of each edit, such as `lines 10-12, +3 -1`."""

    @property
    def summary(self) -> str:
        """Changes in a line."""
        kinds = (("edited", self.changed), ("created", self.created), ("deleted", self.deleted))
        return "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds if names)


def plan_edits(git: Git, folder: Path, edits: Sequence[FileEdit]) -> PlannedEdits:
    """Return the changes of files, if all of them fit; change none.

    Args:
        git: Git with the index and the files of the workspace.
        folder: files of the workspace.
        edits: changes.

    Raises:
        EditsRefused: a change does not fit.
    """
    planned: dict[str, SourceText | None] = {}
    result = PlannedEdits()
    problems: dict[int, str] = {}
    for number, edit in enumerate(edits):
        try:
            _plan(folder, edit, planned, result)
        except ActionRefused as error:
            problems[number] = str(error)
    last = {edit.path: number for number, edit in enumerate(edits)}
    new = [name for name, text in planned.items() if text is not None and not (folder / name).exists()]
    for name in list_ignored(git, new) if new else ():
        problems[last[name]] = f"{name} is left out of patches by the ignore rules of the repository"
    for name, text in planned.items():
        try:
            if text is not None:
                result.contents[name] = _encode(name, text)
            elif (folder / name).exists():  # and not only written and deleted again by these edits
                result.contents[name] = None
        except ActionRefused as error:
            problems[last[name]] = f"{name}: {error}"
    if problems:
        raise EditsRefused(problems)
    return result


def write_edits(folder: Path, planned: PlannedEdits) -> None:
    """Write planned changes."""
    for name, content in planned.contents.items():
        path = folder / name
        if content is None:
            path.unlink()
            for above in path.parents:
                if above == folder or any(above.iterdir()):
                    break
                above.rmdir()
    for name, content in planned.contents.items():
        if content is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, content)


def find_syntax_errors(folder: Path, names: Sequence[str]) -> list[str]:
    """Return the syntax errors of the Python files among some files, each in a line."""
    python = [name for name in names if PurePosixPath(name).suffix in (".py", ".pyi") and is_file(folder / name)]
    if not python:
        return []
    command = [sys.executable, "-I", "-S", "-c", _CHECK, *(f"./{name}" for name in python)]
    version = ".".join(map(str, sys.version_info[:2]))
    try:
        checked = subprocess.run(
            command, cwd=folder, env={}, capture_output=True, timeout=_SYNTAX_SECONDS, check=True
        ).stdout
    except subprocess.SubprocessError:
        return [f"the syntax of {', '.join(python)} could not be checked"]
    errors = []
    for record in checked.decode("utf-8", "replace").split("\0\n"):
        if record:
            name, line, message = record.split("\0")
            errors.append(f"{name.removeprefix('./')}, line {line}: {message} (syntax of Python {version})")
    return errors


def _plan(folder: Path, edit: FileEdit, planned: dict[str, SourceText | None], result: PlannedEdits) -> None:
    """Add the next content of a file."""
    name = edit.path
    path = locate_file(folder, name)
    _check_place(folder, path, name)
    if (bool(edit.replacements) + (edit.content is not None) + edit.delete) != 1:
        raise ActionRefused(f"{name}: give either replacements, or a whole content, or delete")
    if name in planned:
        exists, current = planned[name] is not None, planned[name]
    else:
        exists, current = path.exists(), None
    if edit.content is not None:
        _check_text(name, edit.content)
        former = (current or read_text(folder, name)) if exists else None
        given = decode_text(edit.content.encode())
        planned[name] = new = former.replace_all(given.text) if former else given
        if name not in (*result.changed, *result.created):
            (result.changed if former else result.created).append(name)
        counts = _count_changed(former.lines if former else (), new.lines)
        result.outcomes.append(f"{'replaced as a whole' if former else 'new file'}, {counts}")
        return
    if not exists:
        raise ActionRefused(f"there is no file {name}: a new file needs its whole content")
    if edit.delete:
        planned[name] = None
        if name in result.created:
            result.created.remove(name)
        else:
            result.deleted.append(name)
        result.outcomes.append("deleted")
        return
    before = text = current or read_text(folder, name)
    places = []
    # A block without a change, left in by mistake among others: nothing is lost without it.
    replacements = [one for one in edit.replacements if one.search != one.replace]
    if not replacements:
        raise ActionRefused(f"{name}: the replacement changes nothing")
    for replacement in replacements:
        text, lines = _replace(name, text, replacement)
        places.append(lines)
    planned[name] = text
    noun = "line" if len(places) == 1 and "-" not in places[0] else "lines"
    result.outcomes.append(f"{noun} {', '.join(places)}, {_count_changed(before.lines, text.lines)}")
    if name not in (*result.changed, *result.created):
        result.changed.append(name)


def _check_place(folder: Path, path: Path, name: str) -> None:
    if path.is_dir():
        raise ActionRefused(f"{name} is a folder")
    for above in path.parents:
        if above.exists() and not above.is_dir():
            raise ActionRefused(f"{name} cannot exist: {above.relative_to(folder)} is a file")


def _replace(name: str, text: SourceText, replacement: Replacement) -> tuple[SourceText, str]:
    """Return a text with one replacement, and the numbers of its new lines."""
    search, new = (part.replace("\r\n", "\n") for part in (replacement.search, replacement.replace))
    _check_text(name, new)
    if not search:
        raise ActionRefused(f"{name}: the lines to replace are empty")
    starts = _find_all(text.text, search)
    part = search.removesuffix("\n")
    # The beginning of a long line, such as an entry of a changelog: the rest of the line stays behind the new text.
    if not starts and new and part.strip() and (starts := _find_words(text.text, part)):
        search, new = part, new.removesuffix("\n")
    if len(starts) != 1:
        raise ActionRefused(_explain(name, text, search, starts))
    changed = text.replace(starts[0], starts[0] + len(search), new)
    first = changed.count_lines_before(starts[0])
    last = changed.count_lines_before(starts[0] + len(new))
    # The end of `new` is the beginning of the next line if it ends with a line feed.
    end = max(first, last - new.endswith("\n"))
    return changed, f"{first + 1}-{end + 1}" if end > first else f"{first + 1}"


def _find_words(text: str, part: str) -> list[int]:
    """Return the offsets of all occurrences that end with a word, as `value` does not in `value_of`."""
    return [start for start in _find_all(text, part) if _WORD_END.match(text, start + len(part))]


def _count_changed(before: Sequence[str], after: Sequence[str]) -> str:
    """Return the numbers of added and removed lines; lines that have only moved count as neither."""
    old, new = Counter(before), Counter(after)
    return f"+{(new - old).total()} -{(old - new).total()}"


def _find_all(text: str, search: str) -> list[int]:
    """Return the offsets of all occurrences, also of those that overlap."""
    starts, at = [], text.find(search)
    while at >= 0:
        starts.append(at)
        at = text.find(search, at + 1)
    return starts


def _explain(name: str, text: SourceText, search: str, starts: Sequence[int]) -> str:
    """Return the message for lines that do not occur exactly once."""
    if starts:
        lines = ", ".join(str(text.count_lines_before(start) + 1) for start in starts[: 2 * _MAX_MATCHES])
        return (
            f"{name}: the lines to replace occur {len(starts)} times, in line {lines}: add lines around them until "
            "they occur once"
        )
    if _NUMBERED.search(search) and _NUMBERED.sub("", search) in text.text:
        return f"{name}: the lines to replace begin with line numbers, which are not in the file: leave them out"
    searched = [_squeeze(line) for line in search.strip("\n").split("\n")]
    squeezed = [_squeeze(line) for line in text.lines]
    near = [at for at in range(len(squeezed) - len(searched) + 1) if squeezed[at : at + len(searched)] == searched]
    if near and any(searched):
        excerpts = "\n\n".join(_excerpt(text, at, at + len(searched) - 1, 0) for at in near[:_MAX_MATCHES])
        return f"{name}: the lines to replace do not occur; they differ in white space from these:\n{excerpts}"
    if partial := [at for at in range(len(squeezed) - len(searched) + 1) if _is_part(searched, squeezed[at:])]:
        excerpts = "\n\n".join(_excerpt(text, at, at + len(searched) - 1, 0) for at in partial[:_MAX_MATCHES])
        return f"{name}: the lines to replace are incomplete; give whole lines, which are:\n{excerpts}"
    message = f"{name}: the lines to replace do not occur"
    similar = _find_similar(squeezed, searched)
    if similar is None:
        return message
    return f"{message}; the most similar ones are:\n{_excerpt(text, similar, similar + len(searched) - 1)}"


def _is_part(searched: Sequence[str], lines: Sequence[str]) -> bool:
    """Return whether each wanted line is a part of the line at its place, as `def f(a` of `def f(a, b):`."""
    return any(searched) and all(
        part in line and bool(part) == bool(line) for part, line in zip(searched, lines, strict=False)
    )


def _find_similar(lines: Sequence[str], searched: Sequence[str]) -> int | None:
    """Return the index of the line at which the wanted lines may be meant to begin."""
    offset = next((number for number, line in enumerate(searched) if line), None)
    if offset is None or len(lines) > _MAX_COMPARED_LINES:
        return None
    matches = difflib.get_close_matches(searched[offset], list(dict.fromkeys(lines)), 1, _MIN_SIMILARITY)
    return max(0, lines.index(matches[0]) - offset) if matches else None


def _squeeze(line: str) -> str:
    return " ".join(line.split())


def _excerpt(text: SourceText, first: int, last: int, context: int = _CONTEXT) -> str:
    """Return numbered lines; indices begin with 0."""
    first, last = max(0, first - context), min(len(text.lines) - 1, last + context)
    if last - first >= _MAX_EXCERPT_LINES:
        half = _MAX_EXCERPT_LINES // 2
        upper, lower = text.lines[first : first + half], text.lines[last - half + 1 : last + 1]
        middle = f"  … {last - first + 1 - 2 * half} lines …"
        excerpt = "\n".join((number_lines(upper, first + 1), middle, number_lines(lower, last - half + 2)))
    else:
        excerpt = number_lines(text.lines[first : last + 1], first + 1)
    return excerpt[: MAX_OBSERVATION_CHARS // 4]


def _check_text(name: str, text: str) -> None:
    if "\0" in text:
        raise ActionRefused(f"{name}: the text contains NUL, which makes the file binary")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ActionRefused(f"{name}: the text contains half of a character (a lone surrogate)")


def _encode(name: str, text: SourceText) -> bytes:
    content = text.encode()
    if len(content) > MAX_TEXT_BYTES:
        raise ActionRefused(f"{name} would have {len(content):,} bytes; at most {MAX_TEXT_BYTES:,} are written")
    return content
