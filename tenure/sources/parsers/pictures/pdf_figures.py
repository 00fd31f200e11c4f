"""Find the figures of a PDF page: the drawings and bitmaps next to a caption, and bitmaps without a caption.

Most plots of papers are drawings and not bitmaps, so a figure is a part of the page: the boxes that are drawn above or
below its caption, up to a gap.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from tenure.algorithms.chunking.figure_labels import find_caption_label
from tenure.contracts.evidence.figures import WHOLE
from tenure.sources.parsers.page_lines import PageTable
from tenure.sources.parsers.page_tables import PlacedLine
from tenure.sources.parsers.pdf_page import PdfPage

_MAX_OBJECTS: Final = 20_000
"""Objects of a page that are looked at; maps and dense plots have more."""
_DRAWN: Final = (
    *(pdfium.FPDF_PAGEOBJ_PATH, pdfium.FPDF_PAGEOBJ_IMAGE),
    *(pdfium.FPDF_PAGEOBJ_SHADING, pdfium.FPDF_PAGEOBJ_FORM),
)
"""Kinds of objects. A form, such as an included plot, is one drawing."""
_FORM_SHARE: Final = 0.5
"""Share of a page from which a form is the page itself: files of the ACL Anthology have 0.65, plots up to 0.3."""
_MAX_LABEL_WORDS: Final = 3
"""Words of a line of text that names an axis or a series; lines of numbers are longer."""
_GAP: Final = 45.0
"""Points between two parts of a figure, or between it and its caption: the numbers and the name of an axis."""
_BELOW: Final = 90.0
"""Points between a caption above its figure and the figure: five lines of a caption."""
_MARGIN: Final = 22.0
"""Points around a figure with the numbers of its axes."""
_MIN_SHARE: Final = 0.02
"""Share of a page from which a bitmap without a caption is a figure: a logo of 3 × 2 cm has 0.01."""
_MAX_SHARE: Final = 0.9
"""Share of a page from which a drawing is its background."""
_MIN_BITMAP_SHARE: Final = 0.3
"""Share of a figure that bitmaps cover if its text may be in them."""
_MAX_WORDS: Final = 5
"""Words of the text layer in a figure with which its text is not recognized: it is known already."""

PageBox = tuple[float, float, float, float]


class PageFigure(NamedTuple):
    """Figure of a page; coordinates are shares of its width and height."""

    label: str
    """Label in its caption; empty without a caption."""
    caption: str
    """First line of its caption; empty without one."""
    box: PageBox
    is_bitmap: bool
    """Whether it may contain text that is not in the text layer."""


class _Drawings(NamedTuple):
    drawn: list[PageBox]
    bitmaps: list[PageBox]


def find_figures(page: pypdfium2.PdfPage, placed: PdfPage, items: Sequence[PlacedLine | PageTable]) -> list[PageFigure]:
    """Return the figures of a page; its width and height are those of its text."""
    lines = [item for item in items if isinstance(item, PlacedLine)]
    captions = [(line, label) for line in lines if (label := find_caption_label(line.text))]
    width, height = page.get_size()
    if not width or not height:
        return []
    drawings = _list_drawings(page, placed, width * height)
    labels = [(line.left, line.top, line.right, line.bottom) for line in lines if _is_label(line)]
    if not captions and not drawings.bitmaps:
        return []
    figures: list[PageFigure] = []
    for line, label in captions:
        box = _find_region(line, [other for other, _ in captions if other is not line], drawings.drawn, labels)
        if box is None or placed.is_turned:
            figures.append(PageFigure(label, line.text, WHOLE, is_bitmap=False))
        else:
            around = _widen(box, line, width, height)
            figures.append(
                PageFigure(label, line.text, _scale(around, width, height), _is_bitmap(box, drawings.bitmaps, lines))
            )
    for bitmap in [] if placed.is_turned else drawings.bitmaps:
        share = _measure(bitmap) / (width * height)
        box = _scale(bitmap, width, height)
        if share >= _MIN_SHARE and not any(_overlap(box, figure.box) for figure in figures):
            figures.append(PageFigure("", "", box, _is_bitmap(bitmap, [bitmap], lines)))
    return figures


def _list_drawings(page: pypdfium2.PdfPage, placed: PdfPage, area: float) -> _Drawings:
    drawings = _Drawings([], [])
    for item, bounds in islice(_iterate_drawn(page, area), _MAX_OBJECTS):
        left, bottom, right, top = bounds
        box = placed.place(left, top, right, bottom)
        if _measure(box) < _MAX_SHARE * area:
            drawings.drawn.append(box)
            if item.type == pdfium.FPDF_PAGEOBJ_IMAGE:
                drawings.bitmaps.append(box)
    return drawings


def _iterate_drawn(page: pypdfium2.PdfPage, area: float) -> Iterator[tuple[pypdfium2.PdfObject, PageBox]]:
    """Yield the drawings of a page with their bounds; of a form that is the page, the drawings in it."""
    for item in page.get_objects(_DRAWN, max_depth=1):
        left, bottom, right, top = bounds = item.get_bounds()
        if item.type != pdfium.FPDF_PAGEOBJ_FORM or (right - left) * (top - bottom) < _FORM_SHARE * area:
            yield item, bounds
            continue
        matrix = item.get_matrix()
        for inner in page.get_objects(_DRAWN, max_depth=2, form=item, level=1):
            yield inner, matrix.on_rect(*inner.get_bounds())


def _is_label(line: PlacedLine) -> bool:
    words = [word.text for word in line.words]
    return len(words) <= _MAX_LABEL_WORDS or all(any(map(str.isdigit, word)) for word in words)


def _find_region(
    caption: PlacedLine, others: Sequence[PlacedLine], drawn: Sequence[PageBox], labels: Sequence[PageBox]
) -> PageBox | None:
    """Return the box of the drawings above a caption, or else below it, with the labels next to them; None without."""
    overlapping = [box for box in drawn if box[0] < caption.right and caption.left < box[2]]
    ceiling = max((o.bottom for o in others if o.bottom <= caption.top and _share_column(o, caption)), default=0.0)
    floor = min((o.top for o in others if o.top >= caption.bottom and _share_column(o, caption)), default=1e9)
    # A plot with hidden parts, or a frame, reaches over the caption.
    cut = [(box[0], max(box[1], ceiling), box[2], min(box[3], caption.top)) for box in overlapping]
    named = [box for box in labels if box[0] < caption.right and caption.left < box[2]]
    top = caption.top
    above: list[PageBox] = []
    for box in sorted((*cut, *named), key=lambda box: -box[3]):
        if box[3] <= caption.top + 2 and box[1] >= ceiling - 2 and box[1] < box[3]:
            if box[3] < top - _GAP:
                break
            above.append(box)
            top = min(top, box[1])
    if (drawing := _join([box for box in above if box in cut])) and (found := _join(above)):
        near = [box for box in labels if drawing[0] - _GAP < box[2] and box[0] < drawing[2] + _GAP]
        return _join([found, *(box for box in near if drawing[1] < box[3] and box[1] < drawing[3])])
    bottom = caption.bottom + _BELOW - _GAP
    below: list[PageBox] = []
    for box in sorted(overlapping, key=lambda box: box[1]):
        if box[1] >= caption.top and box[3] <= floor + 2:
            if box[1] > bottom + _GAP:
                break
            below.append(box)
            bottom = max(bottom, box[3])
    return _join(below)


def _share_column(one: PlacedLine, other: PlacedLine) -> bool:
    return one.left < other.right and other.left < one.right


def _join(boxes: Sequence[PageBox]) -> PageBox | None:
    """Return the box around others; None if it is no larger than a line."""
    if not boxes:
        return None
    left, top, right, bottom = (choose(box[n] for box in boxes) for n, choose in enumerate((min, min, max, max)))
    return (left, top, right, bottom) if bottom - top > _MARGIN and right - left > _MARGIN else None


def _widen(box: PageBox, caption: PlacedLine, width: float, height: float) -> PageBox:
    """Return the part of a page with a figure, the numbers of its axes and the first line of its caption."""
    return (
        max(min(box[0] - _MARGIN, caption.left), 0.0),
        max(min(box[1] - _MARGIN, caption.top), 0.0),
        min(max(box[2] + _MARGIN, caption.right), width),
        min(max(box[3] + _MARGIN, caption.bottom), height),
    )


def _is_bitmap(box: PageBox, bitmaps: Iterable[PageBox], lines: Iterable[PlacedLine]) -> bool:
    covered = sum(_measure(bitmap) for bitmap in bitmaps if _overlap(box, bitmap))
    words = (
        word for line in lines for word in line.words if box[0] < word.left < box[2] and box[1] < word.top < box[3]
    )
    return covered >= _MIN_BITMAP_SHARE * _measure(box) and sum(1 for _ in words) <= _MAX_WORDS


def _measure(box: PageBox) -> float:
    return max(box[2] - box[0], 0.0) * max(box[3] - box[1], 0.0)


def _overlap(one: PageBox, other: PageBox) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _scale(box: PageBox, width: float, height: float) -> PageBox:
    left, top, right, bottom = box[0] / width, box[1] / height, box[2] / width, box[3] / height
    return max(left, 0.0), max(top, 0.0), min(right, 1.0), min(bottom, 1.0)


def locate_figures(figures: Sequence[tuple[int, PageFigure]], text: str, pages: Sequence[int]) -> Iterator[int]:
    """Yield the offset of each figure in the text: of its caption, or of the start of its page; pages count from 1."""
    for page, figure in figures:
        first = pages[page - 1] if page <= len(pages) else len(text)
        last = pages[page] if page < len(pages) else len(text)
        # The paragraph of a caption may begin before the page if the page before ends in it.
        at = text.find(figure.caption, first, last) if figure.caption else -1
        yield at if at >= 0 else first
