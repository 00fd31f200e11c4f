"""Test the report as a Word document: the same text, links of sources only, and nothing read as markup."""

import io
from pathlib import PurePosixPath
from xml.etree.ElementTree import Element

import docx
import pytest
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml.ns import qn

from tenure.contracts.evidence.passages import Block, Citation, Claim, Draft
from tenure.contracts.research.report import SectionDraft
from tenure.contracts.result.result import Result
from tenure.report.assemble import assemble_result
from tenure.report.layout.report import compose_report
from tenure.report.render.docx import render_docx
from tenure.sources.parsers.formats.docx import parse_docx
from tests.report.samples import MOON, SHOWN, SOURCES, full, hostile, programmed, report

XML = ["<w:p/>", "</w:t></w:r>", "&amp; &#0;", "]]>", "{ HYPERLINK }", "\ufffe and \x0b"]


class WordReader:
    """Text and links of a Word document."""

    def __init__(self, data: bytes) -> None:
        self.document = docx.Document(io.BytesIO(data))
        body: Element = self.document.element.body
        self.text = "\n".join(
            "".join(text.text or "" for text in paragraph.iter(qn("w:t"))) for paragraph in body.iter(qn("w:p"))
        )
        self.bookmarks = [str(one.get(qn("w:name"))) for one in body.iter(qn("w:bookmarkStart"))]
        self.targets = {str(one.get(qn("w:anchor"))) for one in body.iter(qn("w:hyperlink")) if one.get(qn("w:anchor"))}

    @property
    def addresses(self) -> set[str]:
        """Addresses outside the document."""
        relations = self.document.part.rels.values()
        return {one.target_ref for one in relations if one.reltype == RELATIONSHIP_TYPE.HYPERLINK}

    def find_numbers(self) -> list[int]:
        """Return the numbered list to which each numbered paragraph belongs."""
        body: Element = self.document.element.body
        items = (one.find(f"{qn('w:pPr')}/{qn('w:numPr')}/{qn('w:numId')}") for one in body.iter(qn("w:p")))
        return [int(item.get(qn("w:val"), "")) for item in items if item is not None]


def test_a_word_document_has_the_whole_report() -> None:
    """Text, marks, quotes and how the report was made are all there."""
    text = WordReader(render_docx(full(), PurePosixPath("/library"))).text

    assert [part for part in ("Why the sea moves", *SHOWN) if part not in text] == []


def test_headings_can_be_navigated() -> None:
    """The parts are headings, so a word processor lists them and our own parser reads them as sections."""
    parsed = parse_docx(render_docx(full()), 10_000_000)

    assert parsed.title == "Why the sea moves"
    assert {"# Abstract", "# The rhythm", "# References", "# Quotes"} <= set(parsed.text.splitlines())


def test_links_lead_to_sources_at_the_words_of_a_quote() -> None:
    """A web source can be opened, also at the quoted words; marks lead to the references."""
    written = WordReader(render_docx(full()))

    assert written.addresses == {
        "https://moon.example/pull?a=1",
        "https://moon.example/pull?a=1#:~:text=The%20Moon%20pulls%20the%20water%20towards%20it.",
    }
    assert written.targets == set(written.bookmarks)


def test_tables_definitions_code_and_lists_keep_their_form() -> None:
    """Cells are below their column, code keeps its lines, and every numbered list begins with 1."""
    cited = (Citation(source=MOON, start=0, end=36, quote=SOURCES[MOON].text[:36]),)

    def claim(text: str, label: str = "", column: str = "") -> Claim:
        return Claim(text=text, label=label, column=column, citations=cited)

    cells = (claim("High.", "Spring", "Height"), claim("Fast.", "Spring", "Speed"), claim("Low.", "Neap", "Height"))
    blocks = (
        Block(kind="table", claims=cells),
        Block(kind="definitions", claims=(claim("A rise of the sea.", "Tide"),)),
        Block(kind="code", claims=(claim("tide = 1\nprint(tide)"),)),
        Block(kind="numbered", claims=(claim("First."), claim("Second."))),
        Block(claims=(claim("Between."),)),
        Block(kind="numbered", claims=(claim("First again."),)),
    )
    made = report(sections=(SectionDraft(topic="Forms", draft=Draft(blocks=blocks)),))
    written = WordReader(render_docx(assemble_result(made, SOURCES)))

    rows = [[cell.text for cell in row.cells] for row in written.document.tables[0].rows]
    assert rows == [["", "Height", "Speed"], ["Spring", "High. [1]", "Fast. [1]"], ["Neap", "Low. [1]", "–"]]
    assert "Tide: A rise of the sea. [1]" in written.text
    assert "tide = 1\nprint(tide)" in [one.text for one in written.document.paragraphs]
    first, second, third = written.find_numbers()
    assert first == second != third


@pytest.mark.parametrize("attack", XML)
def test_hostile_words_are_set_as_words(attack: str) -> None:
    """Markup in every field is shown and does nothing, and characters that XML cannot contain are replaced."""
    written = WordReader(render_docx(hostile(attack)))

    assert attack.replace("\x0b", "").split("\ufffe")[0] in written.text
    assert {address.split("#")[0] for address in written.addresses} == {"https://moon.example/pull?a=1"}


@pytest.mark.parametrize(
    "result", [programmed(), assemble_result(report(abstract=Draft(), sections=()), {})], ids=["program", "no evidence"]
)
def test_every_kind_of_report_can_be_written(result: Result) -> None:
    """A report on a program has its code and its test result; one without evidence says so."""
    text = WordReader(render_docx(result)).text

    assert "1 of 2 tests passed in the sandbox." in text or "No evidence was found." in text


def test_author_year_marks_lead_to_references_too() -> None:
    """The labels of marks follow the requested style."""
    written = WordReader(render_docx(full(), style="author-year"))

    assert "(Author 2024)" in written.text and written.targets == set(written.bookmarks)


def test_contents_lead_to_the_parts() -> None:
    """The table of contents is a field with a link to the heading of each part, in the language of the report."""
    result = full(language="de")
    document = docx.Document(io.BytesIO(render_docx(result)))
    parts = [block.heading for block in compose_report(result).parts]
    body = document.element.body
    links = [
        (link.get(qn("w:anchor")), "".join(text.text for text in link.iter(qn("w:t"))))
        for link in body.iter(qn("w:hyperlink"))
    ]
    marks = {mark.get(qn("w:name")) for mark in body.iter(qn("w:bookmarkStart"))}
    numbers = [mark.get(qn("w:id")) for mark in body.iter(qn("w:bookmarkStart"))]

    assert "Inhalt" in [paragraph.text for paragraph in document.paragraphs]
    assert [words for target, words in links if str(target).startswith("part_")] == parts
    assert {target for target, _ in links if target} <= marks and len(set(numbers)) == len(numbers)
    assert [kind.get(qn("w:fldCharType")) for kind in body.iter(qn("w:fldChar"))] == ["begin", "separate", "end"]
