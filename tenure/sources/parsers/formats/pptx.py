"""Parse PPTX with python-pptx: a slide is a page and a section."""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import pptx
from pptx.exc import PythonPptxError
from pptx.presentation import Presentation
from pptx.slide import Slide

from tenure.contracts.evidence.corpora import NO_TEXT
from tenure.sources.document.document import Document, EmbeddedPicture, Unreadable
from tenure.sources.document.normal_form import NormalFormWriter, collapse_whitespace
from tenure.sources.document.zip_package import (
    PACKAGE_ERRORS,
    build_document,
    check_package,
    parse_xml,
    to_plain_package,
)
from tenure.sources.parsers.charts import list_plots, list_titles
from tenure.sources.parsers.registry import Format

PPTX: Final = Format(
    parser="parse_pptx",
    description="presentations, slide by slide: text, diagrams, tables, pictures, data of charts, comments, notes",
    suffixes=(".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm"),
    media_types=("application/vnd.openxmlformats-officedocument.presentationml.presentation",),
    is_binary=True,
    package_member=b"ppt/presentation.xml",
)


def parse_pptx(data: bytes, limit_bytes: int) -> Document:
    """Parse a presentation."""
    try:
        presentation = open_presentation(data, limit_bytes)
        form, pages, pictures = NormalFormWriter(), list[int](), list[EmbeddedPicture]()
        for number, slide in enumerate(presentation.slides, 1):
            pages.append(form.length + 2 if number > 1 else 0)
            _write_slide(form, number, slide)
            pictures += _find_pictures(slide, form)
        if not pictures and form.text == "\n\n".join(f"# Slide {number}" for number in range(1, len(pages) + 1)):
            raise Unreadable(NO_TEXT)
        document = build_document(form, presentation.core_properties, tuple(pages))
        return replace(document, pictures=tuple(pictures))
    except (PythonPptxError, *PACKAGE_ERRORS) as error:
        raise Unreadable("is not a valid presentation") from error


def open_presentation(data: bytes, limit_bytes: int) -> Presentation:
    """Open a presentation.

    Raises:
        Unreadable: it is encrypted, in an old format, or too large when it is unpacked.
        Exception: one of python-pptx or `PACKAGE_ERRORS` if it is damaged.
    """
    check_package(data, limit_bytes, "the old binary PowerPoint format")
    return pptx.Presentation(io.BytesIO(to_plain_package(data)))


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


def _find_pictures(slide: Slide, form: NormalFormWriter) -> Iterator[EmbeddedPicture]:
    """Yield the pictures of a slide that are in the file; linked ones are not."""
    for picture in slide._element.xpath(".//p:pic[p:blipFill/a:blip/@r:embed]"):
        part = slide.part.related_part(picture.blip_rId)
        description = collapse_whitespace(picture.nvPicPr.cNvPr.get("descr", ""))
        yield EmbeddedPicture(form.length, part.partname.lstrip("/"), description, part.blob)


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
        return [(0, title) for title in list_titles(shape.chart._chartSpace)]
    if shape.has_text_frame:
        paragraphs = shape.text_frame.paragraphs
        return [(paragraph.level, paragraph.text) for paragraph in paragraphs if paragraph.text.strip()]
    return [(0, text) for text in _list_diagram_texts(shape)]


def list_tables(shape: Any) -> Iterator[list[list[str]]]:
    """Yield the rows of a table, or the data of each plot of a chart with one row per category."""
    if getattr(shape, "has_table", False):
        yield [[cell.text for cell in row.cells if not cell.is_spanned] for row in shape.table.rows]
    elif getattr(shape, "has_chart", False):
        yield from list_plots(shape.chart._chartSpace)


def _list_diagram_texts(shape: Any) -> Iterator[str]:
    """Yield the texts of a diagram (SmartArt), whose data are a part of their own."""
    for identifier in shape._element.xpath(".//*[local-name() = 'relIds']/@r:dm"):
        data = shape.part.rels.get(identifier)
        for point in parse_xml(data.target_part.blob, recover=True).iter("{*}pt") if data is not None else ():
            text = " ".join("".join(node.itertext("{*}t")) for node in point.iter("{*}p"))
            # The points of the presentation repeat the texts of others, and those between points have none.
            if text.strip() and point.get("type") != "pres":
                yield text


def _list_comments(slide: Slide) -> Iterator[str]:
    for relation in slide.part.rels.values():
        if not relation.is_external and relation.reltype.endswith("/comments"):
            for comment in parse_xml(relation.target_part.blob, recover=True).iter("{*}text", "{*}txBody"):
                yield "".join(comment.itertext())


def _write_texts(form: NormalFormWriter, texts: Sequence[tuple[int, str]]) -> None:
    """Write one paragraph as a paragraph, and several as a list, which they mostly are."""
    if len(texts) < 2:
        form.add_paragraph("".join(text for _, text in texts))
        return
    for depth, text in texts:
        form.add_item(text, depth=depth)
    form.close_items()
