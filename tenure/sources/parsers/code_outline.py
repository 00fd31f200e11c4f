"""Parse a file of source code into its symbols, its references and its chunks, for the index of a repository."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from tenure.algorithms.chunking.chunking import chunk_text
from tenure.algorithms.coding.code_files import describe_foreign_text
from tenure.algorithms.coding.identifiers import split_identifiers
from tenure.algorithms.coding.languages import find_language
from tenure.algorithms.coding.symbols import CodeOutline, outline_code
from tenure.algorithms.coding.syntax import MAX_SOURCE_BYTES, parse_code
from tenure.files.opening import FileRefused, open_file
from tenure.files.secret_files import SNIFFED_BYTES, describe_secret_content

MAX_REFERENCE_LINES: Final = 200
"""Lines that are recorded for a name in a file; the others add nothing to a list that is cut anyway."""


@dataclass(frozen=True)
class CodeTask:
    """A file of a repository."""

    path: str
    """Absolute path, without symbolic links."""
    name: str
    """Path in the repository."""
    chunk_tokens: int
    """Target length of a chunk, in estimated tokens."""
    size: int = 0


class CodeChunk(NamedTuple):
    """A part of a file for full-text search."""

    first: int
    last: int
    """Lines, from 1."""
    symbol: str
    search_text: str


@dataclass(frozen=True)
class ParsedCode:
    """Outline and chunks of a file; as text, so that the process that stores them need not build objects."""

    path: str
    symbols: str
    """JSON of a list of `CodeSymbol`."""
    references: str
    """A line for each name, with the numbers of its lines: `name 1 5 9`."""
    chunks: tuple[CodeChunk, ...]
    reason: str = ""
    """Reason for which it is not indexed, which completes the sentence "the file …"; empty if it is."""


def parse_code_file(task: CodeTask) -> ParsedCode:
    """Return the outline of a file.

    Raises:
        OSError: the file cannot be opened.
    """
    try:
        with open_file(Path(task.path)) as opened:
            data = opened.read(MAX_SOURCE_BYTES + 1)
    except FileRefused as error:
        return ParsedCode(task.path, "[]", "", (), error.reason)
    text = data.decode("utf-8", "replace")
    reason = (
        ("is larger than 1 MB" if len(data) > MAX_SOURCE_BYTES else "")
        or ("is binary" if b"\0" in data else "")
        or describe_secret_content(data[:SNIFFED_BYTES])
        or describe_foreign_text(text)
    )
    return ParsedCode(task.path, "[]", "", (), reason) if reason else _outline(text, task)


def _outline(text: str, task: CodeTask) -> ParsedCode:
    syntax = parse_code(text, find_language(task.name))
    outline = outline_code(syntax) if syntax else CodeOutline()
    chunks = []
    row, position = 1, 0
    path_words = split_identifiers(task.name)
    for span in chunk_text(text, "code", task.chunk_tokens, syntax=syntax):
        row += text.count("\n", position, span.start)
        last = row + text.count("\n", span.start, span.end)
        symbol = ".".join(span.heading_path)
        body = split_identifiers(text[span.start : span.end])
        chunks.append(CodeChunk(row, last, symbol, f"{path_words} {split_identifiers(symbol)} {body}"))
        row, position = last, span.end
    references = "".join(
        f"{name} {' '.join(map(str, lines[:MAX_REFERENCE_LINES]))}\n" for name, lines in outline.references.items()
    )
    return ParsedCode(task.path, json.dumps(outline.symbols, ensure_ascii=False), references, tuple(chunks))
