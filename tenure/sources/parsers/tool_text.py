"""Build documents from the results of tools, so that they can be cited: a calculation, or the result of an MCP tool."""

import json
from collections.abc import Sequence
from typing import Any, Final

from tenure.sources.document.document import Document
from tenure.sources.document.normal_form import NormalFormWriter, collapse_whitespace
from tenure.sources.parsers.table_text import add_figures

MAX_ANSWER_LENGTH: Final = 100_000
"""Maximum length of a tool result, in characters."""


def build_calculation_document(title: str, calculated: str) -> Document:
    """Return a calculation as a document; the quoted sentence contains its subject."""
    form = NormalFormWriter()
    add_figures(form, collapse_whitespace(title).rstrip(" .:"), [calculated], "as it was calculated")
    form.add_paragraph("The calculator computed it from the numbers in the expression, which were not checked.")
    return Document(title=title, text=form.text, kind="prose")


def build_tool_document(title: str, texts: Sequence[str], structured: Any) -> Document:
    """Return the result of an MCP tool as a document: its texts by paragraphs, else its structured content."""
    form = NormalFormWriter()
    text = "\n\n".join(texts) or json.dumps(structured, ensure_ascii=False, indent=1)
    for paragraph in text[:MAX_ANSWER_LENGTH].split("\n\n"):
        form.add_lines(paragraph.split("\n"))
    return Document(title=title, text=form.text, kind="prose")
