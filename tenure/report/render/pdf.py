"""Write a document tree as a PDF with Typst, without a browser and without loading anything.

The tree reaches the template as data, never as markup. Letters that the embedded fonts lack are taken from the
machine's fonts; without a font for a script, boxes are shown.
"""

import base64
import json
from dataclasses import asdict
from functools import cache
from pathlib import Path, PurePath
from typing import Any

import typst

from tenure.contracts.choices import CitationStyle, ReportProofs
from tenure.contracts.result.result import Result
from tenure.report.layout.report import compose_report
from tenure.report.translation import translate, use_language

_TEMPLATE = Path(__file__).parent / "templates" / "report.typ"


def render_pdf(
    result: Result, base: PurePath | None = None, style: CitationStyle = "numeric", proofs: ReportProofs = "full"
) -> bytes:
    """Render a result document as a tagged PDF."""
    report = compose_report(result, base, style, proofs)
    with use_language(report.language):
        contents = translate("Contents")
    tree = json.dumps(_decode_pictures(asdict(report)), ensure_ascii=False)
    pdf = typst.compile(_read_template(), format="pdf", sys_inputs={"report": tree, "contents": contents})
    if not isinstance(pdf, bytes):
        raise TypeError("Typst set a PDF as several files")
    return pdf


def _decode_pictures(node: Any) -> Any:
    """Return a tree in which pictures are numbers, since Typst reads no Base64."""
    if isinstance(node, dict):
        content = {name: _decode_pictures(value) for name, value in node.items()}
        return content | {"image": [*base64.b64decode(node["image"])]} if node.get("kind") == "picture" else content
    return [*map(_decode_pictures, node)] if isinstance(node, list | tuple) else node


@cache
def _read_template() -> bytes:
    return _TEMPLATE.read_bytes()
