"""Parse DOCX with python-docx: styles determine headings, lists and code."""

import io
import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any, Final

import docx
from docx.document import Document as WordDocument
from docx.opc.exceptions import OpcError
from docx.oxml.ns import nsmap, qn
from docx.text.paragraph import Paragraph
from lxml import etree

from tenure.sources.document.decode import decode
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
from tenure.sources.parsers.html_blocks import write_blocks
from tenure.sources.parsers.html_tree import parse_html_tree, remove_hidden
from tenure.sources.parsers.registry import Format

DOCX: Final = Format(
    parser="parse_docx",
    description="Word documents: headings, lists, tables, text boxes, pictures, charts, notes, comments, running heads",
    suffixes=(".docx", ".docm", ".dotx", ".dotm"),
    media_types=("application/vnd.openxmlformats-officedocument.wordprocessingml.document",),
    is_binary=True,
    package_member=b"word/document.xml",
)

_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)  # "heading 2", the style of a heading of the second level.
# "List Bullet 2", "List Paragraph".
_LIST = re.compile(r"list (bullet|number|continue|paragraph)?\s*(\d?)", re.IGNORECASE)
# "Source Code", "HTML Preformatted", "Plain Text".
_LITERAL = re.compile(r"code|preformatted|plain text|source", re.IGNORECASE)
_NAMESPACES = {"w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main"}
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"
_WRAPPERS = frozenset(("sdt", "sdtContent", "customXml", "ins", "moveTo"))
"""Content controls and insertions, which contain blocks."""
_CHARACTERS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_UNSAID = frozenset(
    ("pPr", "rPr", "sdtPr", "del", "moveFrom", "instrText", "delText", "rt", "Fallback", "txbxContent", "drawing")
)
"""Elements whose text is no text of their paragraph: properties, deletions, codes of fields, and drawings."""

# Elements that python-docx does not know, such as altChunk, have no prefixes of their own.
_BOXES = etree.XPath("ancestor::w:txbxContent", namespaces=nsmap)
_PICTURES = etree.XPath(".//a:blip[@r:embed]", namespaces=nsmap)
_DESCRIPTIONS = etree.XPath(
    "ancestor::wp:inline/wp:docPr/@descr | ancestor::wp:anchor/wp:docPr/@descr", namespaces=nsmap
)


def parse_docx(data: bytes, limit_bytes: int) -> Document:
    """Parse a Word document."""
    try:
        check_package(data, limit_bytes, "the old binary Word format")
        word = docx.Document(io.BytesIO(to_plain_package(data)))
        form, pictures = _read_blocks(word)
        return replace(build_document(form, word.core_properties), pictures=pictures)
    except (OpcError, *PACKAGE_ERRORS) as error:
        raise Unreadable("is not a valid Word document") from error


def _read_blocks(word: WordDocument) -> tuple[NormalFormWriter, tuple[EmbeddedPicture, ...]]:
    form = NormalFormWriter()
    reader = _Reader(form, word)
    reader.write(word.element.body)
    for text in _list_running_heads(word):
        form.add_paragraph(text)
    return form, tuple(reader.pictures)


class _Reader:
    """Writer of the blocks of a document with their notes and comments."""

    def __init__(self, form: NormalFormWriter, word: WordDocument) -> None:
        self._form, self._word = form, word
        self._remarks = {
            f"{kind}Reference": _list_remarks(word, f"{kind}s") for kind in ("footnote", "endnote", "comment")
        }
        self.pictures: list[EmbeddedPicture] = []
        """Pictures in the order of the blocks."""
        self._pending: list[str] = []
        """Notes and comments of the open list, which follow it."""

    def write(self, parent: Any) -> None:
        """Write the blocks of the body or of a text box."""
        for block in _iterate_blocks(parent):
            name = _get_name(block)
            is_item = name == "p" and self._write_paragraph(Paragraph(block, self._word._body))
            if name == "tbl":
                self._flush()
                self._form.close_items()
                for row in _list_rows(block):
                    self._form.add_row(row)
            elif name == "altChunk":
                self._write_chunk(block.get(qn("r:id")))
            self.pictures += _find_pictures(self._word, block, self._form)
            self._add_remarks(block)
            if not is_item:
                self._flush()
            for box in _find_boxes(block):
                self.write(box)
            self._write_charts(block)
        self._flush()

    def _write_paragraph(self, paragraph: Paragraph) -> bool:
        """Write a paragraph, and return whether it is an item of a list."""
        form, text = self._form, _get_text(paragraph._p)
        style = paragraph.style.name or "" if paragraph.style is not None else ""
        position = _find_list_position(paragraph, style)
        if position is not None and text.strip():
            depth, is_numbered = position
            form.add_item(text, depth=depth, is_numbered=is_numbered)
            return True
        self._flush()
        form.close_items()
        if heading := _HEADING.match(style):
            form.add_heading(int(heading[1]), text)
        elif style == "Title":
            form.add_heading(1, text)
        elif _LITERAL.search(style):
            form.add_literal(text)
        else:
            form.add_paragraph(text)
        return False

    def _write_chunk(self, identifier: str) -> None:
        """Write a page of HTML that is embedded as a part of the document."""
        part = self._word.part.related_parts.get(identifier)
        if part is not None and "html" in part.content_type:
            tree = parse_html_tree(decode(part.blob))
            remove_hidden(tree)
            write_blocks(self._form, tree)

    def _write_charts(self, block: Any) -> None:
        for reference in block.iter(_CHART):
            part = self._word.part.related_parts.get(reference.get(qn("r:id")))
            if part is None:
                continue
            chart = parse_xml(part.blob, recover=True)
            for title in list_titles(chart):
                self._form.add_paragraph(title)
            for rows in list_plots(chart):
                for row in rows:
                    self._form.add_row(row)
                self._form.end_table()

    def _add_remarks(self, block: Any) -> None:
        for element in block.iter("{*}footnoteReference", "{*}endnoteReference", "{*}commentReference"):
            self._pending.append(self._remarks[_get_name(element)].get(element.get(qn("w:id")), ""))

    def _flush(self) -> None:
        pending, self._pending = self._pending, []
        if pending:
            self._form.close_items()
        for remark in pending:
            self._form.add_paragraph(remark)


def _find_pictures(word: WordDocument, block: Any, form: NormalFormWriter) -> Iterator[EmbeddedPicture]:
    """Yield the pictures of a block that are in the file, without those of its text boxes; linked ones are not."""
    boxes = len(_BOXES(block))
    for blip in _PICTURES(block):
        part = word.part.related_parts.get(blip.get(qn("r:embed")))
        if part is not None and len(_BOXES(blip)) == boxes:
            names = _DESCRIPTIONS(blip)
            description = collapse_whitespace(names[0]) if names else ""
            yield EmbeddedPicture(form.length, part.partname.lstrip("/"), description, part.blob)


def _list_remarks(word: WordDocument, kind: str) -> dict[str, str]:
    """Return the footnotes, endnotes or comments by their identifiers."""
    return {
        remark.get(qn("w:id")): f"{_describe_remark(remark)}: {_get_text(remark)}"
        for root in _load_parts(word, kind)
        for remark in root
        if _get_text(remark).strip()
    }


def _describe_remark(remark: Any) -> str:
    author = collapse_whitespace(remark.get(qn("w:author"), ""))
    return _get_name(remark).capitalize() + (f" of {author}" if author else "")


def _list_running_heads(word: WordDocument) -> list[str]:
    """Return headers and footers, each once; numbers of pages alone are left out."""
    texts = [
        f"{kind.capitalize()}: {text}"
        for kind in ("header", "footer")
        for root in _load_parts(word, kind)
        if any(map(str.isalpha, text := collapse_whitespace(" ".join(map(_get_text, [root, *_find_boxes(root)])))))
    ]
    return list(dict.fromkeys(texts))


def _load_parts(word: WordDocument, kind: str) -> list[Any]:
    parts = [
        relation.target_part
        for relation in word.part.rels.values()
        if not relation.is_external and relation.reltype.endswith(f"/{kind}")
    ]
    return [parse_xml(part.blob, recover=True) for part in sorted(parts, key=lambda part: part.partname)]


def _get_name(element: Any) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def _iterate_blocks(parent: Any, names: Collection[str] = ("p", "tbl", "altChunk")) -> Iterator[Any]:
    """Yield the blocks of an element, also those in controls and insertions."""
    for element in parent.iterchildren():
        if _get_name(element) in names:
            yield element
        elif _get_name(element) in _WRAPPERS:
            yield from _iterate_blocks(element, names)


def _find_boxes(parent: Any) -> Iterator[Any]:
    """Yield the outermost text boxes of a paragraph; a fallback for old programs repeats them."""
    for element in parent.iterchildren():
        if _get_name(element) == "txbxContent":
            yield element
        elif _get_name(element) != "Fallback":
            yield from _find_boxes(element)


def _get_text(parent: Any) -> str:
    """Return the text of an element as it is with all changes accepted, without text boxes and phonetic guides."""
    texts = []
    for element in parent.iterchildren():
        name = _get_name(element)
        if name == "t":
            texts.append(element.text or "")
        elif name in _CHARACTERS:
            texts.append(_CHARACTERS[name])
        elif name not in _UNSAID:
            # The paragraphs of a cell or a note are lines.
            texts.append(_get_text(element) + ("\n" if name == "p" and element.getnext() is not None else ""))
    return "".join(texts)


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


def _list_rows(table: Any) -> Iterator[list[str]]:
    """Yield the texts of the cells of each row: those merged in a row once, those merged in a column in each row."""
    above: dict[int, str] = {}
    for row in _iterate_blocks(table, ("tr",)):
        texts, column = [], 0
        for cell in _iterate_blocks(row, ("tc",)):
            merged = cell.find("w:tcPr/w:vMerge", _NAMESPACES)
            continues = merged is not None and merged.get(qn("w:val"), "continue") == "continue"
            above[column] = above.get(column, "") if continues else _get_text(cell)
            texts.append(above[column])
            span = cell.find("w:tcPr/w:gridSpan", _NAMESPACES)
            column += int(span.get(qn("w:val"), "1")) if span is not None else 1
        yield texts
