"""Parse PPTX with python-pptx: a slide is a page and a section."""

import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

import pptx
from pptx.exc import PythonPptxError
from pptx.slide import Slide
from pptx.text.text import TextFrame

from tenure.sources.document.document import Document, EmbeddedPicture, Unreadable
from tenure.sources.document.normal_form import NormalFormWriter, collapse_whitespace
from tenure.sources.document.zip_package import PACKAGE_ERRORS, build_document, check_package
from tenure.sources.parsers.registry import Format

PPTX: Final = Format(
    parser="parse_pptx",
    description="presentations, slide by slide: text, notes, tables, pictures and the data of charts",
    suffixes=(".pptx",),
    media_types=("application/vnd.openxmlformats-officedocument.presentationml.presentation",),
    is_binary=True,
    package_member=b"ppt/presentation.xml",
)


def parse_pptx(data: bytes, limit_bytes: int) -> Document:
    """Parse a presentation."""
    try:
        check_package(data, limit_bytes, "the old binary PowerPoint format")
        presentation = pptx.Presentation(io.BytesIO(data))
        form, pages, pictures = NormalFormWriter(), list[int](), list[EmbeddedPicture]()
        for number, slide in enumerate(presentation.slides, 1):
            pages.append(form.length + 2 if number > 1 else 0)
            _write_slide(form, number, slide)
            pictures += _find_pictures(slide, form)
        document = build_document(form, presentation.core_properties, tuple(pages))
        return replace(document, pictures=tuple(pictures))
    except (PythonPptxError, *PACKAGE_ERRORS) as error:
        raise Unreadable("is not a valid presentation") from error


def _write_slide(form: NormalFormWriter, number: int, slide: Slide) -> None:
    title = slide.shapes.title
    form.add_heading(1, (title.text_frame.text if title is not None else "").strip() or f"Slide {number}")
    _write_shapes(form, (shape for shape in slide.shapes if title is None or shape.shape_id != title.shape_id))
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
        form.add_paragraph(notes.text)


def _find_pictures(slide: Slide, form: NormalFormWriter) -> Iterator[EmbeddedPicture]:
    """Yield the pictures of a slide that are in the file; linked ones are not."""
    for picture in slide._element.xpath(".//p:pic[p:blipFill/a:blip/@r:embed]"):
        part = slide.part.related_part(picture.blip_rId)
        description = collapse_whitespace(picture.nvPicPr.cNvPr.get("descr", ""))
        yield EmbeddedPicture(form.length, part.partname.lstrip("/"), description, part.blob)


def _write_shapes(form: NormalFormWriter, shapes: Iterable[Any]) -> None:
    # python-pptx distinguishes kinds of shapes by their attributes.
    for shape in shapes:
        if hasattr(shape, "shapes"):
            _write_shapes(form, shape.shapes)
        elif getattr(shape, "has_table", False):
            for row in shape.table.rows:
                form.add_row([cell.text for cell in row.cells if not cell.is_spanned])
        elif getattr(shape, "has_chart", False):
            _write_chart(form, shape.chart)
        elif shape.has_text_frame:
            _write_texts(form, shape.text_frame)


def _write_chart(form: NormalFormWriter, chart: Any) -> None:
    """Write the data of a chart as a table with one row per category."""
    for plot in chart.plots:
        series = list(plot.series)
        form.add_row(["", *(line.name for line in series)])
        for index, category in enumerate(plot.categories):
            form.add_row([str(category), *(_format_value(line.values, index) for line in series)])


def _format_value(values: tuple[float | None, ...], index: int) -> str:
    value = values[index] if index < len(values) else None
    return "" if value is None else f"{value:g}"


def _write_texts(form: NormalFormWriter, frame: TextFrame) -> None:
    """Write one paragraph as a paragraph, and several as a list, which they mostly are."""
    paragraphs = [paragraph for paragraph in frame.paragraphs if paragraph.text.strip()]
    if len(paragraphs) < 2:
        form.add_paragraph(frame.text)
        return
    for paragraph in paragraphs:
        form.add_item(paragraph.text, depth=paragraph.level)
    form.close_items()
