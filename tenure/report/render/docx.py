"""Write a document tree as DOCX with python-docx.

All text is set as text of runs, never as markup. Citation marks are links to the entries of the references, and the
only links out of the document are those of sources on the web.
"""

import base64
import io
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from itertools import count
from pathlib import PurePath
from typing import Final

import docx
from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.oxml.xmlchemy import BaseOxmlElement
from docx.shared import Cm, Emu, Pt, RGBColor
from docx.text.paragraph import Paragraph
from docx.text.run import Run

from tenure.contracts.choices import CitationStyle, ReportProofs
from tenure.contracts.result.result import Result
from tenure.report.layout.report import compose_report
from tenure.report.layout.tree import (
    AnchorNode,
    BlockNode,
    ChartNode,
    CitationNode,
    CodeNode,
    DefinitionsNode,
    InlineNode,
    Line,
    LinkNode,
    ListNode,
    ParagraphNode,
    PartNode,
    PictureNode,
    QuoteNode,
    ReportTree,
    StatementNode,
    TableNode,
    TextSpan,
)
from tenure.report.render.pdf import draw_chart_image
from tenure.report.translation import RIGHT_TO_LEFT, translate, use_language

_QUIET: Final = RGBColor(0x56, 0x61, 0x6A)
_ACCENT: Final = RGBColor(0x14, 0x60, 0x7B)
_PICTURE_WIDTH: Final = Cm(13)
_MAX_PICTURE_HEIGHT: Final = Cm(18)
_CODE_FONT: Final = "Consolas"
_CODE: Final = "Code"
_EXCERPT: Final = "Excerpt"
# Characters that XML 1.0 forbids, such as "\x00": https://www.w3.org/TR/xml/#charsets
_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_docx(
    result: Result, base: PurePath | None = None, style: CitationStyle = "numeric", proofs: ReportProofs = "full"
) -> bytes:
    """Render a result document as a Word document."""
    report = compose_report(result, base, style, proofs)
    writer = _DocumentWriter()
    writer.write_report(report)
    properties = writer.document.core_properties
    properties.title, properties.author, properties.comments = _clean(report.title)[:255], "Tenure", ""
    properties.created = properties.modified = datetime.now(UTC)
    content = io.BytesIO()
    writer.document.save(content)
    return content.getvalue()


class _DocumentWriter:
    """Writer of one Word document."""

    def __init__(self) -> None:
        self.document: Document = docx.Document()
        self._numbers = count(1)
        for section in self.document.sections:
            section.left_margin = section.right_margin = Cm(2.4)
        code = self.document.styles.add_style(_CODE, WD_STYLE_TYPE.PARAGRAPH)
        code.font.name, code.font.size = _CODE_FONT, Pt(9)
        code.paragraph_format.left_indent = Cm(0.5)
        excerpt = self.document.styles.add_style(_EXCERPT, WD_STYLE_TYPE.PARAGRAPH)
        excerpt.paragraph_format.left_indent = Cm(0.8)

    def write_report(self, report: ReportTree) -> None:
        """Write a report."""
        if report.language in RIGHT_TO_LEFT:
            normal: BaseOxmlElement = self.document.styles["Normal"].element
            normal.get_or_add_pPr().append(OxmlElement("w:bidi"))
        self.document.add_heading(_clean(report.title), 0)
        self._write_blocks(report.head)
        self._write_contents(report)
        self._write_blocks(report.blocks)

    def _write_contents(self, report: ReportTree) -> None:
        """Write the table of contents as a field with links, which a word processor completes with page numbers."""
        with use_language(report.language):
            self.document.add_paragraph(style="TOC Heading").add_run(translate("Contents"))
        for number, part in enumerate(report.parts):
            paragraph = self.document.add_paragraph()
            paragraph.paragraph_format.space_after = Pt(2)
            if number == 0:
                _add_field(paragraph, "begin")
                _add_field(paragraph, "", r'TOC \o "1-1" \h \z')
                _add_field(paragraph, "separate")
            _add_hyperlink(paragraph, part.heading, qn("w:anchor"), _name_heading(part))
            if number == len(report.parts) - 1:
                _add_field(paragraph, "end")

    def _write_blocks(self, blocks: Iterable[BlockNode], level: int = 1, style: str | None = None) -> None:
        """Write blocks, with headings from a level on."""
        for block in blocks:
            match block:
                case PartNode():
                    self._write_heading(block, level)
                    self._write_blocks(block.blocks, level + 1)
                case ParagraphNode():
                    quiet = block.style in ("question", "summary", "note")
                    self._add_line(self.document.add_paragraph(style=style), block.line, quiet=quiet)
                case ListNode():
                    self._write_list(block, style)
                case DefinitionsNode():
                    for term, meaning in block.items:
                        paragraph = self.document.add_paragraph(style=style)
                        self._add_line(paragraph, (*term, TextSpan(": ")), bold=True)
                        self._add_line(paragraph, meaning)
                case TableNode():
                    self._write_table(block)
                case CodeNode():
                    self._write_code(block)
                case ChartNode() | PictureNode():
                    self._write_picture(block)
                case QuoteNode():
                    self._write_blocks(block.blocks, level, _EXCERPT)
                    self._add_line(self.document.add_paragraph(), block.caption)

    def _write_heading(self, part: PartNode, level: int) -> None:
        heading = self.document.add_heading(_clean(part.heading), level)
        if part.id:
            _add_bookmark(heading, _name_heading(part), next(self._numbers))

    def _write_code(self, block: CodeNode) -> None:
        _add_text(self.document.add_paragraph(style=_CODE), block.text)
        if block.caption:
            caption = self.document.add_paragraph()
            caption.alignment = WD_ALIGN_PARAGRAPH.RIGHT
            self._add_line(caption, block.caption)

    def _write_picture(self, block: ChartNode | PictureNode) -> None:
        image = draw_chart_image(block) if isinstance(block, ChartNode) else base64.b64decode(block.image)
        picture = self.document.add_picture(io.BytesIO(image), width=_PICTURE_WIDTH)
        picture._inline.docPr.set("descr", _clean(block.text))
        if picture.height > _MAX_PICTURE_HEIGHT:
            picture.width = Emu(picture.width * _MAX_PICTURE_HEIGHT // picture.height)
            picture.height = _MAX_PICTURE_HEIGHT
        self._add_line(self.document.add_paragraph(), block.caption)

    def _write_list(self, block: ListNode, style: str | None) -> None:
        """Write a list; in a quote its items keep the indentation of the quote."""
        number = self._start_numbering() if block.ordered else None
        for item in block.items:
            paragraph = self.document.add_paragraph(style=style or ("List Number" if number else "List Bullet"))
            if number:
                number(paragraph)
            elif style:
                _add_text(paragraph, "• ")
            self._add_line(paragraph, item, quiet=block.style == "note")

    def _write_table(self, block: TableNode) -> None:
        rows = [*([block.columns] if block.columns else []), *block.rows]
        table = self.document.add_table(rows=0, cols=max(map(len, rows)), style="Table Grid")
        for number, row in enumerate(rows):
            is_head = bool(block.columns) and number == 0
            for column, (cell, line) in enumerate(zip(table.add_row().cells, row, strict=True)):
                self._add_line(cell.paragraphs[0], line, bold=is_head or (block.labelled and column == 0))
        if block.columns:
            _repeat_header(table.rows[0]._tr)

    def _add_line(self, paragraph: Paragraph, line: Line, *, bold: bool = False, quiet: bool = False) -> None:
        for node in line:
            self._add_inline(paragraph, node, bold=bold, quiet=quiet)

    def _add_inline(self, paragraph: Paragraph, node: InlineNode, *, bold: bool, quiet: bool) -> None:
        match node:
            case TextSpan():
                run = _add_text(paragraph, node.text)
                run.bold = True if bold or node.kind == "strong" else None
                run.italic = True if node.kind == "em" else None
                if node.kind == "code":
                    run.font.name = _CODE_FONT
                if quiet or node.kind == "quiet":
                    _make_quiet(run)
            case StatementNode():
                self._add_line(paragraph, node.spans, bold=bold, quiet=quiet)
            case CitationNode():
                _add_citation(paragraph, node)
            case LinkNode():
                relation = self.document.part.relate_to(node.url, RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
                _add_hyperlink(paragraph, node.text, qn("r:id"), relation)
            case AnchorNode():
                _add_bookmark(paragraph, _name_bookmark(node.source), next(self._numbers))
                _add_text(paragraph, node.label)

    def _start_numbering(self) -> Callable[[Paragraph], Paragraph]:
        """Return a function that makes paragraphs items of one numbered list, which begins with 1."""
        numbering = self.document.part.numbering_part.element
        style = self.document.styles["List Number"].element
        kind = numbering.num_having_numId(style.pPr.numPr.numId.val).abstractNumId.val
        number = numbering.add_num(kind)
        number.add_lvlOverride(ilvl=0).add_startOverride(1)

        def add(paragraph: Paragraph) -> Paragraph:
            properties = paragraph._p.get_or_add_pPr().get_or_add_numPr()
            properties.get_or_add_ilvl().val = 0
            properties.get_or_add_numId().val = number.numId
            return paragraph

        return add


def _clean(text: str) -> str:
    """Return a text without characters that XML cannot contain."""
    return _NOT_IN_XML.sub("\ufffd", text)


def _add_text(paragraph: Paragraph, text: str) -> Run:
    return paragraph.add_run(_clean(text))


def _add_citation(paragraph: Paragraph, node: CitationNode) -> None:
    """Add the remark on claims, and citation marks as links to the references."""
    if node.note:
        _make_quiet(_add_text(paragraph, f" [{node.note}]"))
    if node.marks:
        _add_text(paragraph, " ")
    elif node.unsourced:
        _make_quiet(_add_text(paragraph, f" {node.unsourced}"))
    for mark in node.marks:
        _add_text(paragraph, mark.before)
        _add_hyperlink(paragraph, mark.label, qn("w:anchor"), _name_bookmark(mark.source))
        _add_text(paragraph, mark.after)


def _make_quiet(run: Run) -> None:
    run.font.size, run.font.color.rgb = Pt(9), _QUIET


def _name_bookmark(source: int) -> str:
    return f"source_{source}"


def _name_heading(part: PartNode) -> str:
    return f"part_{part.id}"


def _add_bookmark(paragraph: Paragraph, name: str, number: int) -> None:
    """Mark a place of a paragraph as the target of links."""
    start, end = OxmlElement("w:bookmarkStart"), OxmlElement("w:bookmarkEnd")
    for element in (start, end):
        element.set(qn("w:id"), str(number))
        paragraph._p.append(element)
    start.set(qn("w:name"), name)


def _add_field(paragraph: Paragraph, kind: str, instruction: str = "") -> None:
    """Add a mark of a field, or its instruction."""
    element = OxmlElement("w:instrText" if instruction else "w:fldChar")
    if instruction:
        element.text = instruction
    else:
        element.set(qn("w:fldCharType"), kind)
    paragraph.add_run()._r.append(element)


def _add_hyperlink(paragraph: Paragraph, text: str, attribute: str, target: str) -> None:
    run = _add_text(paragraph, text)
    run.font.color.rgb = _ACCENT
    link = OxmlElement("w:hyperlink")
    link.set(attribute, target)
    link.append(run._r)
    paragraph._p.append(link)


def _repeat_header(row: BaseOxmlElement) -> None:
    """Repeat a row of a table at the top of each page, and name it the header for screen readers."""
    properties = row.get_or_add_trPr()
    properties.append(OxmlElement("w:tblHeader"))
