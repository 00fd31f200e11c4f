"""Extract named entities by rules and normalise their names to keys.

A name is a run of capitalised words joined by function words ("Bank of England"). Its key omits case, accents, leading
articles and the possessive, so that all spellings share one key. The rules cover English and other languages in Latin
script. Scripts without capitals have no names here, so a graph search finds no links between such texts.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from tenure.algorithms.text.sentences import STOP_WORDS

MAX_NAME_WORDS = 6
"""Maximum words of a name that is looked up inside another text."""
_MIN_CHARACTERS = 3

_WORD = re.compile(r"[^\W_]+(?:[-'’.&][^\W_]+)*")
_LINK = r"(?:(?:of|the|and|for|de|del|della|da|di|du|la|le|van|von|der|den)\s+){0,2}"
_CAPITAL = r"[A-ZÀ-ÖØ-Þ]"
_NAME = re.compile(rf"(?<![\w'’]){_CAPITAL}[\w'’.&-]*(?:[ \t]+{_LINK}(?:{_CAPITAL}|\d)[\w'’.&-]*)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:]['\"”’)\]]*\s|\n)\s*['\"“‘(\[]?$")
_PARENTHESIS = re.compile(r"(?:(?<!\s)\s++)?+\([^)]*+\)")
_TAIL = re.compile(r"(?:['’]s)?[\s.,&'’-]*$")
_ARTICLES = frozenset(("a", "an", "the"))
_FUNCTION_WORDS = _ARTICLES | {"of", "and", "for", "in", "on", "at", "by", "to", "with", "from"}


class NamedEntities(NamedTuple):
    """Keys of the names in a text."""

    full_names: tuple[str, ...]
    """Names as they occur in the text."""
    partial_names: tuple[str, ...]
    """Names inside names, and single words that may be capitalised only because they begin a sentence."""


@lru_cache(maxsize=50_000)
def normalize_name(text: str) -> str:
    """Return the key of a name; empty if the name is too short."""
    words = _normalize_words(text)
    while words and words[0] in _ARTICLES:
        words = words[1:]
    joined = " ".join(words)
    return joined if len(joined) >= _MIN_CHARACTERS else ""


def normalize_title(title: str) -> str:
    """Return the key of the entity in a document title, without a disambiguating parenthesis."""
    closed, mark, rest = title.rpartition(")")  # the pattern reads to the end for each parenthesis that is not closed
    return normalize_name(_PARENTHESIS.sub("", closed + mark) + rest) or normalize_name(title)


def extract_named_entities(text: str) -> NamedEntities:
    """Extract the keys of the names in a text, each once, in order of appearance."""
    full_names: dict[str, None] = {}
    partial_names: dict[str, None] = {}
    for match in _find_entities(text):
        (partial_names if match.is_sentence_start else full_names)[match.key] = None
        partial_names.update(dict.fromkeys(inner for inner in _generate_ngrams(match.words) if inner != match.key))
    return NamedEntities(tuple(full_names), tuple(name for name in partial_names if name not in full_names))


def extract_entity_spellings(text: str) -> dict[str, str]:
    """Return the full names of a text by key, each in its first spelling."""
    names: dict[str, str] = {}
    for match in _find_entities(text):
        if not match.is_sentence_start:
            names.setdefault(match.key, _drop_words(match.text, match.skipped))
    return names


class _EntityMatch(NamedTuple):
    key: str
    words: list[str]
    text: str
    """Match of the name pattern."""
    skipped: int
    """Number of leading words that belong to the sentence and not to the name."""
    is_sentence_start: bool
    """Whether it is a single word that may be capitalised only because it begins a sentence."""


def _find_entities(text: str) -> Iterator[_EntityMatch]:
    for match in _NAME.finditer(text):
        all_words = _normalize_words(match.group())
        words = _strip_sentence_start(all_words)
        name = normalize_name(" ".join(words))
        if name:
            at_start = len(all_words) == 1 and _SENTENCE_START.search(text[max(0, match.start() - 4) : match.start()])
            yield _EntityMatch(name, words, match.group(), len(all_words) - len(words), bool(at_start))


def _drop_words(text: str, number: int) -> str:
    """Return a name from word `number` (from 0) on, without trailing punctuation and possessive."""
    start = next(islice((match.start() for match in _WORD.finditer(text)), number, None), 0)
    return _TAIL.sub("", text[start:])


def list_ngram_keys(text: str) -> tuple[str, ...]:
    """List the keys of all runs of up to six words: the names that a question may contain, in any case."""
    return tuple(dict.fromkeys(_generate_ngrams(_normalize_words(text))))


def _normalize_words(text: str) -> list[str]:
    """Return the words in lower case, without accents and possessive."""
    if text.isascii():
        plain = text
    else:
        plain = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return [word.removesuffix("'s").removesuffix("’s") for word in _WORD.findall(plain.lower())]


def _strip_sentence_start(words: list[str]) -> list[str]:
    """Remove leading stop words and numbers of a sentence from a name: "In 1694 the Bank" becomes "Bank"."""
    while words and (words[0] in STOP_WORDS or words[0].isdigit()):
        words = words[1:]
    return words


def _generate_ngrams(words: Sequence[str]) -> Iterator[str]:
    for start, first in enumerate(words):
        for end in range(start + 1, min(start + MAX_NAME_WORDS, len(words)) + 1):
            if (
                first not in _FUNCTION_WORDS
                and words[end - 1] not in _FUNCTION_WORDS
                and (span := normalize_name(" ".join(words[start:end])))
            ):
                yield span
