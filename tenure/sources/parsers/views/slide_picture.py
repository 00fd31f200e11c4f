"""Draw a slide with quoted words marked: its shapes at their positions with their texts, tables and pictures.

No office program is needed: colours, backgrounds and the fonts of the theme are left out. The drawing is SVG, in which
the browser breaks lines and chooses fonts for each script.
"""

import base64
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import accumulate
from typing import Any, Final, NamedTuple

from PIL import Image
from pptx.exc import PythonPptxError

from tenure.contracts.evidence.recognition import PagePlace
from tenure.sources.document.document import Unreadable
from tenure.sources.document.normal_form import clean_text
from tenure.sources.document.zip_package import PACKAGE_ERRORS
from tenure.sources.parsers.formats.pptx import get_notes, list_tables, list_texts, open_presentation
from tenure.sources.parsers.parse import DEFAULT_LIMIT_BYTES
from tenure.sources.parsers.pictures.pixels import MAX_PIXELS
from tenure.sources.parsers.views.page_picture import find_quote

_POINT: Final = 12_700
"""English metric units of a point, which is the unit of the drawing."""
_MAX_SHAPES: Final = 500
"""Shapes that are drawn, and those with marked words: a diagram of many arrows has 300."""
_MAX_CHARACTERS: Final = 60_000
"""Characters of a slide that are searched and drawn."""
_MAX_PICTURES: Final = 12
_PICTURE_WIDTH: Final = 500
"""Pixels of the longer side of a picture on a slide; 12 of them take about 300 kB."""
_MARK: Final = "background:#ffec6e"
_TITLE_SIZE, _TEXT_SIZE, _MIN_SIZE = 32.0, 18.0, 5.0
"""Sizes of letters in points: a title, other text, and the smallest one to which a text is made to fit."""
_LETTER_WIDTH, _LINE_HEIGHT = 0.52, 1.25
"""Average width of a letter and distance of lines, as multiples of the size of letters."""
_NOTES_SIZE: Final = 12.0


class _Frame(NamedTuple):
    """Mapping of positions inside a group to positions on the slide."""

    left: float = 0.0
    top: float = 0.0
    scale_x: float = 1 / _POINT
    scale_y: float = 1 / _POINT


@dataclass
class _Box:
    """Shape at its position in points, with its texts."""

    left: float
    top: float
    width: float
    height: float
    paragraphs: list[str] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)
    size: float = _TEXT_SIZE
    picture: Any = None
    marks: list[tuple[int, int]] = field(default_factory=list)
    """First and last marked characters of its text."""

    @property
    def text(self) -> str:
        return "\n".join(self.pieces)

    @property
    def pieces(self) -> list[str]:
        """Paragraphs, then cells."""
        return [*self.paragraphs, *(cell for rows in self.tables for row in rows for cell in row)]


def draw_slide(data: bytes, place: PagePlace) -> bytes:
    """Return a slide of a presentation as an SVG image with the quote marked, as far as its words are found.

    Raises:
        Unreadable: the file is damaged, or has no such slide.
    """
    try:
        presentation = open_presentation(data, DEFAULT_LIMIT_BYTES)
        if not 0 < place.page <= len(presentation.slides):
            raise Unreadable(f"has no slide {place.page}")
        slide = presentation.slides[place.page - 1]
        width, height = (presentation.slide_width or 0) / _POINT, (presentation.slide_height or 0) / _POINT
        boxes = list(_list_boxes(slide.shapes, slide.shapes.title, _Frame()))
        notes = _Box(0, height, width, 0, [clean_text(f"Notes: {get_notes(slide)}")], size=_NOTES_SIZE)
        notes.height = _measure(notes, width, notes.size)
        _mark([*boxes, notes], place)
        drawn = [box for number, box in enumerate(boxes) if number < _MAX_SHAPES or box.marks]
        if notes.marks:
            return _draw([*drawn, notes], width, height + notes.height).encode()
        return _draw(drawn, width, height).encode()
    except (PythonPptxError, *PACKAGE_ERRORS) as error:
        raise Unreadable("is damaged") from error


def _list_boxes(shapes: Iterable[Any], title: Any, frame: _Frame) -> Iterator[_Box]:
    for shape in shapes:
        left, top, width, height = (value or 0 for value in (shape.left, shape.top, shape.width, shape.height))
        position = (
            frame.left + left * frame.scale_x,
            frame.top + top * frame.scale_y,
            width * frame.scale_x,
            height * frame.scale_y,
        )
        if hasattr(shape, "shapes"):
            yield from _list_boxes(shape.shapes, title, _enter_group(shape, position, frame))
            continue
        is_title = title is not None and shape.shape_id == title.shape_id
        paragraphs = [clean_text(text) for _, text in list_texts(shape)]
        tables = [[[clean_text(cell) for cell in row] for row in rows] for rows in list_tables(shape)]
        size = _find_size(shape) or (_TITLE_SIZE if is_title else _TEXT_SIZE)
        picture = shape if hasattr(shape, "image") else None
        yield _Box(*position, paragraphs, tables, size, picture)


def _enter_group(group: Any, position: tuple[float, float, float, float], outer: _Frame) -> _Frame:
    """Return the frame of the shapes in a group, which have coordinates of their own."""
    values = [
        next((int(value) for value in group._element.xpath(f"./p:grpSpPr/a:xfrm/{path}")), 0)
        for path in ("a:chOff/@x", "a:chOff/@y", "a:chExt/@cx", "a:chExt/@cy")
    ]
    left, top, width, height = position
    x, y, inner_width, inner_height = values
    scale_x = width / inner_width if inner_width else outer.scale_x
    scale_y = height / inner_height if inner_height else outer.scale_y
    return _Frame(left - x * scale_x, top - y * scale_y, scale_x, scale_y)


def _find_size(shape: Any) -> float:
    """Return the size of the first letters of a shape in points, or 0 if it has none of its own."""
    sizes = shape._element.xpath(".//a:rPr/@sz")
    return int(sizes[0]) / 100 if sizes and sizes[0].isdecimal() else 0.0


def _mark(boxes: Sequence[_Box], place: PagePlace) -> None:
    """Mark the words of a quote in the texts of boxes."""
    texts = [box.text for box in boxes]
    starts = list(accumulate(map(len, texts), initial=0))
    characters = [(character, number) for number, character in enumerate("".join(texts)[:_MAX_CHARACTERS])]
    for first, last in find_quote(characters, place):
        for box, start, text in zip(boxes, starts, texts, strict=False):
            if start <= last and first < start + len(text):
                box.marks.append((max(0, first - start), min(len(text) - 1, last - start)))


def _draw(boxes: Sequence[_Box], width: float, height: float) -> str:
    pictures = [box for box in boxes if box.picture is not None][:_MAX_PICTURES]
    # Texts are drawn above the pictures.
    shapes = [_draw_shape(box, shows_picture=any(box is other for other in pictures)) for box in boxes]
    texts = [_draw_text(box) for box in boxes if box.paragraphs or box.tables]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}"><rect width="100%" height="100%" fill="#fff"/>'
        f"{''.join(shapes)}{''.join(texts)}</svg>"
    )


def _draw_shape(box: _Box, *, shows_picture: bool) -> str:
    place = f'x="{box.left:.1f}" y="{box.top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"'
    if shows_picture and (image := _encode_picture(box.picture)):
        return f'<image {place} preserveAspectRatio="none" href="data:image/webp;base64,{image}"/>'
    fill = "#e8e8e8" if box.picture is not None else "none"
    return f'<rect {place} fill="{fill}" stroke="#c4c4c4" stroke-width="0.7"/>'


def _encode_picture(shape: Any) -> str:
    """Return a picture of a slide in Base64; empty if Pillow cannot decode it, as metafiles of Windows."""
    try:
        with Image.open(io.BytesIO(shape.image.blob)) as picture:
            if picture.width * picture.height > MAX_PIXELS or picture.format in ("WMF", "EMF"):
                return ""
            picture.draft("RGB", (_PICTURE_WIDTH, _PICTURE_WIDTH))
            image = picture.convert("RGBA")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, AttributeError, KeyError):
        return ""
    image.thumbnail((_PICTURE_WIDTH, _PICTURE_WIDTH))
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", quality=60)
    return base64.b64encode(buffer.getvalue()).decode()


def _draw_text(box: _Box) -> str:
    """Return the texts of a box as HTML in it, at a size at which they fit."""
    pieces = iter(_mark_pieces(box))
    inner = "".join(f'<p style="margin:0 0 .2em">{next(pieces)}</p>' for _ in box.paragraphs)
    cell = 'style="border:.5px solid #999;padding:1px 3px;vertical-align:top"'
    for rows in box.tables:
        cells = ("".join(f"<td {cell}>{next(pieces)}</td>" for _ in row) for row in rows)
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        inner += f'<table style="border-collapse:collapse;width:100%;font-size:1em">{body}</table>'
    width, height = max(box.width, 30.0), max(box.height, 10.0)
    return (
        f'<foreignObject x="{box.left:.1f}" y="{box.top:.1f}" width="{width:.1f}" height="{height:.1f}" '
        'style="overflow:visible"><div xmlns="http://www.w3.org/1999/xhtml" dir="auto" '
        f'style="font:{_fit(box, width, height):.1f}px sans-serif;line-height:1.2;padding:2px 4px;color:#111">'
        f"{inner}</div></foreignObject>"
    )


def _fit(box: _Box, width: float, height: float) -> float:
    """Return the largest size of letters, up to that of the slide, at which the texts of a box fit into it."""
    size = box.size
    while size > _MIN_SIZE and _measure(box, width, size) > height:
        size *= 0.9
    return size


def _measure(box: _Box, width: float, size: float) -> float:
    """Return the estimated height of the texts of a box."""
    per_line = max(1.0, (width - 8) / (size * _LETTER_WIDTH))
    lines: float = sum(_count_lines(text, per_line) for text in box.paragraphs)
    for row in (row for rows in box.tables for row in rows if row):
        lines += max(_count_lines(text, max(1.0, per_line / len(row))) for text in row) + 0.2
    return lines * size * _LINE_HEIGHT


def _count_lines(text: str, per_line: float) -> int:
    return sum(1 + int(len(line) / per_line) for line in text.split("\n"))


def _mark_pieces(box: _Box) -> Iterator[str]:
    """Yield the paragraphs and cells of a box as HTML with their marks."""
    start = 0
    for piece in box.pieces:
        position, text = 0, ""
        for first, last in sorted(box.marks):
            begin, end = max(position, first - start), min(len(piece), last + 1 - start)
            if begin < end:
                marked = f'<span style="{_MARK}">{_escape(piece[begin:end])}</span>'
                text, position = f"{text}{_escape(piece[position:begin])}{marked}", end
        yield text + _escape(piece[position:])
        start += len(piece) + 1


def _escape(text: str) -> str:
    return escape(text).replace("\n", "<br/>")
