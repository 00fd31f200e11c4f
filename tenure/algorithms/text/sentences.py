"""Split stored text into sentences, words and stems.

Stored text is in the normal form of `tenure.sources.document.document`: blocks separated by a blank line, headings
marked with hashes, one line per paragraph or list item, code indented by four spaces, table rows marked with bars.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain, repeat
from typing import Final, Literal

import sentencex
import Stemmer

LineKind = Literal["prose", "item", "heading", "code", "table"]

_ITEM = re.compile(r"^\s{0,8}(?:[-*+•]|\d{1,3}[.)])\s+")  # "- item", "• item", "3) item".
# Accents and vowel signs that belong to a word but are no letters: combining accents, Hebrew, Arabic, the scripts of
# India, Thai, Lao, Burmese and Khmer, as in "हिन्दी", "ที่".
_MARKS = (
    r"\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u0e31-\u0e4e\u0eb1-\u0ecd"
    r"\u102b-\u103e\u17b4-\u17d3"
)
# "read-only", "isn't"; an underscore separates words.
_WORD = re.compile(rf"[^\W_]+(?:[{_MARKS}]+[^\W_]*|[-'’][^\W_]+)*")
# "## Limits".
_HEADING = re.compile(r"^#{1,6} ")
_BLANK = re.compile(r"\s")
_PIECE = re.compile(r"\S+")
# A line with at most one mark at its end that ends a sentence of any language: "Rotate logs nightly.".
_ONE_SENTENCE = re.compile(r"[^.!?\u0370-\u200f\u2020-\U0010ffff]*+[.!?]?\s*")
# The point of "3.X", and of the names "io.TextIOWrapper", "dict.__setitem__" and "asyncio.Lock()"; not that of
# "It ends here.Next it begins", a text without a blank between two sentences.
_INSIDE_WORD = re.compile(r"\d\.[^\W\d_]|\w\.(?:\w*_|\w+\(|[A-Z]+[a-z]\w*[A-Z])")

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
"""English words without a topic."""


# Letters beyond the Latin blocks of European languages, which end at U+024F: "соль", "盐", not "ß" or "①".
_NON_LATIN_LETTERS = re.compile(r"[^\W\d_\x00-\u024f\u2070-\u218b\u2460-\u24ff]+")
MIN_UBIQUITOUS_SHARE = 0.5
"""Share of texts from which a name is ubiquitous and does not distinguish them."""
MAX_ITEM_WORDS = 60
"""Maximum words of a list item that counts as one sentence regardless of full stops."""
MAX_WINDOW_CHARACTERS = 20_000
"""Characters of a line that are divided into sentences at a time: 20,000 backticks take 0.1 s, and 100,000 3 s."""


@dataclass(frozen=True)
class Sentence:
    """Sentence with its position in the text."""

    text: str
    """The sentence verbatim, without surrounding white space and list marker."""
    start: int
    end: int
    block: int
    """Number of its block; the sentences of a paragraph and the items of a list share a block."""
    kind: Literal["prose", "item"]
    """Whether it belongs to a paragraph or to a list item."""


@lru_cache(maxsize=4096)
def split_sentences(text: str) -> tuple[Sentence, ...]:
    """Split a text in normal form into sentences, without headings, code and tables."""
    result: list[Sentence] = []
    block = 0
    offset = 0
    previous: LineKind | None = None
    for line in text.splitlines(keepends=True):
        kind = classify_line(line)
        if not line.strip():
            previous = None if previous != "item" else previous
        else:
            if not (kind == "item" and previous == "item"):
                block += 1
            if kind == "prose" or kind == "item":
                marker = _ITEM.match(line)
                skip = marker.end() if kind == "item" and marker else 0
                result.extend(_split_line(line[skip:], offset + skip, block, kind))
            previous = kind
        offset += len(line)
    return tuple(result)


def classify_line(line: str) -> LineKind:
    """Return the kind of a line that is not blank."""
    if _HEADING.match(line):
        return "heading"
    if line.lstrip().startswith("|"):
        return "table"
    if _ITEM.match(line):
        return "item"
    return "code" if line.startswith(("    ", "\t")) else "prose"


def _split_line(line: str, offset: int, block: int, kind: Literal["prose", "item"]) -> Iterable[Sentence]:
    short_item = kind == "item" and len(line.split()) <= MAX_ITEM_WORDS
    for start, end in [(0, len(line))] if short_item else _find_boundaries(line):
        raw = line[start:end]
        text = raw.strip()
        if text:
            first = offset + start + len(raw) - len(raw.lstrip())
            yield Sentence(text, first, first + len(text), block, kind)


def _find_boundaries(line: str) -> list[tuple[int, int]]:
    """Return the offsets of the sentences; blanks become spaces because sentencex panics at multi-byte blanks.

    No sentence ends inside a word such as `3.X` or `dict.__setitem__`. A long line is read in windows, since the time
    that sentencex takes for quotation marks grows with their square. The last sentence of a window may be cut, so the
    next window begins with it; a sentence as long as a window is joined with the next one.
    """
    if _ONE_SENTENCE.fullmatch(line):
        return [(0, len(line))]
    text = _BLANK.sub(" ", line)
    language = guess_language(text[:MAX_WINDOW_CHARACTERS])
    boundaries: list[tuple[int, int]] = []
    position, is_open = 0, False
    while position < len(text):
        window = text[position : position + MAX_WINDOW_CHARACTERS]
        pieces = sentencex.get_sentence_boundaries(language, window)
        is_cut = position + len(window) < len(text)
        for piece in pieces[:-1] if is_cut and len(pieces) > 1 else pieces:
            start, end = position + piece["start_index"], position + piece["end_index"]
            is_inside = _INSIDE_WORD.match(line, max(0, start - 2)) and boundaries and boundaries[-1][1] == start
            if is_inside or is_open:
                start = boundaries.pop()[0]
            boundaries.append((start, end))
            is_open = False
        is_open = is_cut and len(pieces) == 1
        position = boundaries[-1][1] if pieces else position + len(window)
    return boundaries


@lru_cache(maxsize=50_000)
def stem_word(word: str) -> str:
    """Return the stem of a lower-case word (Porter2 stemmer)."""
    # A stemmer object is not thread-safe.
    return str(Stemmer.Stemmer("english", 0).stemWord(word))


_STOP_STEMS = frozenset(map(stem_word, STOP_WORDS))
"""Stems of the stop words, so that "making" is a stop word like "make"."""


@lru_cache(maxsize=50_000)
def _stem_content_word(word: str) -> str:
    """Return the stem of a lower-case word; empty for a stop word and for a single letter."""
    if word in STOP_WORDS or (len(word) == 1 and not word.isdigit()):
        return ""
    stem = stem_word(word)
    return "" if stem in _STOP_STEMS else stem


def split_words(text: str) -> list[str]:
    """Split a text into lower-case words."""
    return [word.lower() for word in _WORD.findall(text)]


def stem_words(text: str) -> list[str]:
    """Return the stems of the content words of a text, in order, with repetitions (Porter2 stemmer)."""
    return list(filter(None, map(_stem_content_word, split_words(text))))


FUNCTION_WORDS = frozenset(
    """the of and is are to that for with by has have it its be been from not which what when where why how who does did
    while than this they their there because between before would should could into about without""".split()
)
"""English words that are no words of other European languages; "was", "were" and "these" are German words."""
_MIN_WORDS = 4  # Three words, as in a heading, often have no function word.


_FOREIGN_WORDS: Final = {
    "de": """der das den dem des ein eine einen einem einer und oder nicht ist sind wird werden wurde wurden mit von
        vom zum zur im auf für bei nach seit aus auch nur noch wie wer wo wann welche welcher welches
        alle sich""",
    "fr": """le la les des du un une et est sont été être ne pas que qui dans sur pour avec par au aux ce cette ces
        il elle où quand quel quelle quels quelles combien leur se""",
    "es": """el la los las un una y fue que al por para se su sus qué quién cuándo dónde cómo cuál cuánto cuántos
        como más este esta está están""",
    "pt": """os um uma é são foi não que em da dos das ao por para com se seu sua quem quando onde como qual quanto
        quantos mais este esta está estão na""",
    "it": """il lo la gli le un una è sono era non che di della dei delle nel nella si suo sua chi quando dove quale
        quanto quanti più questo questa al""",
    "nl": """de het een niet zijn werd wordt worden van voor op bij naar uit ook maar nog hoe wie waar wanneer welke
        dat om te aan als er""",
    "pl": """w z na nie jest są był była było się że to od przez dla po przy jak kto gdzie kiedy który która które
        ile oraz jego jej ich""",
}
"""Common function words of European languages that are no English words, such as "die" and "come"."""
_WORDS: Final = {"en": FUNCTION_WORDS} | {language: set(words.split()) for language, words in _FOREIGN_WORDS.items()}
_LANGUAGES_OF_WORD: Final = {
    word: tuple(language for language, words in _WORDS.items() if word in words)
    for word in set().union(*_WORDS.values())
}
# Alphabets and scripts of one language each, or of one among those whose sentences end alike.
_SCRIPTS: Final = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("zh", re.compile(r"[\u3400-\u9fff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
)
_MIN_FOREIGN_WORDS = 2


@lru_cache(maxsize=4096)
def guess_language(text: str) -> str:
    """Return the language by whose rules a text is read, by its script and its function words; English in doubt.

    In contrast to `detect_language` it needs no model, so the code of workflows may use it. Of 4,221 paragraphs of two
    manuals in fifteen languages, at most one English one in 300 is taken for another language.
    """
    if is_non_latin(text):
        return next((language for language, script in _SCRIPTS if script.search(text)), "en")
    counts = Counter(chain.from_iterable(map(_LANGUAGES_OF_WORD.get, split_words(text), repeat(()))))
    language = max(counts, key=lambda name: (counts[name], name == "en"), default="en")
    return language if counts[language] >= _MIN_FOREIGN_WORDS else "en"


def is_non_english(text: str) -> bool:
    """Return whether a statement is clearly not English: another script, or no common English function word."""
    return is_non_latin(text) or (len(split_words(text)) >= _MIN_WORDS and not may_be_english(text))


def is_non_latin(text: str) -> bool:
    """Return whether most letters of a text are of another script than the Latin one."""
    if text.isascii():
        return False
    non_latin = sum(map(len, _NON_LATIN_LETTERS.findall(text)))
    return bool(non_latin) and 2 * non_latin > sum(map(str.isalpha, text))


def may_be_english(text: str) -> bool:
    """Return whether a text contains a common English function word."""
    return not FUNCTION_WORDS.isdisjoint(split_words(text))


def find_verbatim(text: str, words: str, *, ignore_case: bool = False) -> tuple[int, int] | None:
    """Return the position of words in a text, regardless of white space; None if it has them nowhere."""
    pieces = list(_PIECE.finditer(text))
    starts = list(accumulate((len(piece.group()) + 1 for piece in pieces), initial=0))
    plain, sought = (" ".join(part.split()) for part in (text, words))
    start = (_fold(plain).find(_fold(sought)) if ignore_case else plain.find(sought)) if sought else -1
    if start < 0:
        return None
    first, last = (bisect_right(starts, offset) - 1 for offset in (start, start + len(sought) - 1))
    end = start + len(sought)
    return pieces[first].start() + start - starts[first], pieces[last].start() + end - starts[last]


def _fold(text: str) -> str:
    """Return a text of the same length in lower case."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)


def normalize_sentence(text: str) -> str:
    """Return the words of a sentence in lower case without punctuation, for comparison."""
    return " ".join(split_words(text))
