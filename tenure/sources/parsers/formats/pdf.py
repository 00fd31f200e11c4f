"""Parse the text layer of PDF files with pdfium.

A page consists of lines without paragraphs: lines are joined, words that were hyphenated at the end of a line are
rejoined, and repeated lines (running heads, footers, page numbers) are removed. Headings come from the outline of the
document, if it has one; they are never inferred from font sizes.
"""

import re
import threading
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Final

import pypdfium2
import pypdfium2.raw as pdfium

from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import NormalFormWriter, collapse_whitespace
from tenure.sources.parsers.registry import Format

PDF: Final = Format(
    parser="parse_pdf",
    description="PDF: the text layer, without running heads and page numbers, and the position of each page",
    suffixes=(".pdf",),
    media_types=("application/pdf",),
    is_binary=True,
    signature=b"%PDF-",
)

# pdfium has global state and is not thread-safe.
_PDFIUM = threading.Lock()
_REASONS = {
    pdfium.FPDF_ERR_PASSWORD: "is encrypted",
    pdfium.FPDF_ERR_SECURITY: "is encrypted in a way that cannot be read",
    pdfium.FPDF_ERR_FORMAT: "is not a valid PDF",
}
# "12", "- 3 -", "Page 4 of 17", "xiv".
_PAGE_NUMBER = re.compile(r"\W*(?:page\s+)?(?:\d{1,4}|[ivxlc]{1,6})(?:\s*(?:/|of)\s*\d{1,4})?\W*$", re.IGNORECASE)
_BULLET = re.compile(r"[•▪◦‣●–*-]\s+(?=\S)")  # "• first", "- second".
_BROKEN_WORD = re.compile(r"(?<!\w)(\w*[^\W\d_])-$")  # "infor-" at the end of a line, but not "2020-".
_WORD = re.compile(r"\w+(?:-\w+)*")  # "well-known" is one word.
_SENTENCE_END = re.compile(r"[.!?:][\"'”’)\]]*$")  # 'He said "stop."' and "the following:".
# "untitled", "Microsoft Word - report.doc", "paper.dvi".
_PLACEHOLDER_TITLE = re.compile(r"(?:untitled|microsoft word\b.*|.*\.(?:docx?|tex|dvi|indd|pdf))$", re.IGNORECASE)
_DATE = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?")  # "D:20210309" of "D:20210309101500Z".
# "3.2 " of "3.2 Results", "Chapter 4: ", "A.1 ".
_NUMBERING = re.compile(
    r"(?:(?:chapter|section|appendix)\s+)?(?:(?<![\d.])\d++(?:\.\d++)*+|[a-z](?:\.\d+)+)[.:]?\s+(?=\S)"
)
# "12 The bees of Kent", "The bees of Kent 12": a running head with the number of the page.
_NUMBERED_HEAD = re.compile(r"\d+\s+\D|.*\D\s\d+$")
_EDGE_LINES = 2  # A running head or foot is among the two first or last lines of its page,
_MIN_PAGES = 3  # ... and on this number of pages or more.


def parse_pdf(data: bytes, limit_bytes: int = 0) -> Document:
    """Parse the text layer of a PDF; `limit_bytes` has no effect."""
    with _PDFIUM:
        pages, outline, fields = _extract_text(data)
    bodies = list(_remove_margins(pages))
    if not any(bodies):
        raise Unreadable("has no text layer")
    form = NormalFormWriter()
    page_starts = _write_pages(form, bodies, outline)
    title = collapse_whitespace(fields.get("Title", ""))
    return Document(
        # The first heading of an outline is often "Introduction"; the file name is a better title.
        title="" if _PLACEHOLDER_TITLE.match(title) else title,
        text=form.text,
        kind="prose",
        author=collapse_whitespace(fields.get("Author", "")),
        published=_parse_date(fields.get("CreationDate", "")),
        pages=page_starts,
    )


def _parse_date(text: str) -> str:
    date = _DATE.match(text)
    return "-".join(filter(None, date.groups())) if date else ""


def _extract_text(data: bytes) -> tuple[list[list[str]], dict[str, int], dict[str, str]]:
    """Return lines per page, outline levels by folded title, and the metadata."""
    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise Unreadable(_REASONS.get(error.err_code, "is not a valid PDF")) from error
    try:
        outline = {_fold_heading(mark.get_title()): mark.level + 1 for mark in pdf.get_toc()}
        return [_extract_page_lines(pdf, n) for n in range(len(pdf))], outline, pdf.get_metadata_dict()
    except pypdfium2.PdfiumError as error:
        raise Unreadable("is a damaged PDF") from error
    finally:
        pdf.close()


def _extract_page_lines(pdf: pypdfium2.PdfDocument, n: int) -> list[str]:
    page = pdf[n]
    # pdfium replaces a hyphen at the end of a line and the line break by this character.
    text = page.get_textpage().get_text_bounded().replace("\x02", "-\n")
    return [words for line in text.splitlines() if (words := collapse_whitespace(line))]


def _fold_heading(text: str) -> str:
    """Fold a heading for comparison; outlines often omit its number."""
    return _NUMBERING.sub("", collapse_whitespace(text).casefold())


def _remove_margins(pages: list[list[str]]) -> Iterator[list[str]]:
    """Yield the pages without running heads, footers and page numbers."""
    counts = Counter(chain.from_iterable({_mask_numbers(page[i]) for i in _get_edge_indices(page)} for page in pages))
    min_count = max(_MIN_PAGES, len(pages) * 0.4)
    for page in pages:
        dropped = {
            i
            for i in _get_edge_indices(page)
            # A running head with the page number may change with the chapter; other lines must recur on many pages.
            if counts[_mask_numbers(page[i])] >= (_MIN_PAGES if _NUMBERED_HEAD.match(page[i]) else min_count)
        }
        if len(pages) > 1:
            dropped |= {i for i in _get_edge_indices(page) if i in (0, len(page) - 1) and _PAGE_NUMBER.match(page[i])}
        yield [line for i, line in enumerate(page) if i not in dropped]


def _get_edge_indices(page: list[str]) -> set[int]:
    return {i for i in (*range(_EDGE_LINES), *range(len(page) - _EDGE_LINES, len(page))) if 0 <= i < len(page)}


def _mask_numbers(line: str) -> str:
    """Return a line with its numbers masked, so that "page 3" and "page 4" are equal."""
    return re.sub(r"\d+", "#", line.casefold())


def _write_pages(form: NormalFormWriter, pages: list[list[str]], outline: dict[str, int]) -> tuple[int, ...]:
    lines = [line for page in pages for line in page]
    writer = _ParagraphWriter(form, lines)
    before = ""
    for page in pages:
        writer.begin_page()
        for line in page:
            if level := outline.get(_fold_heading(line)):
                writer.heading(level, line)
            else:
                writer.line(before, line)
            before = line
    return writer.end()


class _ParagraphWriter:
    """Writer that joins lines into paragraphs, and records the starts of pages, which may be inside a paragraph."""

    def __init__(self, form: NormalFormWriter, lines: list[str]) -> None:
        self._form = form
        self._words = Counter(word.casefold() for line in lines for word in _WORD.findall(line))
        # The widest lines are often tables; most lines of a column are nearly as long as the 90th percentile.
        self._width = sorted(map(len, lines))[int(len(lines) * 0.9)]
        self._paragraph = ""
        self._page_offsets: list[int] = []  # places in the paragraph
        self._pending_pages = 0
        self._pages: list[int] = []

    def begin_page(self) -> None:
        self._pending_pages += 1

    def heading(self, level: int, line: str) -> None:
        self._flush()
        self._form.add_heading(level, line)
        self._begin(self._form.length - len(line))

    def line(self, before: str, line: str) -> None:
        if self._paragraph and _starts_paragraph(before, line, self._width):
            self._flush()
        self._paragraph = _join_line(self._paragraph, line, self._words) if self._paragraph else line
        self._page_offsets += [len(self._paragraph) - len(line)] * self._pending_pages
        self._pending_pages = 0

    def end(self) -> tuple[int, ...]:
        self._flush()
        self._begin(self._form.length)
        return tuple(self._pages)

    def _begin(self, offset: int) -> None:
        """Record an offset as the start of all pages since the last line."""
        self._pages += [offset] * self._pending_pages
        self._pending_pages = 0

    def _flush(self) -> None:
        _write_paragraph(self._form, self._paragraph)
        # Offsets are counted from the end, because a leading list mark may have been removed.
        self._pages += [max(self._form.length - len(self._paragraph) + offset, 0) for offset in self._page_offsets]
        self._paragraph = ""
        self._page_offsets.clear()


def _starts_paragraph(before: str, line: str, width: int) -> bool:
    """Return whether a line starts a paragraph, judged by the previous line."""
    if _BULLET.match(line):
        return True
    if _BROKEN_WORD.search(before) or line[:1].islower():
        return False
    if _SENTENCE_END.search(before):
        return len(before) < width * 0.85
    return len(before) < width * 0.6


def _join_line(paragraph: str, line: str, words: Counter[str]) -> str:
    """Append a line; a hyphenated word is rejoined unless the document elsewhere spells it with a hyphen."""
    broken = _BROKEN_WORD.search(paragraph)
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
