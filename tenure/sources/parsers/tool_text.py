"""Build documents from what no file contains, so that it can be cited.

These are calculations, results of MCP tools, and statements of a person that were remembered.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Final

from tenure.algorithms.calculator.calculator import Calculation
from tenure.algorithms.text.excerpts import is_complete_sentence
from tenure.algorithms.text.sentences import split_sentences
from tenure.contracts.research.tools import MAX_MCP_TEXT_LENGTH
from tenure.sources.document.document import Document
from tenure.sources.document.normal_form import NormalFormWriter, collapse_whitespace
from tenure.sources.parsers.table_text import add_figures

_TIME_UNIT: Final = re.compile(r"(?<!^1 )\b(day|week|month|year|hour|minute|second)$")
"""Unit of time after a number other than one."""
MAX_STATED_LENGTH: Final = 300
"""Maximum length of an answer that is stated in a sentence, in characters."""


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
    return next((text for text in sentences if _is_quotable(text)), sentences[-1])


def _is_quotable(text: str) -> bool:
    """Return whether reports can quote a text: the splitter of sentences leaves it whole, and it is complete."""
    sentences = split_sentences(text)
    return len(sentences) == 1 and is_complete_sentence(sentences[0])


def build_tool_document(title: str, text: str, arguments: Mapping[str, Any]) -> Document:
    """Return the result of an MCP tool as a document.

    A short answer that is no sentence, such as `21 °C` or a JSON object with few values, begins with a sentence that
    names the tool and states the answer, because a report without a model quotes sentences only.
    """
    form = NormalFormWriter()
    if sentence := _state_answer(title, text, arguments):
        form.add_paragraph(sentence)
    return _build_foreign_document(form, title, text)


def build_memory_document(text: str, day: date) -> Document:
    """Return the statement of a person as a document whose title names it so."""
    document = _build_foreign_document(NormalFormWriter(), f"Statement of a person, {day.isoformat()}", text)
    return replace(document, published=day.isoformat())


def build_resource_document(title: str, texts: Sequence[str]) -> Document:
    """Return an MCP resource as a document: its texts by paragraphs."""
    return _build_foreign_document(NormalFormWriter(), title, "\n\n".join(texts))


def _build_foreign_document(form: NormalFormWriter, title: str, text: str) -> Document:
    for paragraph in text[:MAX_MCP_TEXT_LENGTH].split("\n\n"):
        form.add_lines(paragraph.split("\n"))
    return Document(title=title, text=form.text, kind="prose")


def _state_answer(title: str, text: str, arguments: Mapping[str, Any]) -> str:
    """Return a sentence that states a short answer without sentences; empty for every other answer."""
    values = _list_values(text)
    answer = ", ".join(values) if values else collapse_whitespace(text)
    is_short = 0 < len(answer) <= MAX_STATED_LENGTH and (values or "\n\n" not in text.strip())
    if not is_short or any(map(is_complete_sentence, split_sentences(text))):
        return ""
    subject = ", ".join(_iterate_values("", dict(arguments)))
    sentences = (
        f"{title} for {subject} says: {answer.rstrip('.')}." if subject else "",
        f"{title} says: {answer.rstrip('.')}.",
        f"{title} says the following, as the server wrote it: {answer.rstrip('.')}.",
    )
    return next((sentence for sentence in sentences if _is_quotable(sentence)), sentences[-1])


def _list_values(text: str) -> list[str]:
    """Return the values of a JSON object, or of the objects in a list, each with its name; empty for other texts."""
    try:
        value = json.loads(text)
    except ValueError:
        return []
    return list(_iterate_values("", value)) if isinstance(value, dict | list) else []


def _iterate_values(name: str, value: Any) -> Iterator[str]:
    """Yield the single values of a JSON value with the names that lead to them."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _iterate_values(f"{name} {key}".replace("_", " ").strip(), part)
    elif isinstance(value, list):
        for part in value:
            yield from _iterate_values(name, part)
    elif value is not None:
        yield f"{name} {collapse_whitespace(str(value))}".strip()
