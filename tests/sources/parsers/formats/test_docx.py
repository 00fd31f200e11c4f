"""Tests of the DOCX parser."""

import io
import re
import zipfile
from datetime import UTC, datetime

import docx
import pytest
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from lxml import etree

from tenure.sources.document.document import Unreadable
from tenure.sources.parsers.formats.docx import parse_docx
from tests.sources.packages import change_type, pack_zeros, package

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


def _parse_xml(body: str, **parts: tuple[str, str]) -> str:
    """Return the text of a document with the given body and parts: kind of relationship and content, by names."""
    word = docx.Document()
    for name, (kind, content) in parts.items():
        suffix = "html" if kind == "aFChunk" else "xml"
        media_type = "text/html" if kind == "aFChunk" else "application/xml"
        part = Part(PackURI(f"/word/{name}.{suffix}"), media_type, content.encode(), word.part.package)
        word.part.rels.add_relationship(f"{_RELATIONS}/{kind}", part, name)
    element = word.element.body
    element[:] = list(etree.fromstring(f"<w:body {_NAMES}>{body}</w:body>"))
    return parse_docx(_saved(word), LIMIT).text


_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_NAMES = (
    f'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="{_RELATIONS}" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
)


def _run(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


def test_all_changes_are_accepted() -> None:
    """Inserted and moved text, fields and controls are text, and text that was deleted or moved away is left out."""
    text = _parse_xml(
        f"<w:p>{_run('Rye ')}<w:ins>{_run('needs ')}</w:ins><w:del><w:r><w:delText>wants </w:delText></w:r></w:del>"
        f"<w:moveFrom>{_run('gone ')}</w:moveFrom><w:fldSimple>{_run('six ')}</w:fldSimple>"
        f"<w:sdt><w:sdtPr/><w:sdtContent>{_run('hours')}</w:sdtContent></w:sdt></w:p>"
        f"<w:sdt><w:sdtContent><w:p>{_run('In a control.')}</w:p></w:sdtContent></w:sdt>"
    )

    assert text == "Rye needs six hours\n\nIn a control."


def test_text_boxes_follow_their_paragraph() -> None:
    """A text box is read once, although a copy for old programs follows it."""
    box = f"<w:txbxContent><w:p>{_run('In a box.')}</w:p></w:txbxContent>"
    text = _parse_xml(
        f"<w:p>{_run('Before.')}<w:r><mc:AlternateContent><mc:Choice Requires='wps'><w:drawing>{box}</w:drawing>"
        f"</mc:Choice><mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>"
    )

    assert text == "Before.\n\nIn a box."


def test_notes_and_comments_follow_their_block() -> None:
    """Remarks on an item follow its list; headers and footers come last, each once and not as a number alone."""
    note = f'<w:n {_NAMES}><w:{{0}} w:id="1" {{1}}><w:p>{{2}}</w:p></w:{{0}}></w:n>'
    head = f"<w:hdr {_NAMES}><w:p>{_run('Annual report')}</w:p></w:hdr>"
    item = '<w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr>'
    text = _parse_xml(
        f'<w:p>{item}{_run("one")}<w:r><w:footnoteReference w:id="1"/></w:r></w:p><w:p>{item}{_run("two")}</w:p>'
        f'<w:p>{_run("After.")}<w:r><w:commentReference w:id="1"/></w:r></w:p>',
        footnotes=("footnotes", note.format("footnote", "", _run("See below."))),
        comments=("comments", note.format("comment", 'w:author="Bo"', _run("Really?"))),
        header1=("header", head),
        header2=("header", head),
        footer1=("footer", f"<w:ftr {_NAMES}><w:p>{_run('12')}</w:p></w:ftr>"),
    )

    assert text == ("- one\n- two\n\nFootnote: See below.\n\nAfter.\n\nComment of Bo: Really?\n\nHeader: Annual report")


def test_cells_merged_in_a_column_are_repeated() -> None:
    """Each row of a merged cell has its text, wherever the cell is; rows and cells may be in controls."""
    row = f"<w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr><w:p>{_run('a')}</w:p></w:tc>"
    begin, go_on = "<w:tcPr><w:vMerge w:val='restart'/></w:tcPr>", "<w:tcPr><w:vMerge/></w:tcPr>"
    text = _parse_xml(
        f"<w:tbl><w:tr>{row}<w:tc>{begin}<w:p>{_run('b')}</w:p></w:tc></w:tr>"
        f"<w:sdt><w:sdtContent><w:tr>{row}<w:tc>{go_on}<w:p/></w:tc></w:tr></w:sdtContent></w:sdt></w:tbl>"
    )

    assert text == "| a | b |\n| a | b |"


def test_charts_and_pages_of_html_are_read() -> None:
    """The cached data of a chart is a table, and an embedded page is a part of the text."""
    chart = (
        f"<c:chartSpace {_NAMES}><c:chart><c:plotArea><c:pieChart><c:ser><c:cat><c:pt idx='0'><c:v>Rye</c:v></c:pt>"
        "</c:cat><c:val><c:pt idx='0'><c:v>6</c:v></c:pt></c:val></c:ser></c:pieChart></c:plotArea></c:chart>"
        "</c:chartSpace>"
    )
    text = _parse_xml(
        '<w:p><w:r><w:drawing><c:chart r:id="chart1"/></w:drawing></w:r></w:p><w:altChunk r:id="page"/>',
        chart1=("chart", chart),
        page=("aFChunk", "<html><body><h2>Oats</h2><p>Two hours.</p></body></html>"),
    )

    assert text == "| Rye | 6 |\n\n## Oats\n\nTwo hours."


@pytest.mark.parametrize(
    "kind",
    [
        "vnd.ms-word.document.macroEnabled",
        "vnd.openxmlformats-officedocument.wordprocessingml.template",
        "vnd.ms-word.template.macroEnabledTemplate",
    ],
)
def test_templates_and_documents_with_macros_are_read(kind: str) -> None:
    """They differ from a document by the type of their main part alone."""
    plain = "vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    assert parse_docx(change_type(make_docx(), plain, f"{kind}.main+xml"), LIMIT).text == (
        parse_docx(make_docx(), LIMIT).text
    )


def test_a_strict_document_is_read() -> None:
    """A document in the strict form of the standard has other namespaces."""
    strict = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(make_docx())) as package, zipfile.ZipFile(strict, "w") as converted:
        for name in package.namelist():
            content = re.sub(
                rb"http://schemas.openxmlformats.org/(officeDocument|wordprocessingml|drawingml)/2006/",
                rb"http://purl.oclc.org/ooxml/\1/",
                package.read(name),
            )
            converted.writestr(name, content)

    assert parse_docx(strict.getvalue(), LIMIT).text == parse_docx(make_docx(), LIMIT).text
