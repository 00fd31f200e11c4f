"""PPTX to the normal form, through python-pptx: a slide is a page and a chapter."""

import io
from collections.abc import Iterable
from typing import Any

import pptx
from pptx.exc import PythonPptxError
from pptx.slide import Slide
from pptx.text.text import TextFrame

from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import NormalForm
from tenure.sources.document.zip_package import DAMAGE, check_package, written


def parse_pptx(data: bytes, limit_bytes: int) -> Document:
    """Read a presentation.

    Raises:
        Unreadable: if it is encrypted, of the old binary format, damaged, or unpacks to far more than the limit.
    """
    try:
        check_package(data, limit_bytes, "the old binary PowerPoint format")
        presentation = pptx.Presentation(io.BytesIO(data))
        form, pages = NormalForm(), []
        for number, slide in enumerate(presentation.slides, 1):
            pages.append(form.end + 2 if number > 1 else 0)
            _write(form, number, slide)
        return written(form, presentation.core_properties, tuple(pages))
    except (PythonPptxError, *DAMAGE) as error:
        raise Unreadable("is not a valid presentation") from error


def _write(form: NormalForm, number: int, slide: Slide) -> None:
    title = slide.shapes.title
    form.heading(1, (title.text_frame.text if title is not None else "").strip() or f"Slide {number}")
    _shapes(form, (shape for shape in slide.shapes if title is None or shape.shape_id != title.shape_id))
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
        form.paragraph(notes.text)


def _shapes(form: NormalForm, shapes: Iterable[Any]) -> None:
    # python-pptx tells by attributes which of its many kinds a shape is.
    for shape in shapes:
        if hasattr(shape, "shapes"):
            _shapes(form, shape.shapes)
        elif getattr(shape, "has_table", False):
            for row in shape.table.rows:
                form.row([cell.text for cell in row.cells if not cell.is_spanned])
        elif getattr(shape, "has_chart", False):
            _chart(form, shape.chart)
        elif shape.has_text_frame:
            _texts(form, shape.text_frame)


def _chart(form: NormalForm, chart: Any) -> None:
    """Write the figures of a chart as a table, one row a category."""
    for plot in chart.plots:
        series = list(plot.series)
        form.row(["", *(one.name for one in series)])
        for place, category in enumerate(plot.categories):
            form.row([str(category), *(_value(one.values, place) for one in series)])


def _value(values: tuple[float | None, ...], place: int) -> str:
    value = values[place] if place < len(values) else None
    return "" if value is None else f"{value:g}"


def _texts(form: NormalForm, frame: TextFrame) -> None:
    """Write one paragraph as such, and several as the list that they mostly are."""
    told = [paragraph for paragraph in frame.paragraphs if paragraph.text.strip()]
    if len(told) < 2:
        form.paragraph(frame.text)
        return
    depth = 0
    for paragraph in told:
        for _ in range(depth, paragraph.level + 1):
            form.open_list()
        for _ in range(paragraph.level + 1, depth):
            form.close_list()
        depth = paragraph.level + 1
        form.open_item()
        form.paragraph(paragraph.text)
        form.close_item()
    for _ in range(depth):
        form.close_list()
