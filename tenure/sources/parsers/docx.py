"""DOCX to the normal form, through python-docx: styles say what is a heading, a list or code."""

import io
import re
from typing import Any

import docx
from docx.document import Document as WordDocument
from docx.opc.exceptions import OpcError
from docx.table import Table, _Row
from docx.text.paragraph import Paragraph

from tenure.sources.document.document import Document, Unreadable
from tenure.sources.document.normal_form import NormalForm
from tenure.sources.document.zip_package import DAMAGE, check_package, written

_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_LIST = re.compile(r"list (bullet|number|continue|paragraph)?\s*(\d?)", re.IGNORECASE)
_LITERAL = re.compile(r"code|preformatted|plain text|source", re.IGNORECASE)


def parse_docx(data: bytes, limit_bytes: int) -> Document:
    """Read a Word document.

    Raises:
        Unreadable: if it is encrypted, of the old binary format, damaged, or unpacks to far more than the limit.
    """
    try:
        check_package(data, limit_bytes, "the old binary Word format")
        word = docx.Document(io.BytesIO(data))
        return written(_read(word), word.core_properties)
    except (OpcError, *DAMAGE) as error:
        raise Unreadable("is not a valid Word document") from error


def _read(word: WordDocument) -> NormalForm:
    form = NormalForm()
    lists = _Lists(form)
    for block in word.iter_inner_content():
        if isinstance(block, Table):
            lists.close()
            for row in block.rows:
                form.row(_cells(row))
        else:
            _write(form, lists, block)
    lists.close()
    return form


def _write(form: NormalForm, lists: "_Lists", paragraph: Paragraph) -> None:
    style = paragraph.style.name or "" if paragraph.style is not None else ""
    item = _list_position(paragraph, style)
    if item is not None and paragraph.text.strip():
        lists.item(*item, paragraph.text)
        return
    lists.close()
    if heading := _HEADING.match(style):
        form.heading(int(heading[1]), paragraph.text)
    elif style == "Title":
        form.heading(1, paragraph.text)
    elif _LITERAL.search(style):
        form.literal(paragraph.text)
    else:
        form.paragraph(paragraph.text)


def _list_position(paragraph: Paragraph, style: str) -> tuple[int, bool] | None:
    """Return depth from 0 and whether the list is numbered, or None where the paragraph is no item."""
    match = _LIST.match(style)
    properties = paragraph._p.pPr.numPr if paragraph._p.pPr is not None else None
    if properties is None and (match is None or match[1] is None or match[1].lower() in ("paragraph", "continue")):
        return None
    level = _level(properties)
    depth = max(int(match[2]) - 1, 0) if match and match[2] else level
    return depth, bool(match and match[1] and match[1].lower() == "number")


def _level(properties: Any) -> int:
    # python-docx declares child elements by descriptors, whose types say nothing of the child.
    level = properties.ilvl if properties is not None else None
    return int(level.val) if level is not None else 0


def _cells(row: _Row) -> list[str]:
    """Return the words of a row's cells; python-docx repeats a merged cell, which is said once."""
    cells = row.cells
    return [cell.text for i, cell in enumerate(cells) if i == 0 or cell._tc is not cells[i - 1]._tc]


class _Lists:
    """Opens and closes lists as the depth of items goes up and down."""

    def __init__(self, form: NormalForm) -> None:
        self._form = form
        self._open: list[bool] = []

    def item(self, depth: int, numbered: bool, text: str) -> None:
        while len(self._open) > depth + 1 or (len(self._open) == depth + 1 and self._open[-1] != numbered):
            self._form.close_list()
            self._open.pop()
        while len(self._open) < depth + 1:
            self._form.open_list(1 if numbered else None)
            self._open.append(numbered)
        self._form.open_item()
        self._form.paragraph(text)
        self._form.close_item()

    def close(self) -> None:
        for _ in self._open:
            self._form.close_list()
        self._open.clear()
