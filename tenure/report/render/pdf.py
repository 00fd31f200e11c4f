"""Write a document tree as a PDF with Typst, without a browser and without loading anything.

The tree reaches the template as data, never as markup. Letters that the embedded fonts lack are taken from the
machine's fonts; without a font for a script, boxes are shown.
"""

import json
from dataclasses import asdict
from functools import cache
from pathlib import Path, PurePath

import typst

from tenure.contracts.choices import CitationStyle, ReportProofs
from tenure.contracts.result.result import Result
from tenure.report.layout.marks import UNSOURCED
from tenure.report.layout.report import compose_report

_TEMPLATE = Path(__file__).parent / "templates" / "report.typ"


def render_pdf(
    result: Result, base: PurePath | None = None, style: CitationStyle = "numeric", proofs: ReportProofs = "full"
) -> bytes:
    """Render a result document as a tagged PDF."""
    report = json.dumps(asdict(compose_report(result, base, style, proofs)), ensure_ascii=False)
    pdf = typst.compile(_read_template(), format="pdf", sys_inputs={"report": report, "unsourced": UNSOURCED})
    if not isinstance(pdf, bytes):
        raise TypeError("Typst set a PDF as several files")
    return pdf


@cache
def _read_template() -> bytes:
    return _TEMPLATE.read_bytes()
