"""Split documents into chunks for embedding, search and quotation.

A chunk is exactly `text[start:end]`. Prose in the normal form of `tenure.sources.document.document` is split along its
structure: never across a heading, between blocks if possible, and inside a block only if the block is too long for one
chunk. Code is split between top-level definitions.

Every character that is neither white space nor part of a heading line belongs to exactly one chunk. No chunk exceeds
1.25 × the target, provided that the token counter is subadditive: count(a + b) <= count(a) + count(b). All tokenizers
that split at white space are.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

TokenCounter = Callable[[str], int]
"""Function that counts the tokens of a text."""

MAX_OVERFLOW_FACTOR = 1.25
"""A chunk may exceed the target by this factor if that keeps a block whole or avoids a tiny last chunk."""
MIN_CHUNK_TOKENS = 40
"""A piece with fewer tokens is merged with a neighbour of its section if the limit permits."""

_TOKEN = re.compile(r"[A-Za-zÀ-ɏ]{1,8}|[0-9]{1,3}|\S")
_LINE = re.compile(r"[^\n]+")
_HEADING = re.compile(r"(#{1,6}) +(\S.*)")
_SENTENCE_GAP = re.compile(
    r"(?<=[.!?])[\"'”\u2019)\]]*\s+(?=[\"'“\u2018(\[]?[A-Z0-9À-ÖØ-Þ])|(?<=[\u3002\uff01\uff1f])(?=\S)"
)
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|cf|vs|Mr|Mrs|Ms|Dr|Prof|St|No|Fig|Eq|Vol|pp?|approx)|\b[A-Z])\.$")
_MAX_ABBREVIATION_CHARACTERS = 12
_WORD = re.compile(r"\S+")
_RUN = re.compile(r"\S+(?:\s+\S+){0,7}")
_CLOSING = re.compile(r"[)\]}>]|end\b|fi\b|done\b|esac\b|else\b|elif\b|except\b|finally\b|catch\b")
_SYMBOL = re.compile(
    r"\s*(?:(?:export|default|public|private|protected|internal|static|final|abstract|sealed|async|unsafe|override|inline"
    r"|declare|extern(?:\s+\"\w+\")?|pub(?:\([\w\s]+\))?)\s+)*"
    r"(?:(?:def|class|func|function\*?|fn|struct|enum|interface|trait|impl(?:<[^>]*>)?|type|module|mod|namespace|object"
    r"|record|protocol|union)\s+(?:\([^)]*\)\s*)?|(?:const|let|var)\s+(?=\w+\s*=\s*(?:async\s*)?(?:\(|function))"
    r"|(?i:create\s+(?:or\s+replace\s+)?(?:table|view|index|function|procedure|trigger|type)\s+(?:if\s+not\s+exists\s+)?)"
    r"|\[+(?=[\w.\"' -]+\]))(?P<name>[\w.$:\"'-]*\w)"
    # Prose in a docstring may begin with the same words; only a definition continues with one of these.
    r"(?=\s*(?:[(:<{=\[\];]|$)|\s+(?i:extends|implements|for|where|as|on|struct|interface)\b)"
)
_BRACED = re.compile(r"\s*(?:[A-Za-z_][\w:<>,]*[\s*&]+)*(?P<name>[A-Za-z_][\w:~-]*)\s*\([^;]*\{$")
_MAX_SIGNATURE_CHARACTERS = 300
_C_KEYWORDS = frozenset(
    ("if", "for", "while", "switch", "return", "else", "do", "catch", "with", "elif", "print", "assert")
)


@dataclass(frozen=True)
class ChunkSpan:
    """Position of a chunk in its document."""

    ordinal: int
    """Position among the document's chunks, from 0."""
    start: int
    """Offset of the first character."""
    end: int
    """Offset after the last character."""
    heading_path: tuple[str, ...]
    """Headings above it, outermost first; for code, the symbols it defines."""
    tokens: int
    """Sum of the token counts of its pieces; the count of the whole chunk may be lower."""


class _Span(NamedTuple):
    """Range of text with its length in tokens."""

    start: int
    end: int
    tokens: int


class _Piece(NamedTuple):
    """Span that is not split further, with the symbols that it defines or belongs to."""

    span: _Span
    outer: str = ""
    inner: str = ""


class _Section(NamedTuple):
    """Blocks below one heading; a block is a list of lines, a line is a pair of offsets."""

    path: tuple[str, ...]
    blocks: list[list[tuple[int, int]]]


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens like a word-piece tokenizer: words, parts of long words, punctuation marks."""
    return len(_TOKEN.findall(text))


def chunk_text(
    text: str, kind: str, target_tokens: int = 200, count_tokens: TokenCounter | None = None
) -> list[ChunkSpan]:
    """Split a document into chunks.

    Args:
        text: The document; prose in normal form.
        kind: `code` for source code, anything else for prose.
        target_tokens: Length up to which a chunk is filled.
        count_tokens: Token counter; None for a cheap estimate.

    Returns:
        Spans in document order, without overlap.
    """
    cutter = _Chunker(text, target_tokens, count_tokens or estimate_tokens)
    chunks = cutter.chunk_code() if kind == "code" else cutter.chunk_prose()
    return [ChunkSpan(n, *chunk) for n, chunk in enumerate(chunks)]


def split_sections(text: str) -> list[_Section]:
    """Split prose into sections at its headings, and each section into blocks at blank lines."""
    path: list[tuple[int, str]] = []
    sections = [_Section((), [])]
    previous_end = -1
    for line in _find_lines(text):
        start, end = line
        heading = _HEADING.match(text, start, end)
        if heading:
            level = len(heading[1])
            path = [(above, title) for above, title in path if above < level]
            path.append((level, heading[2].rstrip()))
            sections.append(_Section(tuple(title for _, title in path), []))
        elif start == previous_end + 1 and sections[-1].blocks:
            sections[-1].blocks[-1].append(line)
        else:
            sections[-1].blocks.append([line])
        previous_end = end
    return [section for section in sections if section.blocks]


def _find_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield the offsets of all non-blank lines, without trailing white space."""
    for match in _LINE.finditer(text):
        words = match[0].rstrip()
        if words:
            yield match.start(), match.start() + len(words)


class _Chunker:
    """Splitter for one text; stores the parameters that all steps need."""

    def __init__(self, text: str, target: int, count: TokenCounter) -> None:
        self._text = text
        self._target = max(target, 1)
        self._limit = int(self._target * MAX_OVERFLOW_FACTOR)
        self._count = count

    def chunk_prose(self) -> Iterator[tuple[int, int, tuple[str, ...], int]]:
        """Yield chunks section by section."""
        for path, blocks in split_sections(self._text):
            spans = (self._span(block[0][0], block[-1][1]) for block in blocks)
            pieces = [
                _Piece(part)
                for span, block in zip(spans, blocks, strict=True)
                for part in self._split_block(span, block)
            ]
            for group, tokens in self._pack_pieces(pieces):
                yield group[0].span.start, group[-1].span.end, path, tokens

    def chunk_code(self) -> Iterator[tuple[int, int, tuple[str, ...], int]]:
        """Yield chunks of as many whole definitions as fit."""
        pieces = [piece for part in split_definitions(self._text) for piece in self._split_definition(part)]
        for group, tokens in self._pack_pieces(pieces):
            outer = list(dict.fromkeys(piece.outer for piece in group if piece.outer))
            inner = list(dict.fromkeys(piece.inner for piece in group if piece.inner)) if len(outer) == 1 else []
            path = tuple(", ".join(names) for names in (outer, inner) if names)
            yield group[0].span.start, group[-1].span.end, path, tokens

    def _span(self, start: int, end: int) -> _Span:
        return _Span(start, end, self._count(self._text[start:end]))

    def _split_block(self, span: _Span, lines: list[tuple[int, int]]) -> Iterator[_Span]:
        """Yield a block whole if it fits into a chunk, otherwise its lines, sentences or words."""
        if span.tokens <= self._limit:
            yield span
        elif len(lines) > 1:
            for line in lines:
                yield from self._split_block(self._span(*line), [line])
        else:
            for sentence in self._split_sentences(span):
                yield from (sentence,) if sentence.tokens <= self._limit else self._split_words(sentence)

    def _split_sentences(self, span: _Span) -> Iterator[_Span]:
        cuts = [span.start]
        for gap in _SENTENCE_GAP.finditer(self._text, span.start, span.end):
            before = self._text[max(cuts[-1], gap.start() - _MAX_ABBREVIATION_CHARACTERS) : gap.start()]
            if not _ABBREVIATION.search(before):
                cuts.append(gap.end())
        for start, end in pairwise((*cuts, span.end)):
            yield self._span(start, start + len(self._text[start:end].rstrip()))

    def _split_words(self, span: _Span) -> Iterator[_Span]:
        """Yield runs of a few words, which saves counting each word, or single words if a run is too long."""
        for found in _RUN.finditer(self._text, span.start, span.end):
            run = self._span(*found.span())
            if run.tokens <= self._limit:
                yield run
            else:
                for word in _WORD.finditer(self._text, run.start, run.end):
                    yield from self._bisect(self._span(*word.span()))

    def _bisect(self, span: _Span) -> Iterator[_Span]:
        """Yield a word, or its halves recursively if it exceeds the limit (for example an encoded image)."""
        if span.tokens <= self._limit or span.end - span.start <= 1:
            yield span
            return
        middle = (span.start + span.end) // 2
        yield from self._bisect(self._span(span.start, middle))
        yield from self._bisect(self._span(middle, span.end))

    def _split_definition(self, lines: list[tuple[int, int]]) -> Iterator[_Piece]:
        """Yield a definition whole if it fits, otherwise its paragraphs with the symbols that they define."""
        outer = self._find_symbol(lines, at_margin=True)
        span = self._span(lines[0][0], lines[-1][1])
        if span.tokens <= self._limit:
            yield _Piece(span, outer)
            return
        inner = ""
        for part in _split_paragraphs(lines):
            inner = self._find_symbol(part, excluded=outer) or inner
            for piece in self._split_block(self._span(part[0][0], part[-1][1]), part):
                yield _Piece(piece, outer, inner)

    def _find_symbol(self, lines: Iterable[tuple[int, int]], at_margin: bool = False, excluded: str = "") -> str:
        """Return the symbol that the first defining line defines; with `at_margin`, only lines at column 0 count."""
        for start, end in lines:
            if end - start > _MAX_SIGNATURE_CHARACTERS or (at_margin and self._text[start].isspace()):
                continue
            line = self._text[start:end]
            match = _SYMBOL.match(line) or _BRACED.match(line)
            name = match["name"].strip("\"'") if match else ""
            if name and name != excluded and name not in _C_KEYWORDS:
                return name
        return ""

    def _pack_pieces(self, pieces: list[_Piece]) -> Iterator[tuple[list[_Piece], int]]:
        """Fill chunks up to the target and count their tokens; a tiny first or last piece may use the overflow."""
        groups: list[list[_Piece]] = []
        sizes: list[int] = []
        for piece in pieces:
            tokens = piece.span.tokens
            limit = self._limit if sizes and sizes[-1] < MIN_CHUNK_TOKENS else self._target
            merged_tokens = sizes[-1] + self._count_gap_tokens(groups[-1], piece) + tokens if groups else 0
            if groups and merged_tokens <= limit:
                groups[-1].append(piece)
                sizes[-1] = merged_tokens
            else:
                groups.append([piece])
                sizes.append(tokens)
        if len(groups) > 1 and sizes[-1] < MIN_CHUNK_TOKENS:
            previous, last = groups[-2:]
            merged_tokens = sizes[-2] + self._count_gap_tokens(previous, last[0]) + sizes[-1]
            if merged_tokens <= self._limit:
                groups[-2:], sizes[-2:] = [previous + last], [merged_tokens]
        return zip(groups, sizes, strict=True)

    def _count_gap_tokens(self, group: list[_Piece], piece: _Piece) -> int:
        """Count the tokens of the gap before a piece; some tokenizers count white space."""
        return self._count(self._text[group[-1].span.end : piece.span.start])


def split_definitions(text: str) -> list[list[tuple[int, int]]]:
    """Split code into top-level definitions, each a list of lines with offsets.

    A definition starts after a blank line, at a line at column 0 that is not a closing bracket or keyword.
    """
    definitions: list[list[tuple[int, int]]] = []
    previous_end = -2
    for line in _find_lines(text):
        start, end = line
        at_margin = not text[start].isspace()
        if not definitions or (start != previous_end + 1 and at_margin and not _CLOSING.match(text, start)):
            definitions.append([line])
        else:
            definitions[-1].append(line)
        previous_end = end
    return definitions


def _split_paragraphs(lines: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Yield runs of lines without a blank line between them."""
    run = [lines[0]]
    for before, line in pairwise(lines):
        if line[0] != before[1] + 1:
            yield run
            run = []
        run.append(line)
    yield run
