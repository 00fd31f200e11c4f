"""Parse JSON lines that are no table: each record as lines of names and values."""

import json
from collections.abc import Iterator
from typing import Any, Final

from tenure.sources.document.document import Document
from tenure.sources.document.normal_form import NormalFormWriter
from tenure.sources.parsers.registry import Format

JSON_LINES: Final = Format(
    parser="parse_json_lines",
    description="records of different forms, such as messages, that are not readable as a table",
    suffixes=(".jsonl", ".ndjson"),
    media_types=("application/x-ndjson", "application/jsonl"),
)


def parse_json_lines(text: str) -> Document:
    """Parse records; a line that is no record stays as it is."""
    form = NormalFormWriter()
    for line in text.split("\n"):
        try:
            values = [*_list_values("", json.loads(line))] if line.strip() else []
        except (ValueError, RecursionError):
            values = [line]
        form.add_lines(values)
    return Document(title="", text=form.text, kind="prose")


def _list_values(name: str, value: Any) -> Iterator[str]:
    """Yield the single values of a record with the names that lead to them."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _list_values(f"{name} {key}".strip(), part)
    elif isinstance(value, list):
        for part in value:
            yield from _list_values(name, part)
    elif value is not None and value != "":
        words = value if isinstance(value, str) else json.dumps(value)
        yield f"{name}: {words}" if name else words
