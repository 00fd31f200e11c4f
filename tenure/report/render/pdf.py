"""Write a document tree as a PDF with Typst, without a browser and without loading anything.

The tree reaches the template as data, never as markup. Letters that the embedded fonts lack are taken from the
machine's fonts; without a font for a script, boxes are shown.
"""

import base64
import json
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path, PurePath
from typing import Any

import typst

from tenure.contracts.choices import CitationStyle, ReportProofs
from tenure.contracts.result.result import Result
from tenure.report.layout.report import compose_report
from tenure.report.layout.tree import ChartNode, PictureNode
from tenure.report.render.charts import draw_chart
from tenure.report.translation import translate, use_language

_TEMPLATE = Path(__file__).parent / "templates" / "report.typ"


def render_pdf(
    result: Result, base: PurePath | None = None, style: CitationStyle = "numeric", proofs: ReportProofs = "full"
) -> bytes:
    """Render a result document as a tagged PDF."""
    report = compose_report(result, base, style, proofs)
    with use_language(report.language):
        contents = translate("Contents")
    tree = json.dumps(_add_images(report), ensure_ascii=False)
    pdf = typst.compile(_read_template(), format="pdf", sys_inputs={"report": tree, "contents": contents})
    if not isinstance(pdf, bytes):
        raise TypeError("Typst set a PDF as several files")
    return pdf


def _add_images(node: Any) -> Any:
    """Return a tree as data in which pictures are numbers, since Typst reads no Base64, and charts are drawn."""
    if is_dataclass(node):
        content = {field.name: _add_images(getattr(node, field.name)) for field in fields(node)}
        if isinstance(node, PictureNode):
            content["image"] = [*base64.b64decode(node.image)]
        return content | ({"image": draw_chart(node)} if isinstance(node, ChartNode) else {})
    return [*map(_add_images, node)] if isinstance(node, list | tuple) else node


def draw_chart_image(node: ChartNode) -> bytes:
    """Return a chart as a PNG image, for formats that show no SVG."""
    source = '#set page(width: auto, height: auto, margin: 4pt)\n#image(bytes(sys.inputs.svg), format: "svg")'
    image = typst.compile(source.encode(), format="png", ppi=200, sys_inputs={"svg": draw_chart(node)})
    if not isinstance(image, bytes):
        raise TypeError("Typst set a chart as several files")
    return image


@cache
def _read_template() -> bytes:
    return _TEMPLATE.read_bytes()
