"""Read files of a workspace as text, and write them with the line ends and the byte order mark that they had."""

import os
import stat
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from tenure.files.opening import FileRefused, open_file
from tenure.repositories.tree import MAX_TEXT_BYTES

_MARK: Final = "\ufeff".encode()
_BINARY_BYTES: Final = 8_000


class ActionRefused(Exception):
    """An action on a file that is not carried out; the message is for the model."""


@dataclass(frozen=True)
class SourceText:
    """Text of a file; lines end with a line feed, whatever they end with in the file."""

    text: str
    encoding: str = "utf-8"
    has_mark: bool = False
    returns: tuple[int, ...] = ()
    """Offsets of the line feeds that a carriage return precedes in the file."""

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Lines without their ends."""
        lines = self.text.split("\n")
        return tuple(lines[:-1] if lines[-1] == "" else lines)

    @property
    def ends_with_returns(self) -> bool:
        """Whether most lines end with a carriage return and a line feed."""
        return 2 * len(self.returns) > self.text.count("\n")

    def count_lines_before(self, offset: int) -> int:
        """Return the number of lines that end before an offset."""
        return self.text.count("\n", 0, offset)

    def replace(self, start: int, end: int, new: str) -> "SourceText":
        """Return the text with another part; its lines end as the ones around it."""
        first, last = bisect_left(self.returns, start), bisect_left(self.returns, end)
        replaced = self.text.count("\n", start, end)
        with_returns = 2 * (last - first) > replaced if replaced else self.ends_with_returns
        inner = _find_newlines(new, start) if with_returns else ()
        moved = tuple(at + len(new) - (end - start) for at in self.returns[last:])
        text = self.text[:start] + new + self.text[end:]
        return SourceText(text, self.encoding, self.has_mark, (*self.returns[:first], *inner, *moved))

    def replace_all(self, new: str) -> "SourceText":
        """Return another text with the line ends, mark and encoding of this one."""
        if self.text.endswith("\n") and new and not new.endswith("\n"):
            new += "\n"
        returns = _find_newlines(new, 0) if self.ends_with_returns else ()
        return SourceText(new, self.encoding, self.has_mark, returns)

    def encode(self) -> bytes:
        """Return the content of the file.

        Raises:
            ActionRefused: the encoding of the file lacks a character.
        """
        pieces, at = [], 0
        for offset in self.returns:
            pieces.append(self.text[at:offset])
            at = offset
        try:
            content = "\r".join((*pieces, self.text[at:])).encode(self.encoding)
        except UnicodeEncodeError as error:
            character = error.object[error.start]
            raise ActionRefused(f"the file's encoding is not UTF-8 and lacks the character {character!a}") from None
        return (_MARK if self.has_mark else b"") + content


def decode_text(content: bytes) -> SourceText:
    """Return the text of a content; read other encodings than UTF-8 byte by byte, to write them again."""
    has_mark = content.startswith(_MARK)
    content = content.removeprefix(_MARK)
    try:
        raw, encoding = content.decode(), "utf-8"
    except UnicodeDecodeError:
        raw, encoding = content.decode("latin-1"), "latin-1"
    pieces = raw.split("\r\n")
    returns, at = [], 0
    for piece in pieces[:-1]:
        at += len(piece)
        returns.append(at)
        at += 1
    return SourceText("\n".join(pieces), encoding, has_mark, tuple(returns))


def read_text(folder: Path, name: str) -> SourceText:
    """Return the text of a file of a workspace.

    Raises:
        ActionRefused: the file is missing, a link, a folder, binary or too large.
    """
    try:
        with open_file(locate_file(folder, name)) as opened:
            if opened.status.st_size > MAX_TEXT_BYTES:
                raise ActionRefused(f"{name} has {opened.status.st_size:,} bytes; at most {MAX_TEXT_BYTES:,} are read")
            content = opened.read(MAX_TEXT_BYTES)
    except FileRefused as error:
        raise ActionRefused(f"{name} {error.reason}") from None
    except (FileNotFoundError, NotADirectoryError):
        raise ActionRefused(f"there is no file {name}{_suggest(folder, name)}") from None
    except OSError as error:
        raise ActionRefused(f"{name} cannot be read ({error.strerror})") from None
    if b"\0" in content[:_BINARY_BYTES]:
        raise ActionRefused(f"{name} is a binary file")
    return decode_text(content)


def locate_file(folder: Path, name: str) -> Path:
    """Return the path of a file of a workspace.

    Raises:
        ActionRefused: it is a file of Git, or reached through a symbolic link.
    """
    parts = name.split("/")
    if any(part.casefold() == ".git" for part in parts):
        raise ActionRefused(f"{name} belongs to Git itself and is neither read nor changed")
    path = folder
    for number, part in enumerate(parts, 1):
        path = path / part
        if path.is_symlink():
            what = "is" if number == len(parts) else "is reached through"
            raise ActionRefused(f"{name} {what} a symbolic link, which is kept and not followed")
    return path


def is_file(path: Path) -> bool:
    """Return whether a path is a regular file, and no link to one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def number_lines(lines: tuple[str, ...] | list[str], first: int) -> str:
    """Return lines with their numbers."""
    return "\n".join(f"{number}|{line}" for number, line in enumerate(lines, first))


def _find_newlines(text: str, start: int) -> tuple[int, ...]:
    return tuple(start + at for at, character in enumerate(text) if character == "\n")


def _suggest(folder: Path, name: str) -> str:
    """Return files of the same name elsewhere, for the message about a missing file."""
    file_name = name.rpartition("/")[2]
    candidates = []
    for current, folders, files in os.walk(folder):
        folders[:] = sorted(inner for inner in folders if not inner.startswith("."))
        if file_name in files:
            candidates.append(str(Path(current, file_name).relative_to(folder)))
        if len(candidates) == 3:
            break
    return f"; there is {', '.join(candidates)}" if candidates else ""
