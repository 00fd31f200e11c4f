"""The report as a PDF: the same text, links of sources only, and nothing read as markup."""

import ctypes
from collections.abc import Iterator
from functools import partial
from pathlib import PurePosixPath

import pypdfium2
import pypdfium2.raw as pdfium
import pytest
import typst

from tenure.contracts.evidence.passages import Draft
from tenure.contracts.result.result import Result
from tenure.report.assemble import assemble_result
from tenure.report.render.pdf import render_pdf
from tests.report.samples import SHOWN, full, hostile, programmed, report

TYPST = [
    "#panic()",
    '#read("report.typ")',
    "*bold* _quiet_ $x^2$ `raw",
    "@source-1 <source-1>",
    "\\ #[content] // comment /* more */",
    "= Heading",
    '"), panic("',
]


def words(pdf: bytes) -> str:
    """Return the text of a PDF on one line."""
    document = pypdfium2.PdfDocument(pdf)
    return " ".join(" ".join(page.get_textpage().get_text_range() for page in document).replace("\ufffe", "").split())


def addresses(pdf: bytes) -> Iterator[str]:
    """Yield the addresses that a PDF links to."""
    document = pypdfium2.PdfDocument(pdf)
    for page in document:
        position, link = ctypes.c_int(0), pdfium.FPDF_LINK()
        while pdfium.FPDFLink_Enumerate(page.raw, position, link):
            action = pdfium.FPDFLink_GetAction(link)
            length = pdfium.FPDFAction_GetURIPath(document.raw, action, None, 0) if action else 0
            buffer = ctypes.create_string_buffer(length)
            if length:
                pdfium.FPDFAction_GetURIPath(document.raw, action, buffer, length)
                yield buffer.value.decode()


def test_a_pdf_holds_the_whole_report() -> None:
    """Text, marks, quotes and how the report was made are all there."""
    text = words(render_pdf(full(), PurePosixPath("/library")))

    for part in (
        "Why the sea moves",
        "Short answer: The Moon [1]",
        *SHOWN,
    ):
        assert part in text


def test_links_lead_to_sources_at_the_words_of_a_quote() -> None:
    """A web source can be opened, also at the quoted words."""
    assert set(addresses(render_pdf(full()))) == {
        "https://moon.example/pull?a=1",
        "https://moon.example/pull?a=1#:~:text=The%20Moon%20pulls%20the%20water%20towards%20it.",
    }


@pytest.mark.parametrize("attack", TYPST)
def test_hostile_words_are_set_as_words(attack: str) -> None:
    """Markup of the typesetter in every field is shown and does nothing."""
    pdf = render_pdf(hostile(attack))

    assert attack in words(pdf)
    assert {link.split("#")[0] for link in addresses(pdf)} == {"https://moon.example/pull?a=1"}


@pytest.mark.parametrize("result", [full(), programmed()], ids=["research", "program"])
def test_a_pdf_is_accessible(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report can be rendered as PDF/UA-1, whose export refuses inaccessible documents."""
    monkeypatch.setattr(typst, "compile", partial(typst.compile, pdf_standards="ua-1"))

    assert render_pdf(result).startswith(b"%PDF-")


def test_a_report_without_evidence_is_a_pdf_too() -> None:
    """The file says that nothing was found."""
    assert "No evidence was found." in words(render_pdf(assemble_result(report(abstract=Draft(), sections=()), {})))


def test_a_program_is_set_as_code() -> None:
    """The report on a program has its text as it is, markup of the typesetter included."""
    text = words(render_pdf(programmed("x = '#panic()' # *not* bold\n```\n")))

    assert "x = '#panic()' # *not* bold ```" in text
    assert "1 of 2 tests passed in the sandbox." in text


def test_other_scripts_can_be_read_back() -> None:
    """Greek and Cyrillic are in the embedded fonts."""
    assert "Παλίρροια и прилив" in words(render_pdf(full(title="Παλίρροια и прилив")))
