"""Write the normal form that `tenure.sources.document.document` defines.

Parsers walk their own trees and call one method per block; only this module knows the notation of a block.
"""

import re
import unicodedata
from collections.abc import Sequence

# Line breaks of Windows and of old Macintoshes, vertical tabs, form feeds, and the separators of Unicode.
_LINE_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
# Control characters, soft hyphens, zero-width spaces, byte order marks and halves of surrogate pairs.
_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u200b\u2060\ufeff\ud800-\udfff\ufffe\uffff]")
# "# of rows" as a paragraph would read as a heading.
_FALSE_HEADING = re.compile(r"^(?:#{1,6}\s+)+(?=\S)")
_JOINED_KINDS = ("item", "row")
_MAX_DEPTH = 8


def clean_text(text: str) -> str:
    r"""Return the text in NFC, with `\n` as line break and without invisible characters."""
    text = _INVISIBLE.sub("", _LINE_BREAKS.sub("\n", text))
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def collapse_whitespace(text: str) -> str:
    """Return the cleaned text as one line of words separated by single spaces."""
    return " ".join(clean_text(text).split())


def strip_lines(text: str) -> str:
    """Return the cleaned text without trailing white space of lines and without blank lines around it."""
    return "\n".join(line.rstrip() for line in clean_text(text).split("\n")).strip("\n")


class NormalFormWriter:
    """Writer that collects blocks in reading order."""

    def __init__(self) -> None:
        self.first_heading = ""
        self._blocks: list[tuple[str, list[str]]] = []
        self._counters: list[int | None] = []
        self._item: tuple[str, list[str]] | None = None
        self._length = 0

    @property
    def length(self) -> int:
        """Length of the text written so far."""
        self._flush()
        return self._length

    @property
    def is_in_item(self) -> bool:
        """Whether a list item is open, which reading the length or the text would end."""
        return self._item is not None

    @property
    def text(self) -> str:
        """Text written so far."""
        self._flush()
        return "\n\n".join("\n".join(lines) for _, lines in self._blocks)

    def add_heading(self, level: int, text: str) -> None:
        """Add a heading; the level is clamped to 1 to 6."""
        words = collapse_whitespace(text)
        self._flush()
        if words:
            self.first_heading = self.first_heading or words
            self._add("heading", ["#" * min(max(level, 1), 6) + " " + words])

    def add_paragraph(self, text: str) -> None:
        """Add a paragraph as one line; inside a list item it continues the line of the item."""
        # Leading hashes would turn a paragraph into a heading.
        words = _FALSE_HEADING.sub("", collapse_whitespace(text))
        if not words:
            return
        if self._item is not None:
            self._item[1].append(words)
        else:
            self._add("paragraph", [words])

    def add_lines(self, lines: Sequence[str]) -> None:
        """Add lines that remain lines, as one block."""
        self._flush()
        texts = [_FALSE_HEADING.sub("", words) for line in lines if (words := collapse_whitespace(line))]
        if texts:
            self._add("lines", texts)

    def add_literal(self, text: str) -> None:
        """Add code or other literal text; several blank lines become one."""
        self._flush()
        lines = strip_lines(text).expandtabs(4).split("\n")
        indented = [f"    {line}" if line else "" for i, line in enumerate(lines) if line or lines[i - 1]]
        if any(indented):
            self._add("literal", indented)

    def add_row(self, cells: Sequence[str]) -> None:
        """Add a table row; consecutive rows form one table."""
        self._flush()
        words = [collapse_whitespace(cell) for cell in cells]
        if any(words):
            self._add("row", [f"| {' | '.join(words)} |"])

    def end_table(self) -> None:
        """End the open table, so that the next row starts another one."""
        if self._blocks and self._blocks[-1][0] == "row":
            self._blocks[-1] = ("table", self._blocks[-1][1])

    def open_list(self, start: int | None = None) -> None:
        """Start a list inside the open list or item; a start number makes it a numbered list."""
        self._flush()
        self._counters.append(start)

    def close_list(self) -> None:
        """End the innermost list."""
        self._flush()
        self._counters.pop()

    def open_item(self) -> None:
        """Start an item of the innermost list; the following paragraphs form its line."""
        self._flush()
        number = self._counters[-1]
        if number is not None:
            self._counters[-1] = number + 1
        indent = "  " * min(len(self._counters) - 1, _MAX_DEPTH)
        self._item = (indent + ("- " if number is None else f"{number}. "), [])

    def add_item(self, text: str, *, depth: int = 0, is_numbered: bool = False) -> None:
        """Add an item of a document that gives the depth of each item, and neither opens nor closes lists.

        The lists stay open for the next item; `close_items` ends them.
        """
        while len(self._counters) > depth + 1 or (
            len(self._counters) == depth + 1 and (self._counters[-1] is not None) != is_numbered
        ):
            self.close_list()
        while len(self._counters) < depth + 1:
            self.open_list(1 if is_numbered else None)
        self.open_item()
        self.add_paragraph(text)
        self.close_item()

    def close_items(self) -> None:
        """End all open lists."""
        self._flush()
        self._counters.clear()

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
        self._length += gap + len("\n".join(lines))
        if joined:
            self._blocks[-1][1].extend(lines)
        else:
            self._blocks.append((kind, lines))
