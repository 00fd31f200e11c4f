"""Render a result document as DOCX with python-docx.

All text is set as text of runs, never as markup. Citation marks are links to the entries of the references, and the
only links out of the document are those of sources on the web. Word shows no SVG images, so figures are given in words.
"""

import io
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
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
from docx.shared import Cm, Pt, RGBColor
from docx.table import _Cell
from docx.text.paragraph import Paragraph
from docx.text.run import Run

from tenure.contracts.result.result import Result
from tenure.report.render.escaping import TextSpan
from tenure.report.render.marks import UNSOURCED, CitationStyle
from tenure.report.render.page import (
    BlockView,
    DisagreementView,
    ExcerptGroupView,
    ExcerptView,
    FigureView,
    Line,
    MarkView,
    PartView,
    ReasoningView,
    ReferenceView,
    Remark,
    ReportPage,
    SentenceView,
    ThoughtView,
)
from tenure.report.render.view import build_page

_QUIET: Final = RGBColor(0x56, 0x61, 0x6A)
_ACCENT: Final = RGBColor(0x14, 0x60, 0x7B)
_CODE_FONT: Final = "Consolas"
_CODE: Final = "Code"
_EXCERPT: Final = "Excerpt"
_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_docx(result: Result, base: PurePath | None = None, style: CitationStyle = "numeric") -> bytes:
    """Render a result document as a Word document.

    Args:
        result: the result document.
        base: folder to which paths of sources are shown relative if they are below it.
        style: format of citation marks.
    """
    page = build_page(result, base, style)
    builder = _DocumentBuilder(page)
    builder.write_report()
    properties = builder.document.core_properties
    properties.title, properties.author, properties.comments = _clean(page.title)[:255], "Tenure", ""
    properties.created = properties.modified = datetime.now(UTC)
    content = io.BytesIO()
    builder.document.save(content)
    return content.getvalue()


class _DocumentBuilder:
    """Builder of the document of a report.

    Args:
        page: view of the report.
    """

    def __init__(self, page: ReportPage) -> None:
        self._page = page
        self.document: Document = docx.Document()
        for section in self.document.sections:
            section.left_margin = section.right_margin = Cm(2.4)
        code = self.document.styles.add_style(_CODE, WD_STYLE_TYPE.PARAGRAPH)
        code.font.name, code.font.size = _CODE_FONT, Pt(9)
        code.paragraph_format.left_indent = Cm(0.5)
        excerpt = self.document.styles.add_style(_EXCERPT, WD_STYLE_TYPE.PARAGRAPH)
        excerpt.paragraph_format.left_indent = Cm(0.8)

    def write_report(self) -> None:
        """Write all parts in the order of the other formats."""
        page = self._page
        self._write_head()
        self._write_part(page.news_heading, page.news, self._write_remarks)
        self._write_remarks(page.nothing_found)
        for chapter in page.chapters:
            self._head(chapter.heading)
            self._write_remarks(chapter.remarks)
        if page.no_answer:
            self._write_line((TextSpan(page.no_answer, "strong"),))
        self._write_part(page.short_answer_label, page.short_answer, self._write_blocks)
        self._write_part("Abstract", page.abstract, self._write_blocks)
        for remark in filter(None, (*page.meanings, page.brief_note)):
            self._write_quietly(remark)
        for part in (*([page.comparison] if page.comparison else ()), *page.sections):
            self._write_titled(part, 1)
        if page.synthesis:
            self._head("Synthesis")
            for part in page.synthesis:
                self._write_titled(part, 2)
        self._write_part("Figures and files", page.files, self._write_remarks)
        for disputed in page.disagreements:
            self._head(disputed.heading)
            for dispute in disputed.disputes:
                self._write_dispute(dispute)
        for part in page.endings:
            self._write_titled(part, 1)
        self._write_part("Limits of the evidence", page.limits, self._write_bullets)
        if page.further:
            self._head("Further Considerations")
            self._write_line((TextSpan(page.beyond, "em"),))
            self._write_bullets(page.further)
        self._write_part("Feedback and answers", page.feedback, self._write_remarks)
        self._write_references()
        if page.reasoning:
            self._write_reasoning(page.reasoning)
        self._write_figures()
        self._head("How this report was made")
        self._write_remarks(page.provenance)

    def _write_head(self) -> None:
        page = self._page
        self.document.add_heading(_clean(page.title), 0)
        if page.question != page.title:
            self._write_quietly(page.question)
        if page.summary:
            self._write_quietly(page.summary)
        if page.remark:
            self._write_line((TextSpan(page.remark, "em"),))

    def _write_references(self) -> None:
        sources = self._page.references
        if not sources:
            return
        self._head("References")
        for number, source in enumerate(sources):
            self._write_reference(number, source)
        if any(source.quotes for source in sources):
            self._head("Quotes")
            self._write_line((TextSpan(self._page.how_to_check),))
        for source in sources:
            if source.quotes:
                self._head(f"{self._name(source.label)} {source.title}", 2)
            for cited in source.quotes:
                paragraph = self._add_paragraph("List Bullet")
                _add_text(paragraph, f"“{cited.quote.words}” ")
                _make_quiet(_add_text(paragraph, f"{cited.quote.place} · in: {cited.parts}"))
                if cited.quote.link:
                    _make_quiet(_add_text(paragraph, " · "))
                    self._add_link(paragraph, "open the page at these words", cited.quote.link)

    def _write_reference(self, number: int, source: ReferenceView) -> None:
        paragraph = self._add_paragraph()
        _add_bookmark(paragraph, number, _name_bookmark(source.n))
        _add_text(paragraph, f"{self._name(source.label)} ")
        _add_text(paragraph, source.title).italic = True
        _add_text(paragraph, f", {source.origin}, " if source.origin else ", ")
        if source.link:
            self._add_link(paragraph, source.address, source.link)
        else:
            _add_text(paragraph, source.address).font.name = _CODE_FONT
        remarks = [
            f", read {source.accessed}",
            ", gives instructions to language models" if source.suspicious else "",
            ", no longer available when the report was finished" if source.gone else "",
        ]
        _add_text(paragraph, "".join(remarks))
        if source.archived:
            _add_text(paragraph, ", ")
            self._add_link(paragraph, "archived", source.archived)
        _add_text(paragraph, ".")

    def _write_dispute(self, dispute: DisagreementView) -> None:
        self._write_quietly(dispute.words)
        for side in dispute.sides:
            paragraph = self._add_paragraph()
            if side.position:
                _add_text(paragraph, f"{side.position}: ").italic = True
            _add_link_to(paragraph, f"{self._name(side.label)} {side.title}", _name_bookmark(side.source))
            if side.note:
                _add_text(paragraph, f" ({side.note})")
            _add_text(self._add_paragraph("Quote"), side.quote.words)
        if dispute.outcome:
            self._write_line((TextSpan(dispute.outcome),))

    def _write_reasoning(self, reasoning: ReasoningView) -> None:
        self._head(reasoning.heading)
        if reasoning.opening:
            self._write_line((TextSpan(reasoning.opening, "em"),))
        numbered = self._start_list()
        for step in reasoning.steps:
            self._write_thought(step, numbered(self._add_paragraph("List Number")))
        if reasoning.conclusion:
            self._write_thought(reasoning.conclusion, self._add_paragraph())
        if reasoning.considered:
            self._write_line((TextSpan(reasoning.considered_heading),))
            self._write_bullets(reasoning.considered)
        for part in reasoning.background:
            self._write_titled(part, 2)

    def _write_thought(self, thought: ThoughtView, paragraph: Paragraph) -> None:
        _add_text(paragraph, f"{thought.label}: ").bold = True
        self._add_sentence(paragraph, thought.sentence)

    def _write_figures(self) -> None:
        page = self._page
        groups = {
            "Coverage of each topic, before the research and after every cycle": page.coverage,
            "Information gain": (page.gain,) if page.gain else (),
            "Budget": page.budget,
        }
        if not any(groups.values()):
            return
        self._head("Figures")
        for name, figures in groups.items():
            if figures:
                self._write_quietly(name)
                self._write_rows(figures)

    def _write_rows(self, figures: Sequence[FigureView]) -> None:
        table = self.document.add_table(rows=0, cols=2, style="Table Grid")
        for figure in figures:
            name, value = table.add_row().cells
            _add_text(name.paragraphs[0], figure.name)
            _add_text(value.paragraphs[0], figure.words or figure.value)

    def _write_part(self, heading: str, content: Sequence[object], write: Callable[..., None]) -> None:
        """Write a part with its heading unless it is empty."""
        if content:
            self._head(heading)
            write(content)

    def _write_titled(self, part: PartView, level: int) -> None:
        self._head(part.heading, level)
        if part.note:
            self._write_quietly(part.note)
        self._write_blocks(part.passages, level + 1)

    def _write_blocks(self, blocks: Iterable[BlockView], level: int = 2) -> None:
        for block in blocks:
            if block.heading:
                self._head(block.heading, level)
            if block.kind in ("bullets", "numbered"):
                self._write_list(block)
            elif block.kind == "table":
                self._write_table(block)
            elif block.kind == "definitions":
                for row in block.rows:
                    paragraph = self._add_paragraph()
                    _add_line(paragraph, row.label, bold=True)
                    _add_text(paragraph, ": ")
                    self._add_sentences(paragraph, row.cells[0])
            elif block.kind == "code":
                for one in block.sentences:
                    _add_text(self._add_paragraph(_CODE), one.spans[0].text)
                    remarks = self._add_paragraph()
                    remarks.alignment = WD_ALIGN_PARAGRAPH.RIGHT
                    self._add_note(remarks, one)
            elif block.excerpt:
                self._write_excerpt(block.excerpt)
            else:
                self._add_sentences(self._add_paragraph(), block.sentences)

    def _write_excerpt(self, excerpt: ExcerptView) -> None:
        """Write an excerpt as indented paragraphs, then its place with its mark."""
        for group in excerpt.groups:
            if group.kind == "table":
                self._write_cells(group)
            else:
                for number, row in enumerate(group.rows):
                    paragraph = self._add_paragraph(_CODE if group.kind == "code" else _EXCERPT)
                    sign = "• " if group.kind == "list" else ""
                    _add_text(paragraph, sign + (group.before if number == 0 else ""))
                    for place, sentence in enumerate(row):
                        _add_text(paragraph, " " if place else "")
                        _add_line(paragraph, sentence)
        paragraph = self._add_paragraph()
        _make_quiet(_add_text(paragraph, f"{excerpt.place}{f' [{excerpt.note}]' if excerpt.note else ''} "))
        self._add_marks(paragraph, excerpt.marks)

    def _write_cells(self, group: ExcerptGroupView) -> None:
        width = max(len(row) for row in (*group.rows, group.columns))
        table = self.document.add_table(rows=0, cols=width, style="Table Grid")
        head = [group.columns] if group.columns else []
        for number, row in enumerate([*head, *group.rows]):
            for cell, text in zip(table.add_row().cells, row, strict=False):
                _add_line(cell.paragraphs[0], text, bold=number < len(head))
        if head:
            _repeat_header(table.rows[0]._tr)

    def _write_list(self, block: BlockView) -> None:
        numbered = self._start_list()
        for one in block.sentences:
            paragraph = self._add_paragraph("List Bullet" if block.kind == "bullets" else "List Number")
            self._add_sentence(paragraph if block.kind == "bullets" else numbered(paragraph), one)

    def _write_table(self, block: BlockView) -> None:
        table = self.document.add_table(rows=1, cols=len(block.columns) + 1, style="Table Grid")
        for cell, column in zip(table.rows[0].cells[1:], block.columns, strict=True):
            _add_line(cell.paragraphs[0], column, bold=True)
        _repeat_header(table.rows[0]._tr)
        for row in block.rows:
            first, *others = table.add_row().cells
            _add_line(first.paragraphs[0], row.label, bold=True)
            for cell, sentences in zip(others, row.cells, strict=True):
                self._fill_cell(cell, sentences)

    def _fill_cell(self, cell: _Cell, sentences: Sequence[SentenceView]) -> None:
        paragraph = cell.paragraphs[0]
        if sentences:
            self._add_sentences(paragraph, sentences)
        else:
            _add_text(paragraph, "–")

    def _write_remarks(self, remarks: Iterable[Remark]) -> None:
        styles = {"bullet": "List Bullet", "code": _CODE}
        for remark in remarks:
            if remark.kind == "heading":
                self._head("".join(span.text for span in remark.spans), 2)
            elif remark.kind == "code":
                _add_text(self._add_paragraph(_CODE), remark.spans[0].text)
            else:
                self._write_line(remark.spans, styles.get(remark.kind))

    def _write_bullets(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self._write_line(line, "List Bullet")

    def _write_line(self, line: Line, style: str | None = None) -> None:
        _add_line(self._add_paragraph(style), line)

    def _write_quietly(self, text: str) -> None:
        _make_quiet(_add_text(self._add_paragraph(), text))

    def _head(self, text: str, level: int = 1) -> None:
        if text:
            self.document.add_heading(_clean(text), level)

    def _add_paragraph(self, style: str | None = None) -> Paragraph:
        return self.document.add_paragraph(style=style)

    def _add_sentences(self, paragraph: Paragraph, sentences: Iterable[SentenceView]) -> None:
        for number, one in enumerate(sentences):
            if number:
                _add_text(paragraph, " ")
            self._add_sentence(paragraph, one)

    def _add_sentence(self, paragraph: Paragraph, sentence: SentenceView) -> None:
        _add_line(paragraph, sentence.spans)
        self._add_note(paragraph, sentence)

    def _add_note(self, paragraph: Paragraph, sentence: SentenceView) -> None:
        """Add the remark on a sentence and its citation marks."""
        if sentence.note:
            _make_quiet(_add_text(paragraph, f" [{sentence.note}]"))
        if sentence.marks:
            _add_text(paragraph, " ")
            self._add_marks(paragraph, sentence.marks)
        elif sentence.lacks_source:
            _make_quiet(_add_text(paragraph, f" {UNSOURCED}"))

    def _add_marks(self, paragraph: Paragraph, marks: Sequence[MarkView]) -> None:
        _add_text(paragraph, self._page.opening)
        for number, mark in enumerate(marks):
            if number:
                _add_text(paragraph, self._page.between)
            _add_link_to(paragraph, mark.label, _name_bookmark(mark.source))
        _add_text(paragraph, self._page.closing)

    def _name(self, label: str) -> str:
        return f"{self._page.opening}{label}{self._page.closing}"

    def _add_link(self, paragraph: Paragraph, text: str, address: str) -> None:
        """Add a link to a page on the web."""
        relation = self.document.part.relate_to(address, RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
        _add_hyperlink(paragraph, text, qn("r:id"), relation)

    def _start_list(self) -> Callable[[Paragraph], Paragraph]:
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


def _add_line(paragraph: Paragraph, line: Line, *, bold: bool = False) -> None:
    for span in line:
        run = _add_text(paragraph, span.text)
        run.bold = True if bold or span.kind == "strong" else None
        run.italic = True if span.kind == "em" else None
        if span.kind == "code":
            run.font.name = _CODE_FONT


def _make_quiet(run: Run) -> None:
    run.font.size, run.font.color.rgb = Pt(9), _QUIET


def _name_bookmark(source: int) -> str:
    return f"source_{source}"


def _add_bookmark(paragraph: Paragraph, number: int, name: str) -> None:
    """Mark the beginning of a paragraph as the target of links."""
    start, end = OxmlElement("w:bookmarkStart"), OxmlElement("w:bookmarkEnd")
    for element in (start, end):
        element.set(qn("w:id"), str(number))
        paragraph._p.append(element)
    start.set(qn("w:name"), name)


def _add_link_to(paragraph: Paragraph, text: str, bookmark: str) -> None:
    """Add a link to a place in the document."""
    _add_hyperlink(paragraph, text, qn("w:anchor"), bookmark)


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
