"""The writer of the normal form that `tenure.sources.document.document` defines.

Parsers walk their own trees and call one method per block; this is the only place that knows how a
block looks on paper.
"""

import re
import unicodedata
from collections.abc import Sequence

_LINE_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u200b\u2060\ufeff\ud800-\udfff\ufffe\uffff]")
_FALSE_HEADING = re.compile(r"^(?:#{1,6}\s+)+(?=\S)")
_JOINED_KINDS = ("item", "row")
_MAX_DEPTH = 8


def clean(text: str) -> str:
    """Return the text in NFC, with plain line ends and without characters that nobody can see."""
    text = _INVISIBLE.sub("", _LINE_BREAKS.sub("\n", text))
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def one_line(text: str) -> str:
    """Return the cleaned text as one line of words separated by single spaces."""
    return " ".join(clean(text).split())


def strip_lines(text: str) -> str:
    """Return the cleaned text without white space at line ends and without blank lines around it."""
    return "\n".join(line.rstrip() for line in clean(text).split("\n")).strip("\n")


class NormalForm:
    """Collects blocks in reading order and writes them down."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.first_heading = ""
        self._blocks: list[tuple[str, list[str]]] = []
        self._counters: list[int | None] = []
        self._item: tuple[str, list[str]] | None = None
        self._end = 0

    @property
    def end(self) -> int:
        """How long the text is that was written so far."""
        self._flush()
        return self._end

    @property
    def text(self) -> str:
        """Everything written so far."""
        self._flush()
        return "\n\n".join("\n".join(lines) for _, lines in self._blocks)

    def heading(self, level: int, text: str) -> None:
        """Write a heading; levels outside 1 to 6 are brought into range."""
        words = one_line(text)
        self._flush()
        if words:
            self.first_heading = self.first_heading or words
            self._add("heading", ["#" * min(max(level, 1), 6) + " " + words])

    def paragraph(self, text: str) -> None:
        """Write a paragraph as one line; inside a list item it continues the item's line."""
        # Hashes in front would make a heading of a paragraph.
        words = _FALSE_HEADING.sub("", one_line(text))
        if not words:
            return
        if self._item is not None:
            self._item[1].append(words)
        else:
            self._add("paragraph", [words])

    def lines(self, lines: Sequence[str]) -> None:
        """Write lines that must stay lines, as one block."""
        self._flush()
        kept = [_FALSE_HEADING.sub("", words) for line in lines if (words := one_line(line))]
        if kept:
            self._add("lines", kept)

    def literal(self, text: str) -> None:
        """Write code or other literal text; a run of blank lines becomes one."""
        self._flush()
        lines = strip_lines(text).expandtabs(4).split("\n")
        kept = [f"    {line}" if line else "" for i, line in enumerate(lines) if line or lines[i - 1]]
        if any(kept):
            self._add("literal", kept)

    def row(self, cells: Sequence[str]) -> None:
        """Write a table row; rows that follow each other make one table."""
        self._flush()
        words = [one_line(cell) for cell in cells]
        if any(words):
            self._add("row", [f"| {' | '.join(words)} |"])

    def open_list(self, start: int | None = None) -> None:
        """Begin a list inside whatever is open; a start number makes it a numbered one."""
        self._flush()
        self._counters.append(start)

    def close_list(self) -> None:
        """End the innermost list."""
        self._flush()
        self._counters.pop()

    def open_item(self) -> None:
        """Begin an item of the innermost list; paragraphs go into its line until something else comes."""
        self._flush()
        number = self._counters[-1]
        if number is not None:
            self._counters[-1] = number + 1
        indent = "  " * min(len(self._counters) - 1, _MAX_DEPTH)
        self._item = (indent + ("- " if number is None else f"{number}. "), [])

    def close_item(self) -> None:
        """End the open item."""
        self._flush()

    def _flush(self) -> None:
        item, self._item = self._item, None
        if item is not None and item[1]:
            self._add("item", [item[0] + " ".join(item[1])])

    def _add(self, kind: str, lines: list[str]) -> None:
        joined = kind in _JOINED_KINDS and self._blocks and self._blocks[-1][0] == kind
        gap = 0 if not self._blocks else 1 if joined else 2
        self._end += gap + len("\n".join(lines))
        if joined:
            self._blocks[-1][1].extend(lines)
        else:
            self._blocks.append((kind, lines))
