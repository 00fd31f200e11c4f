"""Split documents into chunks for embedding, search and quotation.

A chunk is exactly `text[start:end]`. Prose in the normal form of `tenure.sources.document.document` is split along its
structure: never across a heading, between blocks if possible, and inside a block only if the block, with the sentence
that introduces it, is too long for one chunk. Code is split between top-level definitions.

Every character that is neither white space nor part of a heading line belongs to exactly one chunk. No chunk exceeds
1.25 × the target, provided that the token counter is subadditive: count(a + b) <= count(a) + count(b). All tokenizers
that split at white space are. The time is proportional to the length of the text.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tenure.algorithms.chunking.definitions import split_definition, split_definitions, split_tree
from tenure.algorithms.chunking.packing import pack_pieces
from tenure.algorithms.chunking.pieces import Splitter, TokenCounter
from tenure.algorithms.chunking.prose import (
    MAX_COLUMNS_CHARACTERS,
    find_caption,
    list_column_names,
    split_section,
    split_sections,
)
from tenure.algorithms.coding.syntax import SyntaxTree
from tenure.algorithms.text.questions import shorten

MAX_OVERFLOW_FACTOR = 1.25
"""A chunk may exceed the target by this factor if that keeps together what belongs together."""

# "tokenization" and "12000" have two tokens each, every mark has one.
_TOKEN = re.compile(r"[A-Za-zÀ-ɏ]{1,8}|[0-9]{1,3}|\S")


@dataclass(frozen=True)
class ChunkSpan:
    """Position of a chunk in its document."""

    ordinal: int
    """Position among the document's chunks, from 0."""
    start: int
    end: int
    heading_path: tuple[str, ...]
    """Headings above it, outermost first, and the columns of a table that it continues; for code, its symbols."""
    tokens: int
    """Sum of the token counts of its pieces; the count of the whole chunk may be lower."""


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens like a word-piece tokenizer: words, parts of long words, punctuation marks."""
    return len(_TOKEN.findall(text))


def format_heading_path(headings: Iterable[str]) -> str:
    """Return the title and the headings as one line, which precedes the text of a chunk in its embedding."""
    return " \u203a ".join(heading for heading in dict.fromkeys(headings) if heading)


def chunk_text(
    text: str,
    kind: str,
    target_tokens: int = 200,
    count_tokens: TokenCounter | None = None,
    *,
    title: str = "",
    max_tokens: int | None = None,
    syntax: SyntaxTree | None = None,
) -> list[ChunkSpan]:
    """Split a document into chunks.

    Args:
        text: The document; prose in normal form.
        kind: `code` for source code, anything else for prose.
        target_tokens: Length up to which a chunk is filled.
        count_tokens: Token counter; None for a cheap estimate.
        title: Title of the document.
        max_tokens: Length up to which a chunk leaves room for the title and the headings above it, unless these take
            more than half of the target; None for chunks without them.
        syntax: Syntax tree of source code; None to split it between its paragraphs.

    Returns:
        Spans in document order, without overlap.
    """
    cutter = _Chunker(text, max(target_tokens, 1), count_tokens or estimate_tokens, title, max_tokens)
    chunks = cutter.chunk_code(syntax) if kind == "code" else cutter.chunk_prose()
    return [ChunkSpan(n, *chunk) for n, chunk in enumerate(chunks)]


class _Chunker:
    """Splitter for one text; stores the parameters that all steps need."""

    def __init__(self, text: str, target: int, count: TokenCounter, title: str, max_tokens: int | None) -> None:
        self._text = text
        self._target = target
        self._count = count
        self._title = title
        self._max_tokens = max_tokens

    def chunk_prose(self) -> Iterator[tuple[int, int, tuple[str, ...], int]]:
        """Yield chunks section by section."""
        for section in split_sections(self._text):
            limit = self._compute_limit(section.path)
            pieces = list(split_section(section, Splitter(self._text, limit, self._count)))
            tables = [block.lines for block in section.blocks if block.kind == "table"]
            for group, tokens in pack_pieces(pieces, self._text, min(self._target, limit), limit, self._count):
                columns = list_column_names(tables, group[0].start, self._text)
                caption = shorten(find_caption(section.blocks, group[0].start, self._text), MAX_COLUMNS_CHARACTERS)
                path = (*section.path, *([caption] if caption else []), columns) if columns else section.path
                yield group[0].start, group[-1].end, path, tokens

    def chunk_code(self, syntax: SyntaxTree | None) -> Iterator[tuple[int, int, tuple[str, ...], int]]:
        """Yield chunks of as many whole definitions as fit."""
        limit = self._compute_limit(())
        splitter = Splitter(self._text, limit, self._count)
        if syntax is not None:
            pieces = list(split_tree(syntax, splitter))
        else:
            pieces = [piece for part in split_definitions(self._text) for piece in split_definition(part, splitter)]
        for group, tokens in pack_pieces(pieces, self._text, min(self._target, limit), limit, self._count):
            outer = list(dict.fromkeys(piece.outer for piece in group if piece.outer))
            inner = list(dict.fromkeys(piece.inner for piece in group if piece.inner)) if len(outer) == 1 else []
            path = tuple(", ".join(names) for names in (outer, inner) if names)
            yield group[0].start, group[-1].end, path, tokens

    def _compute_limit(self, path: tuple[str, ...]) -> int:
        """Return the maximum number of tokens of a chunk below a heading."""
        limit = int(self._target * MAX_OVERFLOW_FACTOR)
        if self._max_tokens is None:
            return limit
        room = self._max_tokens - self._count(format_heading_path((self._title, *path)))
        return min(limit, max(room, self._target // 2, 1))
