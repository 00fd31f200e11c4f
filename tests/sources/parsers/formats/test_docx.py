"""Tests of the DOCX parser."""

import io
from datetime import UTC, datetime

import docx
import pytest

from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.formats.docx import parse_docx
from tests.sources.packages import pack_zeros, package

LIMIT = 10_000_000


def make_docx() -> bytes:
    word = docx.Document()
    word.core_properties.title = "A report"
    word.core_properties.author = "Ann Lee"
    word.core_properties.created = datetime(2024, 5, 6, tzinfo=UTC)
    word.add_heading("Cover", 0)
    word.add_heading("Part", 2)
    word.add_paragraph("Plain ").add_run("bold").bold = True
    for style, text in [
        ("List Bullet", "one"),
        ("List Bullet 2", "deep"),
        ("List Bullet", "two"),
        ("List Number", "first"),
        ("List Number", "second"),
    ]:
        word.add_paragraph(text, style=style)
    table = word.add_table(rows=2, cols=3)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "wide"
    table.cell(0, 2).text = "c"
    for n in range(3):
        table.cell(1, n).text = str(n)
    word.add_paragraph("")
    word.add_paragraph("The end.")
    return _saved(word)


def _saved(word: "docx.document.Document") -> bytes:
    buffer = io.BytesIO()
    word.save(buffer)
    return buffer.getvalue()


def test_styles_become_structure() -> None:
    """Headings, lists, merged cells and metadata are parsed."""
    document = parse_docx(make_docx(), LIMIT)

    assert document.text == (
        "# Cover\n\n## Part\n\nPlain bold\n\n- one\n  - deep\n- two\n1. first\n2. second\n\n"
        "| wide | c |\n| 0 | 1 | 2 |\n\nThe end."
    )
    assert (document.title, document.author, document.published) == ("A report", "Ann Lee", "2024-05-06")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xd0\xcf\x11\xe0" + b"\0" * 600, "is in the old binary Word format"),
        (b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), "is encrypted"),
        (b"no package at all", "is not a valid Word document"),
        (make_docx()[:2000], "is not a valid Word document"),
        (package(a=b"x"), "is not a valid Word document"),
    ],
)
def test_unreadable_files_have_a_reason(data: bytes, reason: str) -> None:
    """Encrypted, old and damaged files are unreadable, each with its reason."""
    with pytest.raises(Unreadable) as caught:
        parse_docx(data, LIMIT)

    assert caught.value.reason == reason


def test_an_exploding_file_is_unreadable() -> None:
    """The content is measured before it is unpacked."""
    with pytest.raises(Unreadable, match="unpacks to far more than a document"):
        parse_docx(pack_zeros(LIMIT * 10 + 1), LIMIT)


def test_code_styles_and_numbering_properties_are_parsed() -> None:
    """A paragraph in a code style is literal; a list may be defined by properties instead of a style."""
    word = docx.Document()
    word.styles.add_style("Source Code", 1)
    word.add_paragraph("x = 1", style="Source Code")
    item = word.add_paragraph("point")
    item._p.get_or_add_pPr().get_or_add_numPr()._add_numId()

    assert parse_docx(_saved(word), LIMIT).text == "    x = 1\n\n- point"
