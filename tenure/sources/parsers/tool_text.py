"""Build documents from the results of tools, so that they can be cited: a calculation, or the result of an MCP tool."""

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from tenure.algorithms.calculator.calculator import Calculation
from tenure.algorithms.text.excerpts import is_complete_sentence
from tenure.algorithms.text.sentences import Sentence
from tenure.sources.document.document import Document
from tenure.sources.document.normal_form import NormalFormWriter, collapse_whitespace
from tenure.sources.parsers.table_text import add_figures

_TIME_UNIT: Final = re.compile(r"(?<!^1 )\b(day|week|month|year|hour|minute|second)$")
"""Unit of time after a number other than one."""
MAX_ANSWER_LENGTH: Final = 100_000
"""Maximum length of a tool result, in characters."""


def build_calculation_document(title: str, calculation: Calculation) -> Document:
    """Return a calculation as a document; the quoted sentence contains its subject."""
    form = NormalFormWriter()
    subject = collapse_whitespace(title).rstrip(" .:?")
    add_figures(form, subject, [calculation.text], "as it was calculated")
    form.add_paragraph(_describe_result(subject, calculation))
    form.add_paragraph("The calculator computed it from the numbers in the expression, which were not checked.")
    return Document(title=title, text=form.text, kind="prose")


def _describe_result(subject: str, calculation: Calculation) -> str:
    """Return the result as a complete sentence, which reports can quote without a model.

    A subject that makes the sentence unfit for quotation, for example with more signs than letters, is left out.
    """
    result = _TIME_UNIT.sub(r"\1s", calculation.result)
    sentences = (
        f"The calculator answers “{subject}” with {result}, since {calculation.text}.",
        f"The calculator answers “{subject}” with {result}, which it computed from the given numbers alone.",
        f"The result of the calculation is {result}, which the calculator computed from the given numbers alone.",
    )
    return next((text for text in sentences if is_complete_sentence(_as_sentence(text))), sentences[-1])


def _as_sentence(text: str) -> Sentence:
    return Sentence(text, 0, len(text), 1, "prose")


def build_tool_document(title: str, texts: Sequence[str], structured: Any) -> Document:
    """Return the result of an MCP tool as a document: its texts by paragraphs, else its structured content."""
    form = NormalFormWriter()
    text = "\n\n".join(texts) or json.dumps(structured, ensure_ascii=False, indent=1)
    for paragraph in text[:MAX_ANSWER_LENGTH].split("\n\n"):
        form.add_lines(paragraph.split("\n"))
    return Document(title=title, text=form.text, kind="prose")
