"""A result document as a PDF, set by Typst without a browser and without anything from elsewhere.

The report reaches the template as data, never as markup. Letters that the embedded fonts lack are taken
from the fonts of the machine; a machine that has none for a script shows boxes in their place.
"""

import json
from dataclasses import asdict
from functools import cache
from pathlib import Path, PurePath

import typst

from tenure.contracts.result.result import Result
from tenure.report.render.marks import UNSOURCED, Style
from tenure.report.render.view import page

_TEMPLATE = Path(__file__).parent / "templates" / "report.typ"


def render_pdf(result: Result, base: PurePath | None = None, style: Style = "numeric") -> bytes:
    """Set a result document as a tagged PDF.

    Args:
        result: the result document.
        base: folder to which paths of sources are shown relative, where they are under it.
        style: how marks name sources.
    """
    inputs = {"report": json.dumps(asdict(page(result, base, style)), ensure_ascii=False), "unsourced": UNSOURCED}
    pdf = typst.compile(_template(), format="pdf", sys_inputs=inputs)
    if not isinstance(pdf, bytes):
        raise TypeError("Typst set a PDF as several files")
    return pdf


@cache
def _template() -> bytes:
    return _TEMPLATE.read_bytes()
