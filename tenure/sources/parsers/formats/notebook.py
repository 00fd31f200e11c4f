"""Parse Jupyter notebooks: Markdown, code, and printed output."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from tenure.sources.document.document import Document, Unreadable
from tenure.sources.parsers.formats.markdown import parse_markdown
from tenure.sources.parsers.registry import Format

NOTEBOOK: Final = Format(
    parser="parse_notebook",
    description="Jupyter notebooks: text, code, and printed output",
    suffixes=(".ipynb",),
    media_types=("application/x-ipynb+json",),
)

_MAX_OUTPUT_LENGTH = 10_000
"""Maximum length of one output, in characters."""
_COLOURS = re.compile("\x1b\\[[0-9;]*[A-Za-z]")  # "ESC[0;31m" of a traceback.
_TICKS = re.compile("`+")


def parse_notebook(text: str) -> Document:
    """Parse a notebook of Jupyter of any version: its text, its code, and the outputs that are text."""
    try:
        notebook = json.loads(text)
    except ValueError as error:
        raise Unreadable("is not a valid notebook") from error
    if not isinstance(notebook, dict):
        raise Unreadable("is not a valid notebook")
    # Before version 4, cells were part of worksheets.
    sheets = notebook.get("worksheets")
    cells = [
        cell for sheet in [notebook, *(sheets if isinstance(sheets, list) else ())] for cell in _list(sheet, "cells")
    ]
    metadata = notebook.get("metadata")
    authors = _list(metadata, "authors")
    title = metadata.get("title") if isinstance(metadata, dict) else ""
    document = parse_markdown("\n\n".join(part for cell in cells for part in _parts(cell)))
    return replace(
        document,
        title=title if isinstance(title, str) and title else document.title,
        author=", ".join(str(author["name"]) for author in authors if isinstance(author, dict) and author.get("name")),
    )


def _parts(cell: Any) -> Iterator[str]:
    if not isinstance(cell, dict):
        return
    source = _join_text(cell.get("source", cell.get("input")))
    match cell.get("cell_type"):
        case "markdown":
            yield source
        case "heading":
            level = cell.get("level")
            yield f"{'#' * min(level if isinstance(level, int) else 1, 6)} {source}"
        case "code":
            yield _fence_code(source)
            yield from (
                _fence_code(printed) for output in _list(cell, "outputs") if (printed := _get_output_text(output))
            )
        case _:
            yield _fence_code(source)


def _get_output_text(output: Any) -> str:
    """Return an output as text, or an empty text for images and HTML."""
    if not isinstance(output, dict):
        return ""
    data = output.get("data", output)
    value = output.get("traceback") or output.get("text")
    if value is None and isinstance(data, dict):
        value = data.get("text/plain") or data.get("text/markdown")
    text = _COLOURS.sub(
        "", "\n".join(map(str, value)) if output.get("traceback") and isinstance(value, list) else _join_text(value)
    )
    return text if len(text) <= _MAX_OUTPUT_LENGTH else text[:_MAX_OUTPUT_LENGTH] + " …"


def _fence_code(text: str) -> str:
    """Return text as a fenced code block, with more back-ticks than the text contains in a row."""
    if not text.strip():
        return ""
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _join_text(value: Any) -> str:
    return "".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _list(value: Any, name: str) -> list[Any]:
    values = value.get(name) if isinstance(value, dict) else None
    return values if isinstance(values, list) else []
