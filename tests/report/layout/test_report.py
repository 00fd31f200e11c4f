"""Test that the layout alone decides the parts of a report and their order, in every format."""

import io
import re
from dataclasses import replace
from itertools import pairwise

import docx
import pypdfium2
import pytest

from tenure.contracts.result.result import Result
from tenure.report.layout.report import compose_report, compose_summary
from tenure.report.layout.tree import ParagraphNode, PartNode, ReportTree, TextSpan
from tenure.report.render import docx as docx_writer
from tenure.report.render import html as html_writer
from tenure.report.render import markdown as markdown_writer
from tenure.report.render import pdf as pdf_writer
from tests.report.layout.test_news import FULL
from tests.report.layout.test_reasoning import LINE, reported
from tests.report.samples import full, programmed, varied

WRITERS = (markdown_writer, html_writer, docx_writer, pdf_writer)


def read_headings(result: Result) -> dict[str, list[str]]:
    """Return the headings of the parts of a report in each format."""
    written = docx.Document(io.BytesIO(docx_writer.render_docx(result)))
    pdf = pypdfium2.PdfDocument(pdf_writer.render_pdf(result))
    markdown, html = markdown_writer.render_markdown(result), html_writer.render_html(result)
    return {
        "markdown": re.findall(r"^## (.*)$", markdown, re.MULTILINE),
        "html": re.findall(r'<h2 id="[^"]*" dir="auto">([^<]*)</h2>', html),
        "contents of html": re.findall(r'<li><a href="#[^"]*" dir="auto">([^<]*)</a></li>', html),
        "docx": [p.text for p in written.paragraphs if p.style is not None and p.style.name == "Heading 1"],
        "pdf": [item.get_title() for item in pdf.get_toc() if item.level == 0],
    }


@pytest.mark.parametrize(
    "result",
    [full(changes=FULL), varied(), reported(LINE), programmed()],
    ids=["full", "varied", "reasoned", "program"],
)
def test_every_format_has_the_parts_of_the_layout_in_its_order(result: Result) -> None:
    """Markdown, HTML with its contents, DOCX and PDF have the same headings in the same order."""
    expected = [part.heading for part in compose_report(result).parts]

    assert len(expected) >= 6
    assert read_headings(result) == dict.fromkeys(read_headings(result), expected)


def test_a_new_part_needs_the_layout_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part that the layout adds, in another order, is in every format without a change of a writer."""
    added = PartNode("added", "Added", (ParagraphNode((TextSpan("New words."),)),))

    def lay_out(*arguments: object) -> ReportTree:
        tree = compose_report(*arguments)  # type: ignore[arg-type]
        return replace(tree, blocks=(added, *reversed(tree.parts)))

    for writer in WRITERS:
        monkeypatch.setattr(writer, "compose_report", lay_out)
    expected = ["Added", *(part.heading for part in reversed(compose_report(varied()).parts))]

    assert set(map(tuple, read_headings(varied()).values())) == {tuple(expected)}


def test_parts_have_unique_ids_and_content() -> None:
    """Links of a page need unique ids, and a part without content is left out."""
    for result in (full(changes=FULL), varied(), programmed()):
        parts = compose_report(result).parts
        assert all(part.id and part.blocks for part in parts)
        assert len({part.id for part in parts}) == len(parts)


def test_evidence_follows_the_text() -> None:
    """The text is followed by references and the course of the run, and the quotes close the report."""
    ids = [part.id for part in compose_report(full(changes=FULL)).parts]
    order = ["news", "abstract", "section-1", "follows", "limits", "references", "made", "quotes"]

    assert all(ids.index(before) < ids.index(after) for before, after in pairwise(order))
    assert ids[-1] == "quotes"


def test_a_question_that_is_the_title_is_shown_once() -> None:
    """A title that differs from the question only in punctuation and case replaces it."""
    same = compose_report(full(question="Why, the SEA moves?", title="Why the sea moves"))
    other = compose_report(full(question="What moves the sea?"))

    assert [block.style for block in same.head if isinstance(block, ParagraphNode)] == ["summary"]
    assert [block.style for block in other.head if isinstance(block, ParagraphNode)] == ["question", "summary"]


def test_a_summary_ends_with_the_first_part() -> None:
    """A summary has the remarks, the answer and one part, and neither references nor quotes."""
    report, summary = compose_report(full()), compose_summary(full())

    assert summary.head == report.head
    assert [part.id for part in summary.parts] == [report.parts[0].id] == ["abstract"]
    assert summary.blocks == report.blocks[: len(summary.blocks)]
