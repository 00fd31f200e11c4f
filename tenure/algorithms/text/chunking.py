"""Cutting a document into the chunks that are embedded, searched and quoted.

A chunk is a span of the text and nothing else: its words are `text[start:end]`, to the letter. Prose in
the normal form of `tenure.sources.document.document` is cut along its structure: never across a heading, between
blocks where possible, and inside a block only where it is too long for one chunk. Code is cut between
top-level definitions.

Every character that is neither white space nor part of a heading line belongs to exactly one chunk, and no chunk
has more than 1.25 × the target. The counter must not count less for two texts apart than for
both together, as is true of every tokenizer that splits at white space.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

Counter = Callable[[str], int]
"""Counts the tokens of a text."""

HEADROOM = 1.25
"""A chunk may exceed the target by this factor, if that saves a block from being cut or a rest from standing alone."""
TINY_TOKENS = 40
"""A piece below this many tokens joins a neighbour in its section, where there is room."""

_TOKEN = re.compile(r"[A-Za-zÀ-ɏ]{1,8}|[0-9]{1,3}|\S")
_LINE = re.compile(r"[^\n]+")
_HEADING = re.compile(r"(#{1,6}) +(\S.*)")
_SENTENCE_GAP = re.compile(
    r"(?<=[.!?])[\"'”\u2019)\]]*\s+(?=[\"'“\u2018(\[]?[A-Z0-9À-ÖØ-Þ])|(?<=[\u3002\uff01\uff1f])(?=\S)"
)
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|cf|vs|Mr|Mrs|Ms|Dr|Prof|St|No|Fig|Eq|Vol|pp?|approx)|\b[A-Z])\.$")
_LONGEST_ABBREVIATION = 12
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
    # Prose in a docstring may begin with the same words; a definition goes on with one of these.
    r"(?=\s*(?:[(:<{=\[\];]|$)|\s+(?i:extends|implements|for|where|as|on|struct|interface)\b)"
)
_BRACED = re.compile(r"\s*(?:[A-Za-z_][\w:<>,]*[\s*&]+)*(?P<name>[A-Za-z_][\w:~-]*)\s*\([^;]*\{$")
_LONGEST_SIGNATURE = 300
_C_KEYWORDS = frozenset(
    ("if", "for", "while", "switch", "return", "else", "do", "catch", "with", "elif", "print", "assert")
)


@dataclass(frozen=True)
class ChunkSpan:
    """Where a chunk stands."""

    ordinal: int
    """Position among the document's chunks, from 0."""
    start: int
    """First character."""
    end: int
    """One past the last character."""
    heading_path: tuple[str, ...]
    """Headings above it, outermost first; for code, the symbols it defines."""
    tokens: int
    """Sum of the tokens of its pieces; as a whole it may have fewer."""


class _Span(NamedTuple):
    """A stretch of text and its length in tokens."""

    start: int
    end: int
    tokens: int


class _Piece(NamedTuple):
    """A span that is kept whole, with the symbols it defines or belongs to."""

    span: _Span
    outer: str = ""
    inner: str = ""


class _Section(NamedTuple):
    """Blocks under one heading; a block is a list of lines, a line a pair of offsets."""

    path: tuple[str, ...]
    blocks: list[list[tuple[int, int]]]


def estimate_tokens(text: str) -> int:
    """Count tokens about as a word-piece tokenizer does: words, parts of long words, punctuation marks."""
    return len(_TOKEN.findall(text))


def chunk(text: str, kind: str, target_tokens: int = 200, count_tokens: Counter | None = None) -> list[ChunkSpan]:
    """Cut a document into chunks.

    Args:
        text: The document; prose in normal form.
        kind: `code` for source code, anything else for prose.
        target_tokens: Length a chunk is filled up to.
        count_tokens: Counts tokens; a cheap estimate where none is given.

    Returns:
        Spans in order, without overlap.
    """
    cutter = _Cutter(text, target_tokens, count_tokens or estimate_tokens)
    chunks = cutter.code() if kind == "code" else cutter.prose()
    return [ChunkSpan(n, *chunk) for n, chunk in enumerate(chunks)]


def sections(text: str) -> list[_Section]:
    """Split prose at its headings, and each section at its blank lines."""
    path: list[tuple[int, str]] = []
    found = [_Section((), [])]
    previous_end = -1
    for line in _lines(text):
        start, end = line
        heading = _HEADING.match(text, start, end)
        if heading:
            level = len(heading[1])
            path = [(above, title) for above, title in path if above < level]
            path.append((level, heading[2].rstrip()))
            found.append(_Section(tuple(title for _, title in path), []))
        elif start == previous_end + 1 and found[-1].blocks:
            found[-1].blocks[-1].append(line)
        else:
            found[-1].blocks.append([line])
        previous_end = end
    return [section for section in found if section.blocks]


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield the offsets of lines that have words, without the white space at their ends."""
    for match in _LINE.finditer(text):
        words = match[0].rstrip()
        if words:
            yield match.start(), match.start() + len(words)


class _Cutter:
    """Cuts one text; holds what every step needs."""

    def __init__(self, text: str, target: int, count: Counter) -> None:
        self._text = text
        self._target = max(target, 1)
        self._limit = int(self._target * HEADROOM)
        self._count = count

    def prose(self) -> Iterator[tuple[int, int, tuple[str, ...], int]]:
        """Yield chunks section by section."""
        for path, blocks in sections(self._text):
            spans = (self._span(block[0][0], block[-1][1]) for block in blocks)
            pieces = [
                _Piece(part) for span, block in zip(spans, blocks, strict=True) for part in self._split(span, block)
            ]
            for group, tokens in self._pack(pieces):
                yield group[0].span.start, group[-1].span.end, path, tokens

    def code(self) -> Iterator[tuple[int, int, tuple[str, ...], int]]:
        """Yield chunks of whole definitions, as many as fit."""
        pieces = [piece for part in definitions(self._text) for piece in self._split_definition(part)]
        for group, tokens in self._pack(pieces):
            outer = list(dict.fromkeys(piece.outer for piece in group if piece.outer))
            inner = list(dict.fromkeys(piece.inner for piece in group if piece.inner)) if len(outer) == 1 else []
            path = tuple(", ".join(names) for names in (outer, inner) if names)
            yield group[0].span.start, group[-1].span.end, path, tokens

    def _span(self, start: int, end: int) -> _Span:
        return _Span(start, end, self._count(self._text[start:end]))

    def _split(self, span: _Span, lines: list[tuple[int, int]]) -> Iterator[_Span]:
        """Yield a block whole where it fits in a chunk, else its lines, sentences or words."""
        if span.tokens <= self._limit:
            yield span
        elif len(lines) > 1:
            for line in lines:
                yield from self._split(self._span(*line), [line])
        else:
            for sentence in self._sentences(span):
                yield from (sentence,) if sentence.tokens <= self._limit else self._words(sentence)

    def _sentences(self, span: _Span) -> Iterator[_Span]:
        cuts = [span.start]
        for gap in _SENTENCE_GAP.finditer(self._text, span.start, span.end):
            before = self._text[max(cuts[-1], gap.start() - _LONGEST_ABBREVIATION) : gap.start()]
            if not _ABBREVIATION.search(before):
                cuts.append(gap.end())
        for start, end in pairwise((*cuts, span.end)):
            yield self._span(start, start + len(self._text[start:end].rstrip()))

    def _words(self, span: _Span) -> Iterator[_Span]:
        """Yield runs of a few words, which spares counting each word alone, or the words of a run too long."""
        for found in _RUN.finditer(self._text, span.start, span.end):
            run = self._span(*found.span())
            if run.tokens <= self._limit:
                yield run
            else:
                for word in _WORD.finditer(self._text, run.start, run.end):
                    yield from self._halves(self._span(*word.span()))

    def _halves(self, span: _Span) -> Iterator[_Span]:
        """Yield a word, or what halving leaves of one that no chunk could hold (an encoded image, for instance)."""
        if span.tokens <= self._limit or span.end - span.start <= 1:
            yield span
            return
        middle = (span.start + span.end) // 2
        yield from self._halves(self._span(span.start, middle))
        yield from self._halves(self._span(middle, span.end))

    def _split_definition(self, lines: list[tuple[int, int]]) -> Iterator[_Piece]:
        """Yield a definition whole where it fits, else its blank-line separated parts with the symbols they open."""
        outer = self._symbol(lines, at_margin=True)
        span = self._span(lines[0][0], lines[-1][1])
        if span.tokens <= self._limit:
            yield _Piece(span, outer)
            return
        inner = ""
        for part in _paragraphs(lines):
            inner = self._symbol(part, besides=outer) or inner
            for piece in self._split(self._span(part[0][0], part[-1][1]), part):
                yield _Piece(piece, outer, inner)

    def _symbol(self, lines: Iterable[tuple[int, int]], at_margin: bool = False, besides: str = "") -> str:
        """Name what the first defining line defines, of all lines or of those at column 0, besides a known symbol."""
        for start, end in lines:
            if end - start > _LONGEST_SIGNATURE or (at_margin and self._text[start].isspace()):
                continue
            line = self._text[start:end]
            match = _SYMBOL.match(line) or _BRACED.match(line)
            name = match["name"].strip("\"'") if match else ""
            if name and name != besides and name not in _C_KEYWORDS:
                return name
        return ""

    def _pack(self, pieces: list[_Piece]) -> Iterator[tuple[list[_Piece], int]]:
        """Fill chunks up to the target, and count them; a tiny beginning or rest may use the headroom."""
        groups: list[list[_Piece]] = []
        sizes: list[int] = []
        for piece in pieces:
            tokens = piece.span.tokens
            room = self._limit if sizes and sizes[-1] < TINY_TOKENS else self._target
            together = sizes[-1] + self._gap(groups[-1], piece) + tokens if groups else 0
            if groups and together <= room:
                groups[-1].append(piece)
                sizes[-1] = together
            else:
                groups.append([piece])
                sizes.append(tokens)
        if len(groups) > 1 and sizes[-1] < TINY_TOKENS:
            before, rest = groups[-2:]
            together = sizes[-2] + self._gap(before, rest[0]) + sizes[-1]
            if together <= self._limit:
                groups[-2:], sizes[-2:] = [before + rest], [together]
        return zip(groups, sizes, strict=True)

    def _gap(self, group: list[_Piece], piece: _Piece) -> int:
        """Count what lies between; to most tokenizers white space is nothing, to some it is."""
        return self._count(self._text[group[-1].span.end : piece.span.start])


def definitions(text: str) -> list[list[tuple[int, int]]]:
    """Split code where a blank line is followed by a line at column 0 that opens something, as lines with offsets."""
    found: list[list[tuple[int, int]]] = []
    previous_end = -2
    for line in _lines(text):
        start, end = line
        at_margin = not text[start].isspace()
        if not found or (start != previous_end + 1 and at_margin and not _CLOSING.match(text, start)):
            found.append([line])
        else:
            found[-1].append(line)
        previous_end = end
    return found


def _paragraphs(lines: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Yield runs of lines with no blank line between them."""
    run = [lines[0]]
    for before, line in pairwise(lines):
        if line[0] != before[1] + 1:
            yield run
            run = []
        run.append(line)
    yield run
