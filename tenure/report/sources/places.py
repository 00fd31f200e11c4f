"""Describe the place of a quote for readers: page, heading, row of a table, and line and offset in the file on disk."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from tenure.algorithms.chunking.figure_labels import FIGURE_LABEL
from tenure.algorithms.chunking.text_tables import list_document_tables
from tenure.algorithms.text.printable import flatten
from tenure.contracts.evidence.places import format_sheet, parse_cells
from tenure.contracts.result.result import ResultCitation
from tenure.report.translation import mark_message, translate

_HEADING = re.compile(r"^(?P<level>#{1,6}) +(?P<name>\S.*)$", re.MULTILINE)
"""Heading in the stored text of a document."""


_WORD = re.compile(r"\w+")
_ROW_START = re.compile(r"\| ")
_MAX_COLUMNS_NAMED = 12
_PHRASE_WORDS = 5
"""Words in a row by which a quote is found that is written with markup in the file, such as "``forget`` [#4](url)".
With it 684 of 695 quotes of five reports on manuals in RST and Markdown have a line, without it 266."""

FROM_PICTURE = mark_message("read from a picture by a model")
"""Remark on a source that is the reading of a picture, and on a sentence with no other source."""
MAX_DOUBTFUL_SHOWN = 5
"""Words recognized with low confidence that the place of a quote names."""


class FilePlace(NamedTuple):
    """DocumentPlace of a quote in the file that its source was read from."""

    line: int
    """Number of its first line, from 1; of its first words in a row that occur once if it is written with markup."""
    offset: int | None
    """Number of characters before it in the file; None if it is written with markup."""


def find_heading(text: str, offset: int) -> str:
    """Return the last heading before an offset in the stored text of a document; empty without one."""
    return next(iter(find_headings(text, offset)[-1:]), "")


def find_headings(text: str, offset: int) -> tuple[str, ...]:
    """Return the headings above an offset in the stored text of a document, outermost first."""
    above: dict[int, str] = {}
    for heading in _HEADING.finditer(text, 0, offset):
        level = len(heading["level"])
        above = {other: name for other, name in above.items() if other < level} | {level: flatten(heading["name"])}
    return tuple(above.values())


class TablePlace(NamedTuple):
    """Place of a quote in a table of its source."""

    row: int
    """Number of its row, from 1; the first one mostly names the columns."""
    columns: tuple[str, ...]
    """Names of the columns of the quoted cells."""


def find_table_place(text: str, start: int, end: int) -> TablePlace | None:
    """Return the place in a table of the stored text of a document, or None outside of tables."""
    if not _ROW_START.match(text, text.rfind("\n", 0, start) + 1):
        return None
    first = text.rfind("\n\n", 0, start) + 2 if "\n\n" in text[:start] else 0
    last = text.find("\n\n", start)
    for table in list_document_tables(text[first : last if last >= 0 else len(text)]):
        for number, row in enumerate(table.rows, 1):
            offset = first + row.start + 2
            if offset + len(" | ".join(row.cells)) + 2 < start:
                continue
            columns = []
            for name, cell in zip(table.columns, row.cells, strict=False):
                if cell and offset < end and offset + len(cell) > start:
                    columns.append(flatten(name))
                offset += len(cell) + 3
            return TablePlace(number, tuple(filter(None, columns[:_MAX_COLUMNS_NAMED])))
    return None


class FileText:
    """Text of a file in which quotes are found."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _phrases(self) -> dict[tuple[str, ...], int]:
        """Offsets of the words in a row that occur once."""
        phrases = _list_phrases(self._text)
        times = Counter(phrase for phrase, _ in phrases)
        return {phrase: offset for phrase, offset in phrases if times[phrase] == 1}

    def find(self, quote: str) -> FilePlace | None:
        """Return the place of a quote, white space and markup aside; None if it is not certain."""
        pattern = re.compile(r"\s+".join(map(re.escape, quote.split())))
        places = [match.start() for match in pattern.finditer(self._text)] if quote.strip() else []
        if len(places) == 1:
            return FilePlace(self._count_lines(places[0]), places[0])
        offsets = (self._phrases[phrase] for phrase, _ in _list_phrases(quote) if phrase in self._phrases)
        offset = next(offsets, None)
        return None if offset is None else FilePlace(self._count_lines(offset), None)

    def _count_lines(self, offset: int) -> int:
        return self._text.count("\n", 0, offset) + 1


def _list_phrases(text: str) -> list[tuple[tuple[str, ...], int]]:
    """Return all words in a row with the offset of the first one."""
    words = list(_WORD.finditer(text))
    rows = (words[n : n + _PHRASE_WORDS] for n in range(len(words) - _PHRASE_WORDS + 1))
    return [(tuple(word[0] for word in row), row[0].start()) for row in rows]


def describe_place(citation: ResultCitation) -> str:
    """Return the place of a quote in words: part, line or offset in the stored text, heading, and recognized words."""
    part = describe_part(citation)
    heading = translate(", under “{heading}”", heading=flatten(citation.heading)) if citation.heading else ""
    if citation.line is None:
        offset = translate("from character {start}", start=citation.start)
    else:
        offset = translate("line {line}", line=citation.line)
    row = describe_row(citation)
    return f"{part and f'{part}, '}{offset}{heading}{row}{describe_recognition([citation])}"


def describe_part(citation: ResultCitation) -> str:
    """Return the page or slide of a quote, and the other part of its document; empty without one."""
    page = ""
    if citation.page and citation.on_slide:
        page = translate("slide {slide}", slide=citation.page)
    elif citation.page:
        page = translate("page {page}", page=citation.page)
    return ", ".join(filter(None, (_translate_label(citation.place), page)))


def _translate_label(place: str) -> str:
    """Return the label of a place in the language of the report, as far as it has words of ours."""
    if place.startswith(FIGURE_LABEL):
        return translate("Figure {number}", number=place.removeprefix(FIGURE_LABEL))
    cells = parse_cells(place)
    if cells is None or cells.before != format_sheet(cells.sheet):
        return place
    sheet = translate("sheet {sheet}", sheet=cells.sheet) if cells.sheet else ""
    is_range = ":" in cells.names
    shown = translate("cells {cells}", cells=cells.names) if is_range else translate("cell {cell}", cell=cells.names)
    return ", ".join(filter(None, (sheet, shown)))


def describe_row(citation: ResultCitation) -> str:
    """Return the row of a quote in a table, with the names of the quoted columns; empty for other quotes."""
    if citation.row is None:
        return ""
    # Cells of a sheet have the numbers of their rows.
    row = "" if parse_cells(citation.place) else translate(", row {row} of a table", row=citation.row)
    names = ", ".join(f"“{name}”" for name in citation.columns)
    if len(citation.columns) == 1:
        return row + translate(", column {name}", name=names)
    return row + (translate(", columns {names}", names=names) if names else "")


def describe_recognition(citations: Sequence[ResultCitation]) -> str:
    """Return a remark on quotes that were recognized in pictures, with their doubtful words; empty for other quotes."""
    if any(citation.from_picture for citation in citations):
        return f", {translate(FROM_PICTURE)}"
    if not any(citation.recognized for citation in citations):
        return ""
    doubtful = list(dict.fromkeys(flatten(word) for citation in citations for word in citation.doubtful))
    shown = ", ".join(f"“{word}”" for word in doubtful[:MAX_DOUBTFUL_SHOWN])
    more = " …" if len(doubtful) > MAX_DOUBTFUL_SHOWN else ""
    if not doubtful:
        return translate(", recognized text")
    return translate(", recognized text ({words} uncertain)", words=shown + more)
