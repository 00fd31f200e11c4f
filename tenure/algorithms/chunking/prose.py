"""Split prose in normal form into sections, blocks and pieces.

Blocks that depend on each other form a unit: a list, a table or code with the sentence that introduces it, the parts of
a list between which an item has code, and code with the numbered notes that explain it. A unit that fits into a chunk
is one piece. A longer one is split into sentences, items, rows and lines of code.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from tenure.algorithms.chunking.pieces import Bond, Piece, Splitter, TextLine, find_lines
from tenure.algorithms.text.passage import COLUMNS_PREFIX
from tenure.algorithms.text.questions import shorten

BlockKind = Literal["paragraph", "list", "table", "code"]

MAX_COLUMNS_CHARACTERS = 200
"""Maximum characters of the names of columns that a chunk carries."""

# "## Limits".
_HEADING = re.compile(r"(#{1,6}) +(\S.*)")
_ITEM = re.compile(r" *(?:-|(?P<number>\d{1,9})\.) ")  # "- an item", "12. an item".
_CODE_INDENT = "    "
_INTRODUCTION = re.compile(r"[:\uff1a][\"'”\u2019)\]]*$")  # "as follows:", "(see below:)".
_MAX_CLOSING_CHARACTERS = 8  # The colon with the quotation marks and brackets after it.
# The first mark of notes on code: "(1)", "<1>", "[1]", "# 1", "①".
_CALLOUT = re.compile(r"\(1\)|<1>|\[1\]|(?:#|//|--) ?1\b|\u2460")
# "Table 3: Costs", "Figure 2. The bees of Kent", "Fig. 1 – Layers", "Table CA3. | Cases".
CAPTION = re.compile(
    r"(?:table|figure|fig\.|exhibit|chart)\s+[\dA-Z][\w.-]*(?:[.:–—]|(?<=\.)|\s+[–—|-])\s", re.IGNORECASE
)
_PROMPT = ">>>"
# "}", "end", "else:": they continue the definition before them.
CLOSING = re.compile(r"\s*(?:[)\]}>]|end\b|fi\b|done\b|esac\b|else\b|elif\b|except\b|finally\b|catch\b)")
_MAX_ALTERNATING = 100
"""Blocks of tables and captions in turn that are read for the place of the captions."""


class TextBlock(NamedTuple):
    """Lines of one kind; the lines of code may be separated by blank lines."""

    kind: BlockKind
    lines: list[TextLine]


class Section(NamedTuple):
    """Section of a document with the blocks below its heading."""

    path: tuple[str, ...]
    blocks: list[TextBlock]


def split_sections(text: str) -> list[Section]:
    """Split prose into sections at its headings, and each section into blocks."""
    path: list[tuple[int, str]] = []
    sections = [Section((), [])]
    previous_end = -1
    for line in find_lines(text):
        heading = _HEADING.match(text, *line)
        blocks = sections[-1].blocks
        if heading:
            level = len(heading[1])
            path = [(above, title) for above, title in path if above < level]
            path.append((level, heading[2].rstrip()))
            sections.append(Section(tuple(title for _, title in path), []))
        elif blocks and line.start == previous_end + 1:
            blocks[-1].lines.append(line)
        else:
            kind = _classify(text, line)
            if blocks and kind == blocks[-1].kind == "code":
                blocks[-1].lines.append(line)
            else:
                blocks.append(TextBlock(kind, [line]))
        previous_end = line.end
    return [section for section in sections if section.blocks]


def _classify(text: str, line: TextLine) -> BlockKind:
    if text.startswith(_CODE_INDENT, line.start):
        return "code"
    if text.startswith("|", line.start):
        return "table"
    return "list" if _ITEM.match(text, *line) else "paragraph"


def split_section(section: Section, splitter: Splitter) -> Iterator[Piece]:
    """Yield the pieces of a section."""
    blocks = section.blocks
    bonds = _find_bonds(blocks, splitter.text)
    starts = [number for number, bond in enumerate(bonds) if bond is Bond.NONE]
    for start, end in pairwise((*starts, len(blocks))):
        unit = splitter.measure(blocks[start].lines[0].start, blocks[end - 1].lines[-1].end, Bond.NONE)
        if unit.tokens <= splitter.limit:
            yield unit
        else:
            for block, bond in zip(blocks[start:end], bonds[start:end], strict=True):
                yield from split_block(block, bond, splitter)


def find_caption(blocks: Sequence[TextBlock], start: int, text: str) -> str:
    """Return the caption above or below the table at an offset, or around it; empty without one.

    Between two tables, it belongs to the one below if the first of such tables has a caption above it.
    """
    number = bisect_right(blocks, start, key=lambda block: block.lines[0].start) - 1
    if number < 0 or blocks[number].kind != "table":
        return ""
    first = number
    while number - first < _MAX_ALTERNATING and _read_caption(blocks, first - 1, text) and _is_table(blocks, first - 2):
        first -= 2
    above = _read_caption(blocks, first - 1, text) and _read_caption(blocks, number - 1, text)
    return above or _read_caption(blocks, number + 1, text)


def _read_caption(blocks: Sequence[TextBlock], number: int, text: str) -> str:
    line = blocks[number].lines[0] if 0 <= number < len(blocks) else None
    return text[line.start : line.end] if line and CAPTION.match(text, *line) else ""


def _is_table(blocks: Sequence[TextBlock], number: int) -> bool:
    return number >= 0 and blocks[number].kind == "table"


def list_column_names(tables: Sequence[Sequence[TextLine]], start: int, text: str) -> str:
    """Return an entry for the heading path of a chunk that starts inside a table: the cells of its first row, else "".

    Rows say little without the names of their columns.
    """
    number = bisect_right(tables, start, key=lambda lines: lines[0].start) - 1
    if number < 0 or not tables[number][0].end <= start <= tables[number][-1].end:
        return ""
    head = tables[number][0]
    cells = (cell.strip() for cell in text[head.start : head.end].strip("|").split("|"))
    return COLUMNS_PREFIX + shorten(", ".join(cell for cell in cells if cell), MAX_COLUMNS_CHARACTERS)


def _find_bonds(blocks: Sequence[TextBlock], text: str) -> list[Bond]:
    bonds = [Bond.NONE] * len(blocks)
    numbers = [_find_numbers(block, text) for block in blocks]
    for at, (before, block) in enumerate(pairwise(blocks), 1):
        end = before.lines[-1].end
        ends_in_colon = _INTRODUCTION.search(text, end - _MAX_CLOSING_CHARACTERS, end)
        has_caption = block.kind == "table" and CAPTION.match(text, *before.lines[0])
        if has_caption or (before.kind in ("paragraph", "list") and ends_in_colon):
            bonds[at] = Bond.INTRODUCTION
        elif before.kind == "list" and block.kind == "code":
            bonds[at] = Bond.NESTED
        elif block.kind == "list" and before.kind == "code" and at >= 2 and _continues(numbers[at - 2], numbers[at]):
            bonds[at] = Bond.ITEM
        elif numbers[at][:1] == [1] and before.kind in ("code", "table"):
            bonds[at] = Bond.INTRODUCTION
        if numbers[at][:1] == [1] and bonds[at] and at >= 2 and _has_callout(blocks[at - 2], text):
            bonds[at - 1] = Bond.INTRODUCTION
    return bonds


def _find_numbers(block: TextBlock, text: str) -> list[int]:
    """Return the numbers of the items of a list, 0 for an item without a number; other blocks have none."""
    if block.kind != "list":
        return []
    items = (_ITEM.match(text, *line) for line in block.lines)
    return [int(item["number"] or 0) for item in items if item]


def _continues(before: Sequence[int], after: Sequence[int]) -> bool:
    """Return whether two lists are parts of one, by the numbers of their items."""
    return bool(before) and (after[0] > max(before) if after[0] else 0 in before)


def _has_callout(block: TextBlock, text: str) -> bool:
    """Return whether code or a table refers to a note with the number 1."""
    return block.kind in ("code", "table") and bool(_CALLOUT.search(text, block.lines[0].start, block.lines[-1].end))


def split_block(block: TextBlock, bond: Bond, splitter: Splitter) -> Iterator[Piece]:
    """Yield the sentences of a paragraph, or the lines of another block, whose sentences if a line is too long."""
    inner = Bond.NONE if block.kind == "paragraph" else Bond.INSIDE
    bonds = (bond, *_find_line_bonds(block, splitter.text))
    for line, line_bond in zip(block.lines, bonds, strict=True):
        piece = splitter.measure(*line, line_bond)
        if piece.tokens <= splitter.limit and (len(block.lines) > 1 or block.kind != "paragraph"):
            yield piece
        else:
            yield from splitter.split_line(line, line_bond, inner)


def _find_line_bonds(block: TextBlock, text: str) -> Iterator[Bond]:
    """Yield the bond of each line but the first to the line before it."""
    if block.kind == "code":
        yield from find_statement_bonds(block.lines, text)
    elif block.kind == "paragraph":
        yield from (Bond.NONE for _ in block.lines[1:])
    elif block.kind == "table":
        yield from (Bond.ITEM if number else Bond.NESTED for number in range(len(block.lines) - 1))
    else:
        margin = _measure_indent(text, block.lines[0])
        for line in block.lines[1:]:
            yield Bond.ITEM if _measure_indent(text, line) <= margin else Bond.NESTED


def find_statement_bonds(lines: Sequence[TextLine], text: str) -> Iterator[Bond]:
    """Yield the bond of each line of code but the first to the line before it.

    A statement starts at the lowest indentation, and in a console session at a prompt.
    """
    margin = min(_measure_indent(text, line) for line in lines)
    has_prompts = any(text.startswith(_PROMPT, line.start + margin) for line in lines)
    for before, line in pairwise(lines):
        is_apart = line.start > before.end + 1
        starts_statement = _measure_indent(text, line) == margin and (
            text.startswith(_PROMPT, line.start + margin) if has_prompts else not CLOSING.match(text, *line)
        )
        if starts_statement and is_apart:
            yield Bond.PARAGRAPH
        else:
            yield Bond.STATEMENT if starts_statement or is_apart else Bond.NESTED


def _measure_indent(text: str, line: TextLine) -> int:
    words = text[line.start : line.end]
    return len(words) - len(words.lstrip())
