"""ZIP packages for tests: presentations, books, workbooks, and bombs."""

import io
import zipfile
from functools import cache
from pathlib import Path

import pptx
import xlsxwriter
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

LAUGHS = (
    '<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "' + "&a;" * 100 + '"><!ENTITY c "' + "&b;" * 100 + '">'
    '<!ENTITY d "' + "&c;" * 100 + '"><!ENTITY e "' + "&d;" * 100 + '">]>'
)
"""Entities that expand to two hundred megabytes."""


def package(**files: bytes | str) -> bytes:
    """Return a ZIP package; `__` in a name means a slash, and the first member is stored uncompressed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for place, (name, content) in enumerate(files.items()):
            made.writestr(name.replace("__", "/"), content, zipfile.ZIP_DEFLATED if place else zipfile.ZIP_STORED)
    return buffer.getvalue()


@cache
def pack_zeros(size: int) -> bytes:
    """Return a ZIP package that unpacks to zeros: a test makes it, not the import of its module in every process."""
    buffer, block = io.BytesIO(), bytes(1 << 20)
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made, made.open("a", "w") as member:
        for start in range(0, size, len(block)):
            member.write(block[: size - start])
    return buffer.getvalue()


def make_pptx() -> bytes:
    """Return three slides: a list with notes, a table with a chart, and one with a title alone."""
    made = pptx.Presentation()
    made.core_properties.title, made.core_properties.author = "A talk", "Ann Lee"
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text_frame.text = "First things"
    frame = slide.placeholders[1].text_frame
    frame.text = "one"
    for text, level in (("deep", 1), ("two", 0)):
        paragraph = frame.add_paragraph()
        paragraph.text, paragraph.level = text, level
    slide.notes_slide.notes_text_frame.text = "Say it slowly."
    slide = made.slides.add_slide(made.slide_layouts[6])
    table = slide.shapes.add_table(2, 2, 0, 0, Inches(2), Inches(1)).table
    for row in range(2):
        for column in range(2):
            table.cell(row, column).text = f"{row}{column}"
    data = CategoryChartData()  # type: ignore[no-untyped-call]
    data.categories = ["2024", "2025"]
    data.add_series("Sales", (1.5, 2))  # type: ignore[no-untyped-call]
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, Inches(2), Inches(2), data)
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "A caption"
    made.slides.add_slide(made.slide_layouts[5]).shapes.title.text_frame.text = "The end"
    buffer = io.BytesIO()
    made.save(buffer)
    return buffer.getvalue()


OPF = """<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>A book</dc:title><dc:creator>Ann Lee</dc:creator>
<dc:creator>Bo Ek</dc:creator><dc:date>2024-05-06</dc:date></metadata>
<manifest><item id="b" href="text/two%20b.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="text/one.xhtml" media-type="application/xhtml+xml"/>
<item id="c" href="gone.xhtml" media-type="application/xhtml+xml"/>
<item id="p" href="cover.png" media-type="image/png"/></manifest>
<spine><itemref idref="p"/><itemref idref="a"/><itemref idref="c"/><itemref idref="b"/></spine></package>"""
CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)


def make_epub(opf: str = OPF, **more: bytes | str) -> bytes:
    """Return a book of two chapters and a missing one."""
    page = (
        '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head>'
    )
    return package(
        **{
            "mimetype": "application/epub+zip",
            "META-INF__container.xml": CONTAINER,
            "OEBPS__book.opf": opf,
            "OEBPS__text__one.xhtml": f"{page}<body><h1>Chapter one</h1><p>It was <em>late</em>, déjà.</p>",
            "OEBPS__text__two b.xhtml": f"{page}<body><h1>Chapter two</h1><p hidden=''>Secret.</p><p>End.</p>",
            **more,
        }
    )


def make_xlsx(path: Path, **sheets: list[list[object]]) -> Path:
    """Write a workbook with the given sheets, dates as dates."""
    with xlsxwriter.Workbook(str(path), {"default_date_format": "yyyy-mm-dd"}) as workbook:
        for name, rows in sheets.items():
            sheet = workbook.add_worksheet(name)
            for number, row in enumerate(rows):
                for column, cell in enumerate(row):
                    sheet.write(number, column, cell)
    return path


def wide_xlsx(path: Path) -> Path:
    """Write a workbook whose one sheet has two cells, in opposite corners of the largest sheet there can be."""
    with xlsxwriter.Workbook(str(path)) as workbook:
        sheet = workbook.add_worksheet()
        sheet.write(0, 0, "a")
        sheet.write(1_048_575, 16_383, "b")
    return path
