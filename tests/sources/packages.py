"""ZIP packages for tests: presentations, books, workbooks, and bombs."""

import io
import zipfile
from datetime import date
from functools import cache
from pathlib import Path

import pptx
import xlsxwriter
from lxml import etree
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI
from pptx.slide import Slide
from pptx.util import Inches

LAUGHS = (
    '<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "' + "&a;" * 100 + '"><!ENTITY c "' + "&b;" * 100 + '">'
    '<!ENTITY d "' + "&c;" * 100 + '"><!ENTITY e "' + "&d;" * 100 + '">]>'
)
"""Entities that expand to two hundred megabytes."""

_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_DIAGRAM = f"""<m xmlns="{_DRAWING[:-4]}diagram" xmlns:a="{_DRAWING}">
<pt type="doc"/><pt><t><a:p><a:r><a:t>Plan</a:t></a:r><a:r><a:t> the work</a:t></a:r></a:p></t></pt>
<pt type="parTrans"/><pt><t><a:p><a:r><a:t>Do it</a:t></a:r></a:p></t></pt>
<pt type="pres"><t><a:p><a:r><a:t>Do it</a:t></a:r></a:p></t></pt></m>"""
_COMMENT = """<p:cmLst xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main">
<p:cm><p:text>Is this still true?</p:text></p:cm></p:cmLst>"""


def package(**files: bytes | str) -> bytes:
    """Return a ZIP package; `__` in a name means a slash, and the first member is stored uncompressed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for place, (name, content) in enumerate(files.items()):
            made.writestr(name.replace("__", "/"), content, zipfile.ZIP_DEFLATED if place else zipfile.ZIP_STORED)
    return buffer.getvalue()


def change_type(data: bytes, old: str, new: str) -> bytes:
    """Return an Office package in which a media type is replaced."""
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as original, zipfile.ZipFile(changed, "w") as made:
        for part in original.infolist():
            content = original.read(part)
            is_types = part.filename == "[Content_Types].xml"
            made.writestr(part, content.replace(old.encode(), new.encode()) if is_types else content)
    return changed.getvalue()


@cache
def pack_zeros(size: int) -> bytes:
    """Return a ZIP package that unpacks to zeros: a test makes it, not the import of its module in every process."""
    buffer, block = io.BytesIO(), bytes(1 << 20)
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made, made.open("a", "w") as member:
        for start in range(0, size, len(block)):
            member.write(block[: size - start])
    return buffer.getvalue()


def make_rich_pptx() -> bytes:
    """Return one slide with a diagram (SmartArt), two charts, one of them with dates and a title, and a comment."""
    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[6])
    frame = slide.shapes.add_table(1, 1, Inches(1), Inches(1), Inches(4), Inches(2))._element
    diagram = _add_part(slide, f"{_RELATIONS}/diagramData", "/ppt/diagrams/data1.xml", _DIAGRAM)
    data = frame.find(f".//{{{_DRAWING}}}graphicData")
    data.set("uri", f"{_DRAWING[:-4]}diagram")
    data[:] = [
        etree.fromstring(f'<d:relIds xmlns:d="{_DRAWING[:-4]}diagram" xmlns:r="{_RELATIONS}" r:dm="{diagram}"/>')
    ]
    days = CategoryChartData()  # type: ignore[no-untyped-call]
    days.categories = [date(2026, 1, 2), date(2026, 1, 3)]
    days.add_series("Sales", (23_500_000, 0.5))  # type: ignore[no-untyped-call]
    place = Inches(5), Inches(1), Inches(2), Inches(2)
    chart = slide.shapes.add_chart(XL_CHART_TYPE.LINE, *place, days).chart
    chart.chart_title.text_frame.text = "Sales by day"
    points = XyChartData()  # type: ignore[no-untyped-call]
    points.add_series("Weight").add_data_point(1.5, 7)  # type: ignore[no-untyped-call]
    slide.shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, *place, points)
    _add_part(slide, f"{_RELATIONS}/comments", "/ppt/comments/comment1.xml", _COMMENT)
    buffer = io.BytesIO()
    made.save(buffer)
    return buffer.getvalue()


def _add_part(slide: Slide, kind: str, name: str, xml: str) -> str:
    part = Part(PackURI(name), "application/xml", slide.part.package, xml.encode())
    return slide.part.relate_to(part, kind)


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
