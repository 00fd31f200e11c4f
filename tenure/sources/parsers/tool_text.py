"""What tools have brought as documents, so that it can be cited: a calculation, an answer of a server."""

import json
from collections.abc import Sequence
from typing import Any, Final

from tenure.sources.document.document import Document
from tenure.sources.document.normal_form import NormalForm, one_line
from tenure.sources.parsers.table_text import tell

LONGEST_ANSWER: Final = 100_000
"""Characters of a server's answer that are kept."""


def calculation_document(title: str, calculated: str) -> Document:
    """Return a calculation as a document; the sentence that is quoted says what it is of."""
    form = NormalForm()
    tell(form, one_line(title).rstrip(" .:"), [calculated], "as it was calculated")
    form.paragraph("The calculator computed it from the numbers in the expression; nobody has checked these.")
    return Document(title=title, text=form.text, kind="prose")


def answer_document(title: str, texts: Sequence[str], structured: Any) -> Document:
    """Return what a server answered as a document: its texts by paragraphs, or the value where it gave no text."""
    form = NormalForm()
    said = "\n\n".join(texts) or json.dumps(structured, ensure_ascii=False, indent=1)
    for paragraph in said[:LONGEST_ANSWER].split("\n\n"):
        form.lines(paragraph.split("\n"))
    return Document(title=title, text=form.text, kind="prose")
