"""Plain text, logs and tables of values to the normal form.

Prose that somebody wrapped at a fixed width is joined into paragraphs; anything else keeps its lines.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from textwrap import dedent

from tenure.sources.document.document import Document
from tenure.sources.document.normal_form import NormalForm

_BLANK = re.compile(r"\n[ \t]*(?:\n[ \t]*)*\n")
_UNDERLINE = re.compile(r"(?P<mark>[=~^*-])(?P=mark){2,}\s*$")
_HEADING = re.compile(r"(#{1,6})\s+(\S.*)$")
_ITEM = re.compile(r"\s{0,3}(?:[-*+•]|(?P<number>\d{1,3})[.)])\s+(?P<words>\S.*)$")
_LEVELS = {"=": 1}
_MIN_WIDTH = 40
_SLACK = 0.25


def parse_plain(text: str) -> Document:
    """Read plain text; wrapped lines are joined, headings are those that are underlined or marked by hashes."""
    form = NormalForm()
    for block in _blocks(text):
        _write(form, block)
    return Document(title=form.first_heading, text=form.text, kind="prose")


def parse_log(text: str) -> Document:
    """Read a file in which every line is a record."""
    form = NormalForm()
    for block in _blocks(text):
        form.lines(block)
    return Document(title="", text=form.text, kind="prose")


def parse_table(text: str, delimiter: str) -> Document:
    """Read comma- or tab-separated values; a file that is none is read as a log."""
    form = NormalForm()
    try:
        for row in csv.reader(text.split("\n"), delimiter=delimiter):
            form.row(row)
    except csv.Error:
        return parse_log(text)
    return Document(title="", text=form.text, kind="prose")


def is_wrapped(lines: Sequence[str]) -> bool:
    """Say whether the lines are one paragraph that was broken at a fixed width.

    They are when no line could have taken the next line's first word, and a good part of them
    goes on in the middle of a sentence.
    """
    width = max(map(len, lines))
    if len(lines) < 2 or width < _MIN_WIDTH:
        return False
    least = width * (1 - _SLACK)
    full = all(len(line) + 1 + len(after.split(maxsplit=1)[0]) > least for line, after in pairwise(lines))
    continued = sum(line[:1].islower() for line in lines[1:])
    return full and continued >= (len(lines) - 1) * 0.3


def _blocks(text: str) -> Iterator[list[str]]:
    for block in _BLANK.split(text.expandtabs(4).strip("\n")):
        lines = [line.rstrip() for line in block.split("\n") if line.strip()]
        if lines:
            yield lines


def _write(form: NormalForm, block: list[str]) -> None:
    lines = dedent("\n".join(block)).split("\n")
    if heading := _heading(lines):
        form.heading(*heading)
        if rest := lines[2:]:
            _write(form, rest)
    elif is_wrapped(lines):
        form.paragraph(" ".join(lines))
    elif _ITEM.match(lines[0]):
        _write_list(form, lines)
    elif len(block) > 1 and all(line.startswith("    ") for line in block):
        form.literal("\n".join(lines))
    elif len(lines) == 1:
        form.paragraph(lines[0])
    else:
        form.lines(lines)


def _heading(lines: list[str]) -> tuple[int, str] | None:
    if len(lines) == 1 and (match := _HEADING.match(lines[0])):
        return len(match[1]), match[2]
    if len(lines) > 1 and len(lines[0]) <= 120 and (under := _UNDERLINE.match(lines[1])):
        return (_LEVELS.get(under["mark"], 2), lines[0]) if not _UNDERLINE.match(lines[0]) else None
    return None


def _write_list(form: NormalForm, lines: list[str]) -> None:
    """Write a list; a line without a mark of its own goes on with the item above."""
    first = _ITEM.match(lines[0])
    number = first["number"] if first else None
    form.open_list(int(number) if number else None)
    for line in lines:
        if match := _ITEM.match(line):
            form.close_item()
            form.open_item()
            form.paragraph(match["words"])
        else:
            form.paragraph(line)
    form.close_list()
