"""Jupyter notebooks to the normal form: their Markdown, their code, and what the code printed."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tenure.sources.document.document import Document, Unreadable
from tenure.sources.parsers.markdown import parse_markdown

_OUTPUT = 10_000
"""Characters of one output that are kept."""
_COLOURS = re.compile("\x1b\\[[0-9;]*[A-Za-z]")
_TICKS = re.compile("`+")


def parse_notebook(text: str) -> Document:
    """Read a notebook.

    Raises:
        Unreadable: if it is none.
    """
    try:
        notebook = json.loads(text)
    except ValueError as error:
        raise Unreadable("is not a valid notebook") from error
    if not isinstance(notebook, dict):
        raise Unreadable("is not a valid notebook")
    # Before version 4 the cells stood in worksheets.
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
    source = _text(cell.get("source", cell.get("input")))
    match cell.get("cell_type"):
        case "markdown":
            yield source
        case "heading":
            level = cell.get("level")
            yield f"{'#' * min(level if isinstance(level, int) else 1, 6)} {source}"
        case "code":
            yield _fenced(source)
            yield from (_fenced(printed) for output in _list(cell, "outputs") if (printed := _printed(output)))
        case _:
            yield _fenced(source)


def _printed(output: Any) -> str:
    """Return an output as text; empty for pictures and pages."""
    if not isinstance(output, dict):
        return ""
    data = output.get("data", output)
    shown = output.get("traceback") or output.get("text")
    if shown is None and isinstance(data, dict):
        shown = data.get("text/plain") or data.get("text/markdown")
    text = _COLOURS.sub(
        "", "\n".join(map(str, shown)) if output.get("traceback") and isinstance(shown, list) else _text(shown)
    )
    return text if len(text) <= _OUTPUT else text[:_OUTPUT] + " …"


def _fenced(text: str) -> str:
    """Return text as a block of code, between more ticks than it has itself."""
    if not text.strip():
        return ""
    fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _text(value: Any) -> str:
    """Return what a notebook writes as one text or as its lines."""
    return "".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _list(value: Any, name: str) -> list[Any]:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []
