"""Sentences and words of stored text.

Stored text is in the normal form of `tenure.sources.document.document`: blocks apart by a blank line, headings
behind hashes, one line per paragraph or list item, code indented by four spaces, tables behind bars.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import sentencex
import Stemmer

LineKind = Literal["prose", "item", "heading", "code", "table"]

_ITEM = re.compile(r"^\s{0,8}(?:[-*+•]|\d{1,3}[.)])\s+")
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_HEADING = re.compile(r"^#{1,6} ")
_BLANK = re.compile(r"\s")

STOP_WORDS = frozenset(
    """a about above after again against all also although am among an and any are as at be because been before being
    below between both but by can could did do does doing done down during each either else ever every few for from
    further get gets give given had has have having he her here hers him his how however i if in into is it its itself
    just let like made make makes many may me might mine more most much must my neither no nor not now of off often on
    once one only onto or other our ours out over own per please quite rather really same shall she should since so some
    still such than that the their theirs them then there therefore these they this those though through thus to too
    under until up upon us use used uses using very via want was way we well were what whatever when where whether which
    while who whom whose why will with within without would yes yet you your yours tell explain describe compare happen
    happens mean means work works need needs know sure""".split()
)
"""English words that carry no topic."""


LAST_LATIN = 0x24F
"""Last letter of the Latin blocks that European languages use."""
UBIQUITOUS, ENOUGH_TEXTS = 0.5, 8
"""Share of texts that hold a name from which it tells them apart no more, and texts from which that is counted."""
MAX_ITEM_WORDS = 60
"""Words up to which a list item counts as one sentence, full stops or not."""


@dataclass(frozen=True)
class Sentence:
    """A sentence and where it stands in the text it was found in."""

    text: str
    """The sentence, to the letter, without surrounding white space or list marker."""
    start: int
    """First character."""
    end: int
    """One past the last character."""
    block: int
    """Number of the block it stands in; sentences of one paragraph share it, and so do the items of one list."""
    kind: Literal["prose", "item"]
    """Whether it is part of a paragraph or of a list item."""


@lru_cache(maxsize=4096)
def sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a text in normal form; headings, code and tables have none."""
    found: list[Sentence] = []
    block = 0
    offset = 0
    before: LineKind | None = None
    for line in text.splitlines(keepends=True):
        kind = _line_kind(line)
        if not line.strip():
            before = None if before != "item" else before
        else:
            if not (kind == "item" and before == "item"):
                block += 1
            if kind == "prose" or kind == "item":
                marker = _ITEM.match(line)
                skip = marker.end() if kind == "item" and marker else 0
                found.extend(_split(line[skip:], offset + skip, block, kind))
            before = kind
        offset += len(line)
    return tuple(found)


def _line_kind(line: str) -> LineKind:
    if _HEADING.match(line):
        return "heading"
    if line.lstrip().startswith("|"):
        return "table"
    if _ITEM.match(line):
        return "item"
    return "code" if line.startswith(("    ", "\t")) else "prose"


def _split(line: str, offset: int, block: int, kind: Literal["prose", "item"]) -> Iterable[Sentence]:
    short_item = kind == "item" and len(line.split()) <= MAX_ITEM_WORDS
    for start, end in [(0, len(line))] if short_item else _boundaries(line):
        raw = line[start:end]
        text = raw.strip()
        if text:
            first = offset + start + len(raw) - len(raw.lstrip())
            yield Sentence(text, first, first + len(text), block, kind)


def _boundaries(line: str) -> list[tuple[int, int]]:
    """Return where sentences start and end; the library panics at a blank of several bytes in "A .", so blanks go."""
    pieces = sentencex.get_sentence_boundaries("en", _BLANK.sub(" ", line))
    return [(piece["start_index"], piece["end_index"]) for piece in pieces]


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    # A stemmer keeps its place in the word within itself, so that threads must not share one.
    return str(Stemmer.Stemmer("english", 0).stemWord(word))


@lru_cache(maxsize=1)
def _stop_stems() -> frozenset[str]:
    """Return the stems of the stop words, so that "making" is as empty a word as "make"."""
    return frozenset(_stem(word) for word in STOP_WORDS)


def words(text: str) -> list[str]:
    """Return the words of a text in order, lower-cased."""
    return [match.group().lower() for match in _WORD.finditer(text)]


def stems(text: str) -> list[str]:
    """Return the stems of the content words of a text, in order, repetitions kept."""
    empty = _stop_stems()
    return [
        stem
        for word in words(text)
        if word not in STOP_WORDS and (len(word) > 1 or word.isdigit()) and (stem := _stem(word)) not in empty
    ]


def ubiquitous(texts: Sequence[str]) -> frozenset[str]:
    """Return the stems of names that most of some texts hold: in a manual, the name of its subject.

    Other words that most texts hold stay: what was searched for is in all that was found.
    """
    if len(texts) < ENOUGH_TEXTS:
        return frozenset()
    written = [{match.group() for match in _WORD.finditer(text)} for text in texts]
    held = Counter(word.lower() for found in written for word in found if word[0].isupper())
    plain = Counter(word for found in written for word in found if word.islower())
    enough = UBIQUITOUS * len(texts)
    return frozenset(
        stem for word, count in held.items() if count >= enough and plain[word] * 5 <= count for stem in stems(word)
    )


_FUNCTION_WORDS = frozenset("the of and is are to that for with by has have it its be been from not".split())
_ENOUGH_TO_TELL = 4


def foreign(text: str) -> bool:
    """Tell whether a statement is plainly not in English: none of the words that hardly an English sentence lacks."""
    letters = [character for character in text if character.isalpha()]
    other = sum(ord(character) > LAST_LATIN for character in letters)
    said = words(text)
    return 2 * other > len(letters) or (len(said) >= _ENOUGH_TO_TELL and not _FUNCTION_WORDS.intersection(said))


def telling(text: str, common: frozenset[str]) -> str:
    """Return a text without the words whose stems are common, the whole text where no content word would be left."""
    kept = " ".join(word for word in text.split() if not common.intersection(stems(word)))
    return kept if stems(kept) else text


def fingerprint(text: str) -> str:
    """Return what two sentences share when they say the same words: case, marks and spacing left out."""
    return " ".join(words(text))
