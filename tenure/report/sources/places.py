"""Describe the place of a quote for readers: page, line and offset in the file on disk, and the nearest heading."""

import re
from typing import NamedTuple, Protocol

from tenure.algorithms.text.printable import flatten

_HEADING = re.compile(r"^(?P<level>#{1,6}) +(?P<name>\S.*)$", re.MULTILINE)
"""Heading in the stored text of a document."""


class FilePlace(NamedTuple):
    """Place of a quote in the file that its source was read from."""

    offset: int
    """Number of characters before it in the file."""
    line: int
    """Number of its first line, from 1."""


class QuotePosition(Protocol):
    """Position of a quote as a result document states it."""

    @property
    def start(self) -> int:
        """Offset of the first character in the stored text."""
        ...

    @property
    def end(self) -> int:
        """Offset after the last character in the stored text."""
        ...

    @property
    def page(self) -> int | None:
        """Page, if the source has pages."""
        ...

    @property
    def line(self) -> int | None:
        """Line in the file, if it is known."""
        ...

    @property
    def file_start(self) -> int | None:
        """Offset in the file, if it is known."""
        ...

    @property
    def heading(self) -> str:
        """Nearest heading."""
        ...


def find_heading(text: str, offset: int) -> str:
    """Return the last heading before an offset in the stored text of a document; empty without one."""
    return next(iter(find_headings(text, offset)[-1:]), "")


def find_headings(text: str, offset: int) -> tuple[str, ...]:
    """Return the headings above an offset in the stored text of a document, outermost first."""
    above: dict[int, str] = {}
    for found in _HEADING.finditer(text, 0, offset):
        level = len(found["level"])
        above = {other: name for other, name in above.items() if other < level} | {level: flatten(found["name"])}
    return tuple(above.values())


def find_in_file(quote: str, text: str) -> FilePlace | None:
    """Return the place of a quote in the text of a file, white space aside; None if it does not occur exactly once."""
    pattern = re.compile(r"\s+".join(map(re.escape, quote.split())))
    places = [match.start() for match in pattern.finditer(text)] if quote.strip() else []
    return FilePlace(places[0], text.count("\n", 0, places[0]) + 1) if len(places) == 1 else None


def describe_place(position: QuotePosition) -> str:
    """Return the place of a quote in words: page, line or offsets, and heading."""
    length = position.end - position.start
    page = f"page {position.page}, " if position.page else ""
    heading = f", under “{flatten(position.heading)}”" if position.heading else ""
    if position.line is None or position.file_start is None:
        return f"{page}characters {position.start}–{position.end}{heading}"
    start = position.file_start
    return f"{page}line {position.line}, characters {start}–{start + length} of the file{heading}"
