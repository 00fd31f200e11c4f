"""Parse DOCX with python-docx: styles determine headings, lists and code."""

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import docx
from docx.document import Document as WordDocument
from docx.opc.exceptions import OpcError
from docx.table import Table, _Row
from docx.text.paragraph import Paragraph

from tenure.sources.document.document import Document, EmbeddedPicture, Unreadable
from tenure.sources.document.normal_form import NormalFormWriter, collapse_whitespace
from tenure.sources.document.zip_package import PACKAGE_ERRORS, build_document, check_package
from tenure.sources.parsers.registry import Format

DOCX: Final = Format(
    parser="parse_docx",
    description="Word documents: headings, lists, tables and pictures",
    suffixes=(".docx",),
    media_types=("application/vnd.openxmlformats-officedocument.wordprocessingml.document",),
    is_binary=True,
    package_member=b"word/document.xml",
)

_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)  # "heading 2", the style of a heading of the second level.
# "List Bullet 2", "List Paragraph".
_LIST = re.compile(r"list (bullet|number|continue|paragraph)?\s*(\d?)", re.IGNORECASE)
# "Source Code", "HTML Preformatted", "Plain Text".
_LITERAL = re.compile(r"code|preformatted|plain text|source", re.IGNORECASE)


def parse_docx(data: bytes, limit_bytes: int) -> Document:
    """Parse a Word document."""
    try:
        check_package(data, limit_bytes, "the old binary Word format")
        word = docx.Document(io.BytesIO(data))
        form, pictures = _read_blocks(word)
        return replace(build_document(form, word.core_properties), pictures=pictures)
    except (OpcError, *PACKAGE_ERRORS) as error:
        raise Unreadable("is not a valid Word document") from error


def _read_blocks(word: WordDocument) -> tuple[NormalFormWriter, tuple[EmbeddedPicture, ...]]:
    form, pictures = NormalFormWriter(), list[EmbeddedPicture]()
    for block in word.iter_inner_content():
        if isinstance(block, Table):
            form.close_items()
            for row in block.rows:
                form.add_row(_get_cell_texts(row))
        else:
            _write_paragraph(form, block)
        pictures += _find_pictures(word, block, form)
    return form, tuple(pictures)


def _find_pictures(word: WordDocument, block: Paragraph | Table, form: NormalFormWriter) -> Iterator[EmbeddedPicture]:
    """Yield the pictures of a paragraph or a table that are in the file; linked ones are not."""
    for blip in block._element.xpath(".//a:blip[@r:embed]"):
        part = word.part.related_parts.get(blip.embed)
        if part is not None:
            names = blip.xpath("ancestor::wp:inline/wp:docPr/@descr | ancestor::wp:anchor/wp:docPr/@descr")
            description = collapse_whitespace(names[0]) if names else ""
            yield EmbeddedPicture(form.length, part.partname.lstrip("/"), description, part.blob)


def _write_paragraph(form: NormalFormWriter, paragraph: Paragraph) -> None:
    style = paragraph.style.name or "" if paragraph.style is not None else ""
    position = _find_list_position(paragraph, style)
    if position is not None and paragraph.text.strip():
        depth, is_numbered = position
        form.add_item(paragraph.text, depth=depth, is_numbered=is_numbered)
        return
    form.close_items()
    if heading := _HEADING.match(style):
        form.add_heading(int(heading[1]), paragraph.text)
    elif style == "Title":
        form.add_heading(1, paragraph.text)
    elif _LITERAL.search(style):
        form.add_literal(paragraph.text)
    else:
        form.add_paragraph(paragraph.text)


def _find_list_position(paragraph: Paragraph, style: str) -> tuple[int, bool] | None:
    """Return depth from 0 and whether the list is numbered, or None if the paragraph is no list item."""
    match = _LIST.match(style)
    properties = paragraph._p.pPr.numPr if paragraph._p.pPr is not None else None
    if properties is None and (match is None or match[1] is None or match[1].lower() in ("paragraph", "continue")):
        return None
    level = _get_level(properties)
    depth = max(int(match[2]) - 1, 0) if match and match[2] else level
    return depth, bool(match and match[1] and match[1].lower() == "number")


def _get_level(properties: Any) -> int:
    # The descriptors of python-docx do not have the types of the child elements.
    level = properties.ilvl if properties is not None else None
    return int(level.val) if level is not None else 0


def _get_cell_texts(row: _Row) -> list[str]:
    """Return the texts of the cells of a row; python-docx repeats merged cells, which are returned once."""
    cells = row.cells
    return [cell.text for i, cell in enumerate(cells) if i == 0 or cell._tc is not cells[i - 1]._tc]
