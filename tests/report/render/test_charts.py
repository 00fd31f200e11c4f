"""Test charts in every format."""

import base64
import csv
import io
import re
import xml.etree.ElementTree as ElementTree

import docx
import pytest

from tenure.report.layout.tree import ChartNode, ChartSeries, ChartValue, TextSpan
from tenure.report.render.charts import draw_chart, write_bars, write_csv
from tenure.report.render.docx import render_docx
from tenure.report.render.html import render_html
from tenure.report.render.markdown import render_markdown
from tenure.report.render.pdf import render_pdf
from tests.report.samples import YEARS, tabled

RESULT = tabled(lambda row, column: f"{len(row)}.{column[-1]} %", ("Belgium", "Spain"), YEARS)


def make_node(*values: float, years: tuple[int, ...] = (), name: str = "a") -> ChartNode:
    """Return a chart with one series."""
    figures = tuple(ChartValue(value, f"{value:g} %", (1,)) for value in values)
    categories = tuple(map(str, years)) or tuple(f"{name}{n}" for n in range(len(values)))
    return ChartNode(categories, (ChartSeries(name, figures),), "%", "A chart", (TextSpan("A chart"),), years)


def read_widths(node: ChartNode) -> list[float]:
    """Return the widths of the bars of a chart."""
    return [float(width) for width in re.findall(r'<rect class="s0"[^>]* width="([\d.]+)"', draw_chart(node))]


def test_bars_are_as_long_as_their_figures() -> None:
    """Axes begin at zero, so that twice the figure is twice the length, below zero as well."""
    once, twice, below = read_widths(make_node(10, 20, -10))

    assert twice == pytest.approx(2 * once, abs=0.2) and below == pytest.approx(once, abs=0.2)


def test_years_are_at_their_distances() -> None:
    """Three years apart is three times as far as one year apart, and zero is on the axis."""
    svg = draw_chart(make_node(10, 10, 10, years=(2019, 2020, 2023)))
    first, second, third = (float(x) for x in re.findall(r'<circle[^>]* cx="([\d.]+)"', svg))

    assert third - second == pytest.approx(3 * (second - first), abs=0.5)


def test_hostile_labels_are_text() -> None:
    """Names of a table become neither markup of a drawing nor formulas of a spreadsheet."""
    node = make_node(1, 2, 3, name="=<script>x</script>")
    rows = list(csv.reader(io.StringIO(write_csv(node))))

    assert "<script" not in draw_chart(node)
    ElementTree.fromstring(draw_chart(node))
    assert rows[1] == ["'=<script>x</script>0", "'=<script>x</script>", "1", "%", "1"]


def test_bars_of_text_have_their_figures() -> None:
    """A format that is read as text shows bars of characters; a negative figure has none."""
    assert write_bars(make_node(10, 20, -5)).splitlines() == [f"a0 {'█' * 12} 10 %", f"a1 {'█' * 24} 20 %", "a2  -5 %"]


def test_a_page_has_the_drawing_and_its_data() -> None:
    """The chart has an alternative text, a caption with its sources, and its data as a file in the page."""
    html = render_html(RESULT)
    link = re.search(r'download="chart.csv" href="data:text/csv;charset=utf-8;base64,([^"]+)"', html)

    assert 'role="img" aria-label="Chart of the table above, in %: Belgium, Spain"' in html
    assert "<title>2023, Spain: 5.3 % [2]</title>" in html
    assert link and base64.b64decode(link[1]).decode().splitlines()[1] == "2019,Belgium,7.9,%,2"


def test_documents_have_the_chart() -> None:
    """PDF and Word contain a drawing with its alternative text, and Markdown bars of text."""
    document = docx.Document(io.BytesIO(render_docx(RESULT)))

    assert len(document.inline_shapes) == 1
    assert document.inline_shapes[0]._inline.docPr.get("descr").startswith("Chart of the table above, in %")
    assert render_pdf(RESULT).startswith(b"%PDF-")
    assert "2023, Spain   ████" in render_markdown(RESULT)
