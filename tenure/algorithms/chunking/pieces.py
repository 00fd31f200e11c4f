"""Split text into pieces, the smallest parts of which chunks consist.

Every piece has a bond to the piece before it. The strength of a bond is the cost of a cut there, so that text which is
too long for one chunk is cut where it loses least context.
"""

import re
from collections.abc import Callable, Iterator
from enum import IntEnum
from itertools import pairwise
from typing import NamedTuple

TokenCounter = Callable[[str], int]

_LINE = re.compile(r"[^\n]+")
# The blank in "It stops. The next", in "(yes.) “No”", and the place after "。".
_SENTENCE_GAP = re.compile(
    r"(?<=[.!?])[\"'”\u2019)\]]*\s+(?=[\"'“\u2018(\[]?[A-Z0-9À-ÖØ-Þ])|(?<=[\u3002\uff01\uff1f])(?=\S)"
)
# "e.g.", "Dr.", and the initial in "J. Smith": no sentence ends there.
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|cf|vs|Mr|Mrs|Ms|Dr|Prof|St|No|Fig|Eq|Vol|pp?|approx)|\b[A-Z])\.$")
_MAX_ABBREVIATION_CHARACTERS = 12  # The longest of them, "approx.", with the word break before it.
_WORD = re.compile(r"\S+")
# Eight words, as few sentences are so long that single words have to be counted.
_RUN = re.compile(r"\S+(?:\s+\S+){0,7}")


class Bond(IntEnum):
    """Bond between two consecutive pieces; a cut costs its value, and a chunk costs 1."""

    NONE = 0
    """Blocks that do not depend on each other, sentences of a long paragraph, or definitions of a program."""
    MEMBER = 4
    """Members of a class; cheaper than a cut inside a member."""
    ITEM = 8
    """Items of a list, or rows of a table."""
    PARAGRAPH = 10
    """Statements of code that a blank line separates."""
    STATEMENT = 12
    """Other statements of code, and blank lines inside a statement."""
    NESTED = 14
    """An item and its nested item or its code, the first two rows of a table, a statement and its indented block."""
    INTRODUCTION = 20
    """A sentence with a colon and what it introduces, or code and the notes that explain it."""
    INSIDE = 40
    """Sentences inside an item, a row or a line of code."""
    WORD = 80
    """Words of a sentence, or parts of a word."""


class TextLine(NamedTuple):
    """Offsets of a line without trailing white space."""

    start: int
    end: int


class Piece(NamedTuple):
    """Range of text that is not split further."""

    start: int
    end: int
    tokens: int
    bond: Bond
    """Bond to the piece before it."""
    outer: str = ""
    """Symbol that it defines or belongs to."""
    inner: str = ""
    """Symbol inside the outer one that it defines or belongs to."""


class Splitter:
    """Splitter of lines into pieces that do not exceed a limit."""

    def __init__(self, text: str, limit: int, count: TokenCounter) -> None:
        """Store the parameters that all steps need."""
        self.text = text
        self.limit = limit
        self._count = count

    def measure(self, start: int, end: int, bond: Bond) -> Piece:
        """Return a range of text as a piece."""
        return Piece(start, end, self._count(self.text[start:end]), bond)

    def split_line(self, line: TextLine, bond: Bond, inner: Bond) -> Iterator[Piece]:
        """Yield the sentences of a line, and parts of sentences that exceed the limit.

        The first sentence has a bond to the text before it, and the others an inner bond to each other.
        """
        for start, end in self._find_sentences(line):
            sentence = self.measure(start, end, bond)
            yield from (sentence,) if sentence.tokens <= self.limit else self._split_words(sentence)
            bond = inner

    def _find_sentences(self, line: TextLine) -> Iterator[tuple[int, int]]:
        cuts = [line.start]
        for gap in _SENTENCE_GAP.finditer(self.text, line.start, line.end):
            before = self.text[max(cuts[-1], gap.start() - _MAX_ABBREVIATION_CHARACTERS) : gap.start()]
            if not _ABBREVIATION.search(before):
                cuts.append(gap.end())
        for start, end in pairwise((*cuts, line.end)):
            yield start, start + len(self.text[start:end].rstrip())

    def _split_words(self, sentence: Piece) -> Iterator[Piece]:
        """Yield runs of a few words, which saves counting each word, or single words if a run is too long."""
        bond = sentence.bond
        for match in _RUN.finditer(self.text, sentence.start, sentence.end):
            run = self.measure(*match.span(), bond)
            if run.tokens <= self.limit:
                yield run
            else:
                for word in _WORD.finditer(self.text, run.start, run.end):
                    yield from self._bisect(self.measure(*word.span(), bond))
                    bond = Bond.WORD
            bond = Bond.WORD

    def _bisect(self, piece: Piece) -> Iterator[Piece]:
        """Yield a word, or its halves recursively if it exceeds the limit (for example an encoded image)."""
        if piece.tokens <= self.limit or piece.end - piece.start <= 1:
            yield piece
            return
        middle = (piece.start + piece.end) // 2
        yield from self._bisect(self.measure(piece.start, middle, piece.bond))
        yield from self._bisect(self.measure(middle, piece.end, Bond.WORD))


def find_lines(text: str) -> Iterator[TextLine]:
    """Yield the offsets of all non-blank lines, without trailing white space."""
    for match in _LINE.finditer(text):
        words = match[0].rstrip()
        if words:
            yield TextLine(match.start(), match.start() + len(words))
