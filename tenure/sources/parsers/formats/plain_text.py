"""Parse plain text, logs and delimited values.

Prose that was wrapped at a fixed width is joined into paragraphs; other text keeps its lines.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from textwrap import dedent
from typing import Final

from tenure.sources.document.document import Document
from tenure.sources.document.normal_form import NormalFormWriter
from tenure.sources.parsers.registry import Format

PLAIN_TEXT: Final = Format(
    parser="parse_plain_text",
    description="plain text: paragraphs, lists and underlined headings",
    suffixes=(".txt", ".text", ".adoc", ".org"),
)
LOG: Final = Format(parser="parse_log", description="logs, line by line", suffixes=(".log",))
CSV: Final = Format(
    parser="parse_csv",
    description="comma-separated values that are not readable as a table",
    suffixes=(".csv",),
    media_types=("text/csv",),
)
TSV: Final = Format(
    parser="parse_tsv",
    description="tab-separated values that are not readable as a table",
    suffixes=(".tsv",),
    media_types=("text/tab-separated-values",),
)

_BLANK = re.compile(r"\n[ \t]*(?:\n[ \t]*)*\n")  # "\n\n", and "\n  \n" with white space in the blank line.
_UNDERLINE = re.compile(r"(?P<mark>[=~^*-])(?P=mark){2,}\s*$")  # "=====" under a heading.
# "## Results".
_HEADING = re.compile(r"(#{1,6})\s+(\S.*)$")
# "- first", "2) second", "3. third".
_ITEM = re.compile(r"\s{0,3}(?:[-*+•]|(?P<number>\d{1,3})[.)])\s+(?P<words>\S.*)$")
_LEVELS = {"=": 1}
_MIN_WIDTH = 40  # Lines are wrapped if the longest has at least 40 characters,
_SLACK = 0.25  # ... and any other but the last would exceed 75 % of it with the first word of the next.


def parse_plain_text(text: str) -> Document:
    """Parse plain text; wrapped lines are joined, and underlined lines or lines with hashes are headings."""
    form = NormalFormWriter()
    write_plain_text(form, text)
    return Document(title=form.first_heading, text=form.text, kind="prose")


def write_plain_text(form: NormalFormWriter, text: str) -> None:
    """Write the blocks of plain text."""
    for block in _split_blocks(text):
        _write_block(form, block)


def parse_log(text: str) -> Document:
    """Parse a file in which every line is a record."""
    form = NormalFormWriter()
    for block in _split_blocks(text):
        form.add_lines(block)
    return Document(title="", text=form.text, kind="prose")


def parse_csv(text: str) -> Document:
    """Parse comma-separated values, or a log if the text has no valid rows."""
    return _parse_rows(text, ",")


def parse_tsv(text: str) -> Document:
    """Parse tab-separated values, or a log if the text has no valid rows."""
    return _parse_rows(text, "\t")


def _parse_rows(text: str, delimiter: str) -> Document:
    form = NormalFormWriter()
    try:
        for row in csv.reader(text.split("\n"), delimiter=delimiter):
            form.add_row(row)
    except csv.Error:
        return parse_log(text)
    return Document(title="", text=form.text, kind="prose")


def is_wrapped(lines: Sequence[str]) -> bool:
    """Return whether lines are one paragraph that was wrapped at a fixed width.

    They are if no line has space for the first word of the next line, and many lines continue a sentence.
    """
    width = max(map(len, lines))
    if len(lines) < 2 or width < _MIN_WIDTH:
        return False
    least = width * (1 - _SLACK)
    full = all(len(line) + 1 + len(after.split(maxsplit=1)[0]) > least for line, after in pairwise(lines))
    continued = sum(line[:1].islower() for line in lines[1:])
    return full and continued >= (len(lines) - 1) * 0.3


def _split_blocks(text: str) -> Iterator[list[str]]:
    for block in _BLANK.split(text.expandtabs(4).strip("\n")):
        lines = [line.rstrip() for line in block.split("\n") if line.strip()]
        if lines:
            yield lines


def _write_block(form: NormalFormWriter, block: list[str]) -> None:
    lines = dedent("\n".join(block)).split("\n")
    if heading := _match_heading(lines):
        form.add_heading(*heading)
        if rest := lines[2:]:
            _write_block(form, rest)
    elif is_wrapped(lines):
        form.add_paragraph(" ".join(lines))
    elif _ITEM.match(lines[0]):
        _write_list(form, lines)
    elif len(block) > 1 and all(line.startswith("    ") for line in block):
        form.add_literal("\n".join(lines))
    elif len(lines) == 1:
        form.add_paragraph(lines[0])
    else:
        form.add_lines(lines)


def _match_heading(lines: list[str]) -> tuple[int, str] | None:
    if len(lines) == 1 and (match := _HEADING.match(lines[0])):
        return len(match[1]), match[2]
    if len(lines) > 1 and len(lines[0]) <= 120 and (under := _UNDERLINE.match(lines[1])):
        return (_LEVELS.get(under["mark"], 2), lines[0]) if not _UNDERLINE.match(lines[0]) else None
    return None


def _write_list(form: NormalFormWriter, lines: list[str]) -> None:
    """Write a list; a line without a list mark continues the previous item."""
    first = _ITEM.match(lines[0])
    number = first["number"] if first else None
    form.open_list(int(number) if number else None)
    for line in lines:
        if match := _ITEM.match(line):
            form.close_item()
            form.open_item()
            form.add_paragraph(match["words"])
        else:
            form.add_paragraph(line)
    form.close_list()
