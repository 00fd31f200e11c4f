"""Read the words and the ruled lines of a PDF page with pdfium; coordinates count from the upper left corner."""

import ctypes
import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import pypdfium2
import pypdfium2.raw as pdfium

from tenure.sources.parsers.page_tables import PlacedWord, Rule, Rules

MAX_CHARACTERS: Final = 60_000
"""Characters of a page above which its words are not placed: 4 µs each; a dense page of a newspaper has 20,000."""
_MAX_PATHS: Final = 1_000
"""Paths of a page whose lines are read; drawings and maps have more."""
_MAX_SEGMENTS: Final = 200
"""Segments of a path that may be ruled lines; curves of plots have more."""
_MAX_THICKNESS: Final = 3.0
"""Points up to which a filled rectangle is a line."""
_MIN_LENGTH: Final = 6.0
"""Points from which a line is longer than a dash or the bar of a fraction."""
_MAX_FORM_DEPTH: Final = 2
_SAMPLED_CHARACTERS: Final = 60
_BLANKS: Final = frozenset((0, 9, 10, 13, 32, 0xA0, 0x2028, 0x2029, 0xFEFF))
_HYPHEN: Final = 2  # replaces a hyphen at the end of a line


class PdfPage:
    """Page with its words; the document must stay open."""

    def __init__(self, page: pypdfium2.PdfPage) -> None:
        self._page = page
        self._text = page.get_textpage()
        self.count: int = pdfium.FPDFText_CountChars(self._text)
        """Number of characters."""
        self.is_dense = self.count > MAX_CHARACTERS
        """Whether it has too many characters for a layout."""
        # Media boxes are not turned, sizes are.
        size = page.get_size()
        self._width, self._height = size if page.get_rotation() in (0, 180) else size[::-1]
        self._turns = self._count_turns()

    @property
    def is_turned(self) -> bool:
        """Whether the page or its text is turned, so that places in the text are not those on the page."""
        return bool(self._turns or self._page.get_rotation())

    def get_text(self) -> str:
        """Return the text in the order of the file."""
        # pdfium replaces a hyphen at the end of a line and the line break by this character.
        text: str = self._text.get_text_bounded()
        return text.replace(chr(_HYPHEN), "-\n")

    def is_bold(self, word: PlacedWord) -> bool:
        """Return whether a word is bold."""
        return bool(pdfium.FPDFText_GetFontWeight(self._text, word.offset) >= 600) or "bold" in self._get_font(word)

    def read_rules(self) -> Rules:
        """Return the lines of the page, and the borders of its rectangles."""
        rules = Rules([], [])
        for edge in self._read_edges():
            left, top, right, bottom = self.place(*edge)
            if bottom - top <= _MAX_THICKNESS and right - left >= _MIN_LENGTH:
                rules.horizontal.append(Rule((top + bottom) / 2, left, right))
            elif right - left <= _MAX_THICKNESS and bottom - top >= _MIN_LENGTH:
                rules.vertical.append(Rule((left + right) / 2, top, bottom))
        return rules

    def _get_font(self, word: PlacedWord) -> str:
        buffer = ctypes.create_string_buffer(100)
        pdfium.FPDFText_GetFontInfo(self._text, word.offset, buffer, len(buffer), None)
        return buffer.value.decode(errors="replace").lower()

    def read_words(self) -> Iterator[PlacedWord]:
        """Yield the words in the order of the file."""
        rect = pdfium.FS_RECTF()
        reference = ctypes.byref(rect)
        characters: list[str] = []
        left = top = right = bottom = 0.0
        first = 0
        is_turned = False
        for i in range(self.count):
            code = pdfium.FPDFText_GetUnicode(self._text, i)
            if code in _BLANKS or not pdfium.FPDFText_GetLooseCharBox(self._text, i, reference):
                if characters and not is_turned:
                    yield PlacedWord(left, top, right, bottom, _join(characters), first)
                    characters = []
                continue
            box = self.place(rect.left, rect.top, rect.right, rect.bottom)
            size = max(box[3] - box[1], 1.0)
            if characters and not (
                self._is_turned(i) and abs(box[0] - left) < size and top - size < box[3] and box[1] < bottom + size
                if is_turned
                else abs(box[3] - bottom) <= 0.4 * size and left - 0.1 * size < box[0] < right + 0.35 * size
            ):
                yield PlacedWord(left, top, right, bottom, _join(characters), first, is_turned)
                characters = []
            if not characters:
                left, top, right, bottom = box
                first = i
                is_turned = self._is_turned(i)
            characters.append("-" if code == _HYPHEN else chr(code))
            left, right, top, bottom = min(left, box[0]), max(right, box[2]), min(top, box[1]), max(bottom, box[3])
        if characters:
            yield PlacedWord(left, top, right, bottom, _join(characters), first, is_turned)

    def _is_turned(self, index: int) -> bool:
        """Return whether a character does not lie like most of the page."""
        return self._measure_turns(index) != self._turns

    def _measure_turns(self, index: int) -> int:
        # Angles of pdfium count to the right.
        angle: float = pdfium.FPDFText_GetCharAngle(self._text, index)
        return -round(angle / (math.pi / 2)) % 4

    def _count_turns(self) -> int:
        """Return the quarter turns to the left of most of the text."""
        sample = range(0, self.count, max(self.count // _SAMPLED_CHARACTERS, 1))
        angles = [self._measure_turns(i) for i in sample]
        return max(range(4), key=angles.count)

    def place(self, left: float, top: float, right: float, bottom: float) -> tuple[float, float, float, float]:
        """Return a box in coordinates in which the text is level."""
        if self._turns == 0:
            return left, self._height - top, right, self._height - bottom
        if self._turns == 1:
            return bottom, left, top, right
        if self._turns == 2:
            return self._width - right, bottom, self._width - left, top
        return self._height - top, self._width - right, self._height - bottom, self._width - left

    def _read_edges(self) -> Iterator[tuple[float, float, float, float]]:
        for number, path in enumerate(self._page.get_objects([pdfium.FPDF_PAGEOBJ_PATH], max_depth=_MAX_FORM_DEPTH)):
            if number == _MAX_PATHS:
                return
            count = pdfium.FPDFPath_CountSegments(path)
            if 1 < count <= _MAX_SEGMENTS:
                yield from _split_path(path, count)


def _join(characters: list[str]) -> str:
    """Return a word; pdfium returns the halves of characters such as mathematical letters one by one."""
    text = "".join(characters)
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _split_path(path: pypdfium2.PdfObject, count: int) -> Iterator[tuple[float, float, float, float]]:
    """Yield the straight lines of a path as boxes; a thin rectangle is one line."""
    a, b, c, d, e, f = path.get_matrix().get()
    x, y = ctypes.c_float(), ctypes.c_float()
    points: list[tuple[float, float]] = []
    for i in range(count):
        segment = pdfium.FPDFPath_GetPathSegment(path, i)
        kind = pdfium.FPDFPathSegment_GetType(segment)
        pdfium.FPDFPathSegment_GetPoint(segment, x, y)
        point = (a * x.value + c * y.value + e, b * x.value + d * y.value + f)
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            yield from _split_outline(points)
            points = [point]
        elif kind == pdfium.FPDF_SEGMENT_LINETO:
            points.append(point)
            if pdfium.FPDFPathSegment_GetClose(segment):
                points.append(points[0])
        else:
            points = []
    yield from _split_outline(points)


def _split_outline(points: list[tuple[float, float]]) -> Iterator[tuple[float, float, float, float]]:
    if len(points) < 2:
        return
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    if min(max(xs) - min(xs), max(ys) - min(ys)) <= _MAX_THICKNESS:
        yield min(xs), max(ys), max(xs), min(ys)
        return
    for (x0, y0), (x1, y1) in pairwise(points):
        yield min(x0, x1), max(y0, y1), max(x0, x1), min(y0, y1)
