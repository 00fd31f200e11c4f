"""Write the lines and tables of pages in normal form.

A page consists of lines without paragraphs: lines are joined, words that were hyphenated at the end of a line are
rejoined, and repeated lines (running heads, footers, page numbers) are removed. A footnote comes before the paragraph
that it interrupts, and a table that continues on the next page is one table. Recognized words keep their boxes.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from statistics import median
from types import MappingProxyType
from typing import NamedTuple

from tenure.algorithms.chunking.prose import CAPTION
from tenure.contracts.evidence.corpora import NO_TEXT
from tenure.contracts.evidence.recognition import RecognizedWord
from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import NormalFormWriter, collapse_whitespace

# "12", "- 3 -", "Page 4 of 17", "xiv".
_PAGE_NUMBER = re.compile(r"\W*(?:page\s+)?(?:\d{1,4}|[ivxlc]{1,6})(?:\s*(?:/|of)\s*\d{1,4})?\W*$", re.IGNORECASE)
_BULLET = re.compile(r"[•▪◦‣●–*-]\s+(?=\S)")  # "• first", "- second".
_BROKEN_WORD = re.compile(r"(?<!\w)(\w*[^\W\d_])-$")  # "infor-" at the end of a line, but not "2020-".
_WORD = re.compile(r"\w+(?:-\w+)*")  # "well-known" is one word.
MAX_PARAGRAPH_CHARACTERS = 10_000
"""Characters after which a paragraph ends with its sentence, and after twice as many in any case: lines of equal length
show no end, and 10,000 characters are four pages."""
_SENTENCE_END = re.compile(r"[.!?:][\"'”’)\]]*$")  # 'He said "stop."' and "the following:".
# "3.2 " of "3.2 Results", "Chapter 4: ", "A.1 ".
_NUMBERING = re.compile(
    r"(?:(?:chapter|section|appendix)\s+)?(?:(?<![\d.])\d++(?:\.\d++)*+|[a-z](?:\.\d+)+)[.:]?\s+(?=\S)"
)
# "12 The bees of Kent", "The bees of Kent 12": a running head with the number of the page.
_NUMBERED_HEAD = re.compile(r"\d+\s+\D|.*\D\s\d+$")
_MAX_SIZE_CHANGE = 0.12  # Share by which the type of a footnote or a caption differs at least from that of the text.
_MAX_DISTANCE = 1.35  # Distance of two lines of a paragraph, in the usual distance of lines.
NOTE_MARK = re.compile(r"(?:\d{1,3}|[*†‡§¶]+)\s*\S")  # "12 See", "* In", "1The".
_EDGE_LINES = 2  # A running head or foot is among the two first or last lines of its page,
_MIN_PAGES = 3  # ... and on this number of pages or more.
_MAX_PAGES_NAMED = 5


class WordBox(NamedTuple):
    """A recognized word of a line; coordinates are shares of the width and height of its page or picture."""

    offset: int
    """Offset of its first character in the line."""
    text: str
    left: float
    top: float
    right: float
    bottom: float
    confidence: float
    """Confidence of the model, from 0 to 1."""


@dataclass(frozen=True)
class PageLine:
    """A line of a page; without words if it comes from a text layer."""

    text: str
    words: tuple[WordBox, ...] = ()
    top: float = 0.0
    """Place on its page from the top, in points or in pixels of a scan; 0 if it is unknown."""
    size: float = 0.0
    """Height of its type in points; 0 if it is unknown."""
    is_bold: bool = False
    level: int = 0
    """Level of a heading by its type, from 1; 0 for other lines."""
    is_note: bool = False
    """Whether it belongs to a footnote."""


class PageTable(NamedTuple):
    """Table of a page with its box, in points from the upper left corner."""

    left: float
    top: float
    right: float
    bottom: float
    rows: tuple[tuple[str, ...], ...]

    @property
    def middle(self) -> float:
        """Vertical middle."""
        return (self.top + self.bottom) / 2

    @property
    def text(self) -> str:
        """Cells of all rows."""
        return " ".join(chain.from_iterable(self.rows))


PageItem = PageLine | PageTable


def describe_unread(pages: Sequence[int], reason: str) -> str:
    """Return the pages of a scan that were not read, and the reason; empty if there are none."""
    if not pages:
        return ""
    more = f" and {len(pages) - _MAX_PAGES_NAMED} more" if len(pages) > _MAX_PAGES_NAMED else ""
    noun = "page" if len(pages) == 1 else "pages"
    return f"was read without the scanned {noun} {', '.join(map(str, pages[:_MAX_PAGES_NAMED]))}{more}: {reason}"


def fold_heading(text: str) -> str:
    """Fold a heading for comparison; outlines often omit its number."""
    return _NUMBERING.sub("", collapse_whitespace(text).casefold())


def _remove_margins(pages: Sequence[Sequence[PageItem]]) -> Iterator[list[PageItem]]:
    """Yield the pages without running heads, footers and page numbers."""
    counts = Counter(
        chain.from_iterable({_mask_numbers(page[i].text) for i in _get_edge_indices(page)} for page in pages)
    )
    min_count = max(_MIN_PAGES, len(pages) * 0.4)
    for page in pages:
        edges = _get_edge_indices(page)
        dropped = {
            i
            for i in edges
            # A running head with the page number may change with the chapter; other lines must recur on many pages.
            if counts[_mask_numbers(page[i].text)] >= (_MIN_PAGES if _NUMBERED_HEAD.match(page[i].text) else min_count)
        }
        if len(pages) > 1 and edges:
            dropped |= {i for i in (edges[0], edges[-1]) if _PAGE_NUMBER.match(page[i].text)}
        yield [line for i, line in enumerate(page) if i not in dropped]


def _get_edge_indices(page: Sequence[PageItem]) -> list[int]:
    """Return the indices of the first and last lines, from the top."""
    lines = sorted((i for i, item in enumerate(page) if isinstance(item, PageLine)), key=lambda i: page[i].top)
    return lines if len(lines) <= 2 * _EDGE_LINES else [*lines[:_EDGE_LINES], *lines[-_EDGE_LINES:]]


def _mask_numbers(line: str) -> str:
    """Return a line with its numbers masked, so that "page 3" and "page 4" are equal."""
    return re.sub(r"\d+", "#", line.casefold())


def write_pages(pages: Sequence[Sequence[PageItem]], outline: Mapping[str, int] = MappingProxyType({})) -> Document:
    """Return a document without a title; `outline` has the levels of its headings by their folded text.

    Raises:
        Unreadable: no page has a line.
    """
    bodies = list(_remove_margins(pages))
    # Pages of one line each, such as "Lot 7 was sold for 49 crowns.", are records that look like running heads.
    if 2 * sum(map(bool, bodies)) < sum(map(bool, pages)):
        bodies = [[*page] for page in pages]
    lines = [item for page in bodies for item in page if isinstance(item, PageLine)]
    if not any(bodies):
        raise Unreadable(NO_TEXT)
    form = NormalFormWriter()
    writer = _ParagraphWriter(form, lines)
    for page in bodies:
        writer.begin_page()
        for item in page:
            if isinstance(item, PageTable):
                writer.table(item)
            elif level := outline.get(fold_heading(item.text), item.level):
                writer.heading(level, item)
            elif item.is_note:
                writer.note(item)
            else:
                writer.line(item)
        writer.end_page()
    page_starts = writer.end()
    return Document(title="", text=form.text, kind="prose", pages=page_starts, words=tuple(writer.words))


class _ParagraphWriter:
    """Writer that joins lines into paragraphs, and records the starts of pages, which may be inside a paragraph."""

    def __init__(self, form: NormalFormWriter, lines: Sequence[PageLine]) -> None:
        self._form = form
        self._words = Counter(word.casefold() for line in lines for word in _WORD.findall(line.text))
        # The widest lines are often tables; most lines of a column are nearly as long as the 90th percentile.
        self._width = sorted(len(line.text) for line in lines)[int(len(lines) * 0.9)] if lines else 0
        distances = [below.top - line.top for line, below in pairwise(lines) if below.top > line.top]
        self._distance = median(distances) if distances else 0.0
        self._before = PageLine("")
        self._paragraph = ""
        self._page_offsets: list[int] = []  # places in the paragraph
        self._pending_pages = 0
        self._pages: list[int] = []
        self._page = 0
        self._placed: list[tuple[int, int, WordBox]] = []  # page, place in the paragraph, word
        self._notes: list[str] = []
        self._columns: tuple[str, ...] = ()  # first row of the table before, without a line after it
        self.words: list[RecognizedWord] = []

    def begin_page(self) -> None:
        self._pending_pages += 1
        self._page += 1

    def heading(self, level: int, line: PageLine) -> None:
        self._flush()
        self._form.add_heading(level, line.text)
        start = self._form.length - len(line.text)
        self._begin(start)
        self.words += [_place_word(self._page, start + word.offset, word) for word in line.words]
        self._before = line

    def line(self, line: PageLine) -> None:
        text = line.text
        if self._paragraph and self._starts_paragraph(line):
            self._flush()
        self._paragraph = _join_line(self._paragraph, text, self._words) if self._paragraph else text
        start = len(self._paragraph) - len(text)
        self._page_offsets += [start] * self._pending_pages
        self._pending_pages = 0
        self._placed += [(self._page, start + word.offset, word) for word in line.words]
        self._before = line
        self._columns = ()

    def note(self, line: PageLine) -> None:
        if self._notes and not NOTE_MARK.match(line.text):
            self._notes[-1] = _join_line(self._notes[-1], line.text, self._words)
        else:
            self._notes.append(line.text)

    def table(self, table: PageTable) -> None:
        self._flush()
        rows = [tuple(cell.replace("|", "¦") for cell in row) for row in table.rows]
        if rows[0] == self._columns:
            rows = rows[1:]
        else:
            self._form.end_table()
            self._columns = rows[0]
        for row in rows:
            before = self._form.length
            self._form.add_row(row)
            self._begin(before + (self._form.length > before and bool(before)))
        self._before = PageLine("")

    def end_page(self) -> None:
        """Write the footnotes of the page before its last paragraph, which may continue on the next page."""
        if self._notes and self._page_offsets:
            self._flush()  # the notes would be on the page before
        for note in self._notes:
            self._form.add_paragraph(note)
            self._begin(self._form.length - len(note))
        self._notes.clear()

    def end(self) -> tuple[int, ...]:
        self._flush()
        self._begin(self._form.length)
        return tuple(self._pages)

    def _begin(self, offset: int) -> None:
        """Record an offset as the start of all pages since the last line."""
        self._pages += [offset] * self._pending_pages
        self._pending_pages = 0

    def _starts_paragraph(self, line: PageLine) -> bool:
        """Return whether a line starts a paragraph, judged by the previous line."""
        before, text = self._before, line.text
        if _BULLET.match(text) or CAPTION.match(text):
            return True
        if len(self._paragraph) > MAX_PARAGRAPH_CHARACTERS and (
            _SENTENCE_END.search(before.text) or len(self._paragraph) > 2 * MAX_PARAGRAPH_CHARACTERS
        ):
            return True
        if _BROKEN_WORD.search(before.text) or text[:1].islower():
            return False
        if before.size and line.size and abs(line.size - before.size) > _MAX_SIZE_CHANGE * before.size:
            return True
        if self._distance and before.top and line.top - before.top > _MAX_DISTANCE * self._distance:
            return True
        if _SENTENCE_END.search(before.text):
            return len(before.text) < self._width * 0.85
        return len(before.text) < self._width * 0.6

    def _flush(self) -> None:
        if not self._paragraph:
            return
        _write_paragraph(self._form, self._paragraph)
        # Offsets are counted from the end, because a leading list mark may have been removed.
        start = self._form.length - len(self._paragraph)
        self._pages += [max(start + offset, 0) for offset in self._page_offsets]
        self.words += [_place_word(page, max(start + offset, 0), word) for page, offset, word in self._placed]
        self._paragraph = ""
        self._page_offsets.clear()
        self._placed.clear()


def _place_word(page: int, start: int, word: WordBox) -> RecognizedWord:
    return RecognizedWord(start, start + len(word.text), page, *word[2:])


def _join_line(paragraph: str, line: str, words: Counter[str]) -> str:
    """Append a line; a hyphenated word is rejoined unless the document elsewhere spells it with a hyphen."""
    # The last word alone is searched: a paragraph without a recognizable end grows to the whole document.
    broken = _BROKEN_WORD.search(paragraph[paragraph.rfind(" ") + 1 :]) if paragraph.endswith("-") else None
    rest = _WORD.match(line)
    if broken is None or rest is None or not line[:1].islower():
        return f"{paragraph} {line}"
    joined, hyphenated = (f"{broken[1]}{mark}{rest[0]}".casefold() for mark in ("", "-"))
    return paragraph + line if words[hyphenated] > words[joined] else paragraph[:-1] + line


def _write_paragraph(form: NormalFormWriter, paragraph: str) -> None:
    if bullet := _BULLET.match(paragraph):
        form.add_item(paragraph[bullet.end() :])
        form.close_items()
    else:
        form.add_paragraph(paragraph)
