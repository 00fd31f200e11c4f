"""Parse PDF files with pdfium: text and tables of the text layer, and recognized text of pages without one.

Headings come from the outline of the document, or from size and weight of the type if it has none.
"""

import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium

from tenure.sources.document import deadline
from tenure.sources.document.document import Document, EmbeddedPicture, RecognizedText, Unreadable
from tenure.sources.document.normal_form import collapse_whitespace
from tenure.sources.parsers import recognition
from tenure.sources.parsers.page_lines import PageItem, PageLine, PageTable, describe_unread, fold_heading, write_pages
from tenure.sources.parsers.page_styles import mark_styles
from tenure.sources.parsers.page_tables import PlacedLine, parse_layout
from tenure.sources.parsers.pdf_page import PdfPage
from tenure.sources.parsers.pictures.embedded import MAX_PICTURES, write_recognized
from tenure.sources.parsers.pictures.pdf_figures import PageFigure, find_figures, locate_figures
from tenure.sources.parsers.pictures.pixels import render_box
from tenure.sources.parsers.registry import Format

PDF: Final = Format(
    parser="parse_pdf",
    description="PDF: text, headings, tables and figures, without running heads; scans with the extra `ocr`",
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
# "untitled", "Microsoft PlacedWord - report.doc", "paper.dvi".
_PLACEHOLDER_TITLE = re.compile(r"(?:untitled|microsoft word\b.*|.*\.(?:docx?|tex|dvi|indd|pdf))$", re.IGNORECASE)
_DATE = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?")  # "D:20210309" of "D:20210309101500Z".
# Replacement characters and noncharacters, private use, and unassigned: glyphs without a map to Unicode.
_MEANINGLESS = frozenset(("Co", "Cn", "Cs", "So"))
_MAX_STAMP_CHARACTERS = 100
"""Length up to which the text layer of a scanned page is taken for a stamp, such as "Downloaded by …"."""
_MAX_PLACED_CHARACTERS = 2_000_000
"""Characters of a file whose places are read: about 900 pages, and 17 s of computing time on a busy machine."""
_MIN_SCAN_SHARE = 0.5
"""Share of a page that a picture covers if the page is a scan."""
_MAX_BROKEN_SHARE = 0.2
"""Share of characters without meaning from which a text layer is broken."""


_ReadFigure = tuple[int, PageFigure, RecognizedText | None]
"""Page from 1, figure, and its recognized text."""
_Unread = tuple[list[int], str]
"""Numbers of scanned pages without recognized text, and the reason."""


def parse_pdf(data: bytes, limit_bytes: int = 0) -> Document:
    """Parse a PDF; `limit_bytes` has no effect."""
    try:
        with _PDFIUM:
            pages, outline, fields, scans, unread, figures = _extract_text(data)
    except pypdfium2.PdfiumError as error:
        raise Unreadable("is a damaged PDF") from error
    if not any(pages):
        raise Unreadable(f"has no text layer, and {scans[1]}" if scans[0] else "has no text")
    title = collapse_whitespace(fields.get("Title", ""))
    document = write_pages(mark_styles(pages, with_headings=not outline), outline)
    return replace(
        document,
        # The first heading of an outline is often "Introduction"; the file name is a better title.
        title="" if _PLACEHOLDER_TITLE.match(title) else title,
        author=collapse_whitespace(fields.get("Author", "")),
        published=_parse_date(fields.get("CreationDate", "")),
        pictures=tuple(_place_figures(figures, document)),
        unread="; it ".join(filter(None, (describe_unread(*scans), unread))),
    )


def _place_figures(figures: Sequence[_ReadFigure], document: Document) -> Iterator[EmbeddedPicture]:
    places = locate_figures([figure[:2] for figure in figures], document.text, document.pages)
    for (page, figure, recognized), start in zip(figures, places, strict=True):
        yield EmbeddedPicture(start, "", figure.caption, b"", figure.label, page, figure.box, recognized)


def _parse_date(text: str) -> str:
    date = _DATE.match(text)
    return "-".join(filter(None, date.groups())) if date else ""


def _extract_text(
    data: bytes,
) -> tuple[list[list[PageItem]], dict[str, int], dict[str, str], _Unread, str, list[_ReadFigure]]:
    """Return lines and tables per page, outline levels, metadata, unread scans, other unread parts, and figures.

    The levels of the outline are found by folded titles; the other unread parts are described in words.
    """
    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise Unreadable(_REASONS.get(error.err_code, "is not a valid PDF")) from error
    try:
        outline = {fold_heading(mark.get_title()): mark.level + 1 for mark in pdf.get_toc()}
        pages: list[list[PageItem]] = []
        placed = 0
        unread = ""
        scans: list[int] = []
        figures: list[tuple[int, PageFigure]] = []
        for n in range(len(pdf)):
            if n and deadline.is_reached(placed):
                unread = f"was read to page {n} of {len(pdf)}: {deadline.OUT_OF_TIME}"
                break
            source = pdf[n]  # takes 3 ms in a file of 600 pages, and longer in larger ones
            page = PdfPage(source)
            placed += page.count
            if page.is_dense or placed > _MAX_PLACED_CHARACTERS:
                unread = (
                    unread or f"was read without columns and tables on page {n + 1} and later pages: it is too long"
                )
                pages.append([*_extract_lines(page.get_text())])
            else:
                items = parse_layout(page.read_words(), page.read_rules())
                pages.append([_style_line(page, item) for item in items])
                figures += [(n + 1, figure) for figure in find_figures(source, page, items)] if items else []
            if _is_scan(source, "".join(line.text for line in pages[n])):
                scans.append(n)
        unread_scans = _recognize_scans(pdf, pages, scans)
        return pages, outline, pdf.get_metadata_dict(), unread_scans, unread, _recognize_figures(pdf, figures)
    finally:
        pdf.close()


def _extract_lines(text: str) -> Iterator[PageLine]:
    return (PageLine(words) for line in text.splitlines() if (words := collapse_whitespace(line)))


def _style_line(page: PdfPage, item: PlacedLine | PageTable) -> PageItem:
    if isinstance(item, PageTable):
        return item._replace(rows=tuple(tuple(map(collapse_whitespace, row)) for row in item.rows))
    if item.words[0].is_turned:
        return PageLine(collapse_whitespace(item.text))
    is_bold = all(page.is_bold(word) for word in (item.words[0], item.words[-1]))
    return PageLine(collapse_whitespace(item.text), top=item.top, size=item.height, is_bold=is_bold)


def _recognize_scans(pdf: pypdfium2.PdfDocument, pages: list[list[PageItem]], scans: Sequence[int]) -> _Unread:
    """Replace the lines of scanned pages by recognized ones; return the pages for which that was not possible."""
    unread, reason = [], "no legible text was recognized"
    for n in scans:
        try:
            lines = recognition.recognize(_render(pdf[n]))
        except recognition.Unavailable as error:
            return [page + 1 for page in scans if page >= n], str(error)
        if _count_letters(lines) > _count_letters(pages[n]):
            pages[n] = [*lines]
        elif not pages[n]:
            unread.append(n + 1)
    return unread, reason


def _recognize_figures(pdf: pypdfium2.PdfDocument, figures: Sequence[tuple[int, PageFigure]]) -> list[_ReadFigure]:
    """Return figures with the text in their bitmaps, as long as there is time for it."""
    read: list[_ReadFigure] = []
    is_ready = recognition.is_available()
    for number, figure in figures[: MAX_PICTURES + 1]:
        recognized = None
        if is_ready and figure.is_bitmap:
            try:
                recognized = write_recognized(render_box(pdf[number - 1], figure.box))
            except recognition.Unavailable:
                is_ready = False
        read.append((number, figure, _move_words(recognized, number, figure.box) if recognized else None))
    return read


def _move_words(recognized: RecognizedText, page: int, box: tuple[float, float, float, float]) -> RecognizedText:
    """Return recognized text with the places of its words on the page."""
    left, top, right, bottom = box
    width, height = right - left, bottom - top
    return recognized._replace(
        words=tuple(
            word._replace(
                page=page,
                left=left + word.left * width,
                top=top + word.top * height,
                right=left + word.right * width,
                bottom=top + word.bottom * height,
            )
            for word in recognized.words
        )
    )


def _is_scan(page: pypdfium2.PdfPage, text: str) -> bool:
    """Return whether the content of a page is not in its text layer, which is missing, a stamp only, or broken."""
    if not text:
        return next(page.get_objects(max_depth=1), None) is not None
    if sum(unicodedata.category(c) in _MEANINGLESS for c in text) > _MAX_BROKEN_SHARE * len(text):
        return True
    if len(text) > _MAX_STAMP_CHARACTERS:
        return False
    width, height = page.get_size()
    boxes = [picture.get_bounds() for picture in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=2)]
    covered = max(((right - left) * (top - bottom) for left, bottom, right, top in boxes), default=0.0)
    return bool(covered > _MIN_SCAN_SHARE * width * height)


def _count_letters(lines: Sequence[PageItem]) -> int:
    return sum(c.isalnum() for line in lines for c in line.text)


def _render(page: pypdfium2.PdfPage) -> recognition.Image:
    scale = recognition.MAX_SIDE / max(*page.get_size(), 1.0)
    bitmap = page.render(scale=scale, rev_byteorder=False)
    return np.asarray(bitmap.to_numpy()[:, :, :3])
