"""Parse PDF files with pdfium: the text layer, and recognized text of pages without one.

Headings come from the outline of the document, if it has one; they are never inferred from font sizes.
"""

import re
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pypdfium2
import pypdfium2.raw as pdfium

from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import collapse_whitespace
from tenure.sources.parsers import recognition
from tenure.sources.parsers.page_lines import PageLine, describe_unread, fold_heading, write_pages
from tenure.sources.parsers.registry import Format

PDF: Final = Format(
    parser="parse_pdf",
    description="PDF: the text layer, without running heads and page numbers; scanned pages with the extra `ocr`",
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
# "untitled", "Microsoft Word - report.doc", "paper.dvi".
_PLACEHOLDER_TITLE = re.compile(r"(?:untitled|microsoft word\b.*|.*\.(?:docx?|tex|dvi|indd|pdf))$", re.IGNORECASE)
_DATE = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?")  # "D:20210309" of "D:20210309101500Z".
# Replacement characters and noncharacters, private use, and unassigned: glyphs without a map to Unicode.
_MEANINGLESS = frozenset(("Co", "Cn", "Cs", "So"))
_MAX_STAMP_CHARACTERS = 100
"""Length up to which the text layer of a scanned page is taken for a stamp, such as "Downloaded by …"."""
_MIN_SCAN_SHARE = 0.5
"""Share of a page that a picture covers if the page is a scan."""
_MAX_BROKEN_SHARE = 0.2
"""Share of characters without meaning from which a text layer is broken."""


def parse_pdf(data: bytes, limit_bytes: int = 0) -> Document:
    """Parse a PDF; `limit_bytes` has no effect."""
    try:
        with _PDFIUM:
            pages, outline, fields, unread = _extract_text(data)
    except pypdfium2.PdfiumError as error:
        raise Unreadable("is a damaged PDF") from error
    if not any(pages):
        raise Unreadable(f"has no text layer, and {unread[1]}" if unread[0] else "has no text")
    title = collapse_whitespace(fields.get("Title", ""))
    return replace(
        write_pages(pages, outline),
        # The first heading of an outline is often "Introduction"; the file name is a better title.
        title="" if _PLACEHOLDER_TITLE.match(title) else title,
        author=collapse_whitespace(fields.get("Author", "")),
        published=_parse_date(fields.get("CreationDate", "")),
        unread=describe_unread(*unread),
    )


def _parse_date(text: str) -> str:
    date = _DATE.match(text)
    return "-".join(filter(None, date.groups())) if date else ""


_Unread = tuple[list[int], str]
"""Numbers of scanned pages without recognized text, and the reason."""


def _extract_text(data: bytes) -> tuple[list[list[PageLine]], dict[str, int], dict[str, str], _Unread]:
    """Return lines per page, outline levels by folded title, the metadata, and the scanned pages that were not read."""
    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise Unreadable(_REASONS.get(error.err_code, "is not a valid PDF")) from error
    try:
        outline = {fold_heading(mark.get_title()): mark.level + 1 for mark in pdf.get_toc()}
        pages = [_extract_page_lines(pdf, n) for n in range(len(pdf))]
        unread = _recognize_scans(pdf, pages)
        return pages, outline, pdf.get_metadata_dict(), unread
    finally:
        pdf.close()


def _extract_page_lines(pdf: pypdfium2.PdfDocument, n: int) -> list[PageLine]:
    page = pdf[n]
    # pdfium replaces a hyphen at the end of a line and the line break by this character.
    text = page.get_textpage().get_text_bounded().replace("\x02", "-\n")
    return [PageLine(words) for line in text.splitlines() if (words := collapse_whitespace(line))]


def _recognize_scans(pdf: pypdfium2.PdfDocument, pages: list[list[PageLine]]) -> _Unread:
    """Replace the lines of scanned pages by recognized ones; return the pages for which that was not possible."""
    scans = [n for n, lines in enumerate(pages) if _is_scan(pdf[n], "".join(line.text for line in lines))]
    unread, reason = [], "no legible text was recognized"
    for n in scans:
        try:
            lines = recognition.recognize(_render(pdf[n]))
        except recognition.Unavailable as error:
            return [page + 1 for page in scans if page >= n], str(error)
        if _count_letters(lines) > _count_letters(pages[n]):
            pages[n] = lines
        elif not pages[n]:
            unread.append(n + 1)
    return unread, reason


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


def _count_letters(lines: Sequence[PageLine]) -> int:
    return sum(c.isalnum() for line in lines for c in line.text)


def _render(page: pypdfium2.PdfPage) -> recognition.Image:
    scale = recognition.MAX_SIDE / max(*page.get_size(), 1.0)
    bitmap = page.render(scale=scale, rev_byteorder=False)
    return np.asarray(bitmap.to_numpy()[:, :, :3])
