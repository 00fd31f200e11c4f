"""PDF to the normal form, through pdfium's text layer.

A page knows lines, not paragraphs: lines are joined again, words broken at a line's end are mended, and what
a press repeats on every page (running heads, feet, page numbers) goes. Headings are taken from the
document's own outline, where it has one, and are never guessed from type sizes.
"""

import re
import threading
from collections import Counter
from collections.abc import Iterator
from itertools import chain

import pypdfium2
import pypdfium2.raw as pdfium

from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import NormalForm, one_line

# pdfium keeps global state and must not be entered by two threads.
_PDFIUM = threading.Lock()
_REASONS = {
    pdfium.FPDF_ERR_PASSWORD: "is encrypted",
    pdfium.FPDF_ERR_SECURITY: "is encrypted in a way that cannot be read",
    pdfium.FPDF_ERR_FORMAT: "is not a valid PDF",
}
_PAGE_NUMBER = re.compile(r"\W*(?:page\s+)?(?:\d{1,4}|[ivxlc]{1,6})(?:\s*(?:/|of)\s*\d{1,4})?\W*$", re.IGNORECASE)
_BULLET = re.compile(r"[•▪◦‣●–*-]\s+(?=\S)")
_BROKEN_WORD = re.compile(r"(\w*[^\W\d_])-$")
_WORD = re.compile(r"\w+(?:-\w+)*")
_SENTENCE_END = re.compile(r"[.!?:][\"'”’)\]]*$")
_PLACEHOLDER_TITLE = re.compile(r"(?:untitled|microsoft word\b.*|.*\.(?:docx?|tex|dvi|indd|pdf))$", re.IGNORECASE)
_DATE = re.compile(r"D:(\d{4})(\d{2})?(\d{2})?")
_NUMBERING = re.compile(r"(?:(?:chapter|section|appendix)\s+)?(?:\d+(?:\.\d+)*|[a-z](?:\.\d+)+)[.:]?\s+(?=\S)")
_NUMBERED_HEAD = re.compile(r"\d+\s+\D|.*\D\s\d+$")
_EDGE = 2
_MIN_PAGES = 3


def parse_pdf(data: bytes) -> Document:
    """Read the text layer of a PDF.

    Raises:
        Unreadable: if it is encrypted, damaged, or only a scan.
    """
    with _PDFIUM:
        pages, outline, fields = _extract(data)
    told = list(_without_margins(pages))
    if not any(told):
        raise Unreadable("has no text layer")
    form = NormalForm()
    begun = _written(form, told, outline)
    title = one_line(fields.get("Title", ""))
    return Document(
        # The first heading of an outline is "Introduction"; the file name says more.
        title="" if _PLACEHOLDER_TITLE.match(title) else title,
        text=form.text,
        kind="prose",
        author=one_line(fields.get("Author", "")),
        published=_iso_date(fields.get("CreationDate", "")),
        pages=begun,
    )


def _iso_date(text: str) -> str:
    date = _DATE.match(text)
    return "-".join(filter(None, date.groups())) if date else ""


def _extract(data: bytes) -> tuple[list[list[str]], dict[str, int], dict[str, str]]:
    """Return lines per page, outline levels by folded title, and the metadata."""
    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise Unreadable(_REASONS.get(error.err_code, "is not a valid PDF")) from error
    try:
        outline = {_folded(mark.get_title()): mark.level + 1 for mark in pdf.get_toc()}
        return [_page_lines(pdf, n) for n in range(len(pdf))], outline, pdf.get_metadata_dict()
    except pypdfium2.PdfiumError as error:
        raise Unreadable("is a damaged PDF") from error
    finally:
        pdf.close()


def _page_lines(pdf: pypdfium2.PdfDocument, n: int) -> list[str]:
    page = pdf[n]
    # pdfium swallows a hyphen at a line's end together with the line break, and leaves this mark.
    text = page.get_textpage().get_text_bounded().replace("\x02", "-\n")
    return [words for line in text.splitlines() if (words := one_line(line))]


def _folded(text: str) -> str:
    """Fold a heading for comparison; outlines often leave out its number."""
    return _NUMBERING.sub("", one_line(text).casefold())


def _without_margins(pages: list[list[str]]) -> Iterator[list[str]]:
    """Yield the pages without running heads, feet and page numbers."""
    seen = Counter(chain.from_iterable({_shape(page[i]) for i in _edges(page)} for page in pages))
    least = max(_MIN_PAGES, len(pages) * 0.4)
    for page in pages:
        dropped = {
            i
            for i in _edges(page)
            # A running head with the page's number may change with the chapter; other lines must recur throughout.
            if seen[_shape(page[i])] >= (_MIN_PAGES if _NUMBERED_HEAD.match(page[i]) else least)
        }
        if len(pages) > 1:
            dropped |= {i for i in _edges(page) if i in (0, len(page) - 1) and _PAGE_NUMBER.match(page[i])}
        yield [line for i, line in enumerate(page) if i not in dropped]


def _edges(page: list[str]) -> set[int]:
    return {i for i in (*range(_EDGE), *range(len(page) - _EDGE, len(page))) if 0 <= i < len(page)}


def _shape(line: str) -> str:
    """A line with its numbers blanked, so that "page 3" and "page 4" are the same."""
    return re.sub(r"\d+", "#", line.casefold())


def _written(form: NormalForm, pages: list[list[str]], outline: dict[str, int]) -> tuple[int, ...]:
    """Write the lines of pages, and return where in the text each page begins."""
    lines = [line for page in pages for line in page]
    writer = _Writer(form, lines)
    before = ""
    for page in pages:
        writer.begin_page()
        for line in page:
            if level := outline.get(_folded(line)):
                writer.heading(level, line)
            else:
                writer.line(before, line)
            before = line
    return writer.end()


class _Writer:
    """Joins lines into paragraphs, and keeps where pages begin, which may be within one."""

    def __init__(self, form: NormalForm, lines: list[str]) -> None:
        self._form = form
        self._words = Counter(word.casefold() for line in lines for word in _WORD.findall(line))
        # The widest lines of a page are often tables; most lines of a column come close to the 90th percentile.
        self._width = sorted(map(len, lines))[int(len(lines) * 0.9)]
        self._paragraph = ""
        self._begun: list[int] = []  # places in the paragraph
        self._waiting = 0
        self._pages: list[int] = []

    def begin_page(self) -> None:
        self._waiting += 1

    def heading(self, level: int, line: str) -> None:
        self._flush()
        self._form.heading(level, line)
        self._begin(self._form.end - len(line))

    def line(self, before: str, line: str) -> None:
        if self._paragraph and _begins(before, line, self._width):
            self._flush()
        self._paragraph = _joined(self._paragraph, line, self._words) if self._paragraph else line
        self._begun += [len(self._paragraph) - len(line)] * self._waiting
        self._waiting = 0

    def end(self) -> tuple[int, ...]:
        self._flush()
        self._begin(self._form.end)
        return tuple(self._pages)

    def _begin(self, place: int) -> None:
        """Let all pages begin here that have begun since the last line."""
        self._pages += [place] * self._waiting
        self._waiting = 0

    def _flush(self) -> None:
        _write(self._form, self._paragraph)
        # Counted from its end, a place holds although a mark in front of the paragraph may have gone.
        self._pages += [max(self._form.end - len(self._paragraph) + place, 0) for place in self._begun]
        self._paragraph = ""
        self._begun.clear()


def _begins(before: str, line: str, width: int) -> bool:
    """Say whether a line begins a paragraph, judged by the line above it."""
    if _BULLET.match(line):
        return True
    if _BROKEN_WORD.search(before) or line[:1].islower():
        return False
    if _SENTENCE_END.search(before):
        return len(before) < width * 0.85
    return len(before) < width * 0.6


def _joined(paragraph: str, line: str, words: Counter[str]) -> str:
    """Append a line; a word broken by a hyphen is mended unless the document spells it with one."""
    broken = _BROKEN_WORD.search(paragraph)
    rest = _WORD.match(line)
    if broken is None or rest is None or not line[:1].islower():
        return f"{paragraph} {line}"
    whole, hyphenated = (f"{broken[1]}{mark}{rest[0]}".casefold() for mark in ("", "-"))
    return paragraph + line if words[hyphenated] > words[whole] else paragraph[:-1] + line


def _write(form: NormalForm, paragraph: str) -> None:
    if bullet := _BULLET.match(paragraph):
        form.open_list()
        form.open_item()
        form.paragraph(paragraph[bullet.end() :])
        form.close_list()
    else:
        form.paragraph(paragraph)
