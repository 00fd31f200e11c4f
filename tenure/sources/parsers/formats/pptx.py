"""Parse PPTX with python-pptx: a slide is a page and a section."""

import io
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import pptx
from pptx.exc import PythonPptxError
from pptx.slide import Slide

from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import NormalFormWriter
from tenure.sources.document.zip_package import PACKAGE_ERRORS, build_document, check_package, parse_xml
from tenure.sources.parsers.registry import Format

PPTX: Final = Format(
    parser="parse_pptx",
    description="presentations, slide by slide: text, diagrams, tables, the data of charts, comments and notes",
    suffixes=(".pptx",),
    media_types=("application/vnd.openxmlformats-officedocument.presentationml.presentation",),
    is_binary=True,
    package_member=b"ppt/presentation.xml",
)

_EPOCH: Final = datetime(1899, 12, 30)  # noqa: DTZ001 - a day without a time zone
"""Day 0 of the dates in spreadsheets and charts."""


def parse_pptx(data: bytes, limit_bytes: int) -> Document:
    """Parse a presentation."""
    try:
        check_package(data, limit_bytes, "the old binary PowerPoint format")
        presentation = pptx.Presentation(io.BytesIO(data))
        form, pages = NormalFormWriter(), []
        for number, slide in enumerate(presentation.slides, 1):
            pages.append(form.length + 2 if number > 1 else 0)
            _write_slide(form, number, slide)
        return build_document(form, presentation.core_properties, tuple(pages))
    except (PythonPptxError, *PACKAGE_ERRORS) as error:
        raise Unreadable("is not a valid presentation") from error


def _write_slide(form: NormalFormWriter, number: int, slide: Slide) -> None:
    title = slide.shapes.title
    form.add_heading(1, (title.text_frame.text if title is not None else "").strip() or f"Slide {number}")
    for shape in iterate_shapes(slide.shapes):
        if title is None or shape.shape_id != title.shape_id:
            _write_texts(form, list_texts(shape))
            for rows in list_tables(shape):
                for row in rows:
                    form.add_row(row)
                form.end_table()
    for comment in _list_comments(slide):
        form.add_paragraph(f"Comment: {comment}")
    form.add_paragraph(get_notes(slide))


def get_notes(slide: Slide) -> str:
    """Return the notes of the speaker; empty without any."""
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    return notes.text if notes is not None else ""


def iterate_shapes(shapes: Iterable[Any]) -> Iterator[Any]:
    """Yield shapes and those in groups, in the order of the slide."""
    # python-pptx distinguishes kinds of shapes by their attributes.
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from iterate_shapes(shape.shapes)
        else:
            yield shape


def list_texts(shape: Any) -> list[tuple[int, str]]:
    """Return the paragraphs of a shape or diagram, or the title of a chart, each with its depth in a list from 0."""
    if getattr(shape, "has_chart", False):
        titles = ("".join(title.xpath(".//a:t/text()")) for title in _get_chart(shape).xpath("./c:chart/c:title"))
        return [(0, title) for title in titles if title.strip()]
    if shape.has_text_frame:
        paragraphs = shape.text_frame.paragraphs
        return [(paragraph.level, paragraph.text) for paragraph in paragraphs if paragraph.text.strip()]
    return [(0, text) for text in _list_diagram_texts(shape)]


def list_tables(shape: Any) -> Iterator[list[list[str]]]:
    """Yield the rows of a table, or the data of each plot of a chart with one row per category."""
    if getattr(shape, "has_table", False):
        yield [[cell.text for cell in row.cells if not cell.is_spanned] for row in shape.table.rows]
    elif getattr(shape, "has_chart", False):
        # python-pptx knows not every kind of plot, but all kinds have series.
        for plot in _get_chart(shape).xpath("./c:chart/c:plotArea/*[c:ser]"):
            yield list(_list_plot_rows(plot.xpath("./c:ser")))


def _get_chart(shape: Any) -> Any:
    return shape.chart._chartSpace


def _list_plot_rows(series: Sequence[Any]) -> Iterator[list[str]]:
    yield ["", *("".join(line.xpath("./c:tx//c:v/text()")[:1]) for line in series)]
    labels = [_list_points(line, "./c:cat | ./c:xVal") for line in series]
    values = [_list_points(line, "./c:val | ./c:yVal") for line in series]
    for index in sorted({index for points in (*labels, *values) for index in points}):
        label = next((points[index] for points in labels if index in points), "")
        yield [label, *(points.get(index, "") for points in values)]


def _list_points(series: Any, path: str) -> dict[int, str]:
    """Return the cached values of a series by their index; of categories of several levels, those of the first."""
    for data in series.xpath(path):
        dates = any("y" in code.lower() for code in data.xpath(".//c:formatCode/text()"))
        level = next(iter(data.xpath(".//c:lvl")), data)
        return {
            int(point.get("idx")): _format_value("".join(point.xpath("./c:v/text()")), is_date=dates)
            for point in level.xpath(".//c:pt")
        }
    return {}


def _format_value(text: str, *, is_date: bool) -> str:
    try:
        value = float(text)
        return (_EPOCH + timedelta(days=value)).date().isoformat() if is_date else f"{value:.12g}"
    except (ValueError, OverflowError):
        return text


def _list_diagram_texts(shape: Any) -> Iterator[str]:
    """Yield the texts of a diagram (SmartArt), whose data are a part of their own."""
    for identifier in shape._element.xpath(".//*[local-name() = 'relIds']/@r:dm"):
        for point in parse_xml(shape.part.related_part(identifier).blob).iter("{*}pt"):
            text = " ".join("".join(node.itertext("{*}t")) for node in point.iter("{*}p"))
            # The points of the presentation repeat the texts of others, and those between points have none.
            if text.strip() and point.get("type") != "pres":
                yield text


def _list_comments(slide: Slide) -> Iterator[str]:
    for relation in slide.part.rels.values():
        if not relation.is_external and relation.reltype.endswith("/comments"):
            for comment in parse_xml(relation.target_part.blob).iter("{*}text", "{*}txBody"):
                yield "".join(comment.itertext())


def _write_texts(form: NormalFormWriter, texts: Sequence[tuple[int, str]]) -> None:
    """Write one paragraph as a paragraph, and several as a list, which they mostly are."""
    if len(texts) < 2:
        form.add_paragraph("".join(text for _, text in texts))
        return
    for depth, text in texts:
        form.add_item(text, depth=depth)
    form.close_items()
