"""Tests of excerpts in the formats of a report."""

import io
from typing import Any

import docx
import pytest

from tenure.contracts.base import ChunkId, RunId, SourceId
from tenure.contracts.evidence.passages import Block, Citation, Claim, Draft
from tenure.contracts.research.report import ReportDraft, SectionDraft
from tenure.contracts.result.result import Result
from tenure.report.assemble import assemble_result
from tenure.report.layout.limits import BRIEF_NOTE
from tenure.report.render.docx import render_docx
from tenure.report.render.html import render_html
from tenure.report.render.markdown import render_markdown
from tenure.report.render.pdf import render_pdf
from tests.report.samples import StoredSource

TEXT = (
    "# Bread\n\n## Dough\n\nIt is old. Bread is *made* of flour. It rises.\n\nIt needs:\n\n- rye\n- salt\n\n"
    "| town | loaves |\n| Rome | 12 |\n| Bath | 3 |\n\n    bake(\n        rye)\n\nThe end of it."
)


def claim(text: str, part: Any, *, answers: bool = False) -> Claim:
    """Return a part of an excerpt that quotes `TEXT`."""
    start = TEXT.index(text)
    citation = Citation(source=SourceId("s"), chunk=ChunkId("c"), start=start, end=start + len(text), quote=text)
    return Claim(text=text, part=part, answers=answers, status="supported", citations=(citation,))


PARTS = (
    claim("It is old.", "paragraph"),
    claim("Bread is *made* of flour.", "sentence", answers=True),
    claim("It needs:", "paragraph"),
    claim("rye", "item", answers=True),
    claim("salt", "item"),
    claim("| town | loaves |", "row"),
    claim("| Rome | 12 |", "row", answers=True),
    claim("    bake(\n        rye)", "code"),
)


@pytest.fixture(name="result")
def brief() -> Result:
    """Return a brief of one excerpt, from which the first paragraph lacks a sentence and the table a row."""
    draft = ReportDraft(
        id=RunId("r"),
        mode="RESEARCH",
        question="What is bread?",
        title="Bread",
        sections=(SectionDraft(topic="Bread", draft=Draft(blocks=(Block(kind="excerpt", claims=PARTS),))),),
        status="done",
    )
    return assemble_result(draft, {SourceId("s"): StoredSource("/kitchen/bread.md", "Bread and rye", TEXT)})


def test_an_excerpt_is_a_quote_with_its_place(result: Result) -> None:
    """Markdown shows its forms as a quote with bold answers, and one line with title, headings, place and mark."""
    section = render_markdown(result).partition("## Bread\n\n")[2].partition("\n\n## ")[0]

    assert section.splitlines() == [
        r"> It is old. **Bread is \*made\* of flour.**",
        ">",
        "> … It needs:",
        ">",
        "> - **rye**",
        "> - salt",
        ">",
        "> | town | loaves |",
        "> | --- | --- |",
        "> | **Rome** | **12** |",
        ">",
        "> …",
        ">",
        "> ```",
        ">     bake(",
        ">         rye)",
        "> ```",
        "",
        f"— Bread and rye › Bread › Dough, characters {TEXT.index('It is')}–{TEXT.index('The end') - 2} [1]",
    ]


def test_an_excerpt_is_its_own_quote(result: Result) -> None:
    """The quotes at the end do not repeat excerpts, and the report says that a model would write it up."""
    shown = render_markdown(result)

    assert "## Quotes" not in shown and BRIEF_NOTE in shown
    assert "1 excerpt of 1 source." in render_html(result) and 'id="quotes"' not in render_html(result)


def test_an_excerpt_has_one_mark_on_a_page(result: Result) -> None:
    """The page shows paragraphs, list, table and code in a quote, and one mark in its caption."""
    page = render_html(result)
    quote = page.partition('<figure class="excerpt">')[2].partition("</figure>")[0]

    assert "<strong>Bread is *made* of flour.</strong>" in quote and '<li dir="auto"><strong>rye</strong></li>' in quote
    assert '<th scope="col" dir="auto">town</th>' in quote and "<code>    bake(" in quote
    assert quote.count('class="mark"') == 1 and "Bread and rye › Bread › Dough" in quote


def test_an_excerpt_is_in_print_and_in_word(result: Result) -> None:
    """PDF and DOCX are made of the same view; the answer is bold in DOCX."""
    document = docx.Document(io.BytesIO(render_docx(result)))
    bold = [run.text for paragraph in document.paragraphs for run in paragraph.runs if run.bold]

    assert "Bread is *made* of flour." in bold and "rye" in bold
    assert [cell.text for cell in document.tables[0].rows[0].cells] == ["town", "loaves"]
    assert render_pdf(result).startswith(b"%PDF")
