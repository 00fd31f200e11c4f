"""Names: which things a text names, and under which key a name is known wherever it stands.

A name is a run of capitalised words, joined by small ones ("Bank of England"). Its key leaves out case,
accents, articles at the front and the possessive, so that spellings of one name meet. The rules know
English and other languages in Latin script; a script without capitals has no names here, and a search
over it simply finds no links.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from tenure.algorithms.text.sentences import STOP_WORDS

LONGEST = 6
"""Words of a name that is looked for inside another text."""
_LEAST_LETTERS = 3

_WORD = re.compile(r"[^\W_]+(?:[-'’.&][^\W_]+)*")
_LINK = r"(?:(?:of|the|and|for|de|del|della|da|di|du|la|le|van|von|der|den)\s+){0,2}"
_CAPITAL = r"[A-ZÀ-ÖØ-Þ]"
_NAME = re.compile(rf"(?<![\w'’]){_CAPITAL}[\w'’.&-]*(?:[ \t]+{_LINK}(?:{_CAPITAL}|\d)[\w'’.&-]*)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:]['\"”’)\]]*\s|\n)\s*['\"“‘(\[]?$")
_PARENTHESIS = re.compile(r"\s*\([^)]*\)")
_TAIL = re.compile(r"(?:['’]s)?[\s.,&'’-]*$")
_ARTICLES = frozenset(("a", "an", "the"))
_SMALL = _ARTICLES | {"of", "and", "for", "in", "on", "at", "by", "to", "with", "from"}


class Names(NamedTuple):
    """What a text names, by key."""

    whole: tuple[str, ...]
    """Names as they stand there."""
    parts: tuple[str, ...]
    """Names inside names, and single words that may only be capitalised because a sentence begins with them."""


@lru_cache(maxsize=50_000)
def key(text: str) -> str:
    """Return the key of a name; empty where there is nothing in it to know it by."""
    words = _keys(text)
    while words and words[0] in _ARTICLES:
        words = words[1:]
    joined = " ".join(words)
    return joined if len(joined) >= _LEAST_LETTERS else ""


def title_key(title: str) -> str:
    """Return the key of what a document's title names; what a parenthesis adds to tell it from others is left out."""
    return key(_PARENTHESIS.sub("", title)) or key(title)


def names(text: str) -> Names:
    """Return what a text names, each key once, in order of appearance."""
    whole: dict[str, None] = {}
    parts: dict[str, None] = {}
    for found in _found(text):
        (parts if found.opening else whole)[found.key] = None
        parts.update(dict.fromkeys(inner for inner in _spans(found.words) if inner != found.key))
    return Names(tuple(whole), tuple(part for part in parts if part not in whole))


def written(text: str) -> dict[str, str]:
    """Return the whole names of a text by key, each as it is written where it stands first."""
    names: dict[str, str] = {}
    for found in _found(text):
        if not found.opening:
            names.setdefault(found.key, _from_word(found.text, found.skipped))
    return names


class _Found(NamedTuple):
    key: str
    words: list[str]
    text: str
    """What the rules take for a name."""
    skipped: int
    """Words at its beginning that only begin a sentence."""
    opening: bool
    """Whether it is one word that may only be capitalised because a sentence begins with it."""


def _found(text: str) -> Iterator[_Found]:
    for match in _NAME.finditer(text):
        spelt = _keys(match.group())
        words = _from_first_name(spelt)
        name = key(" ".join(words))
        if name:
            opening = len(spelt) == 1 and _SENTENCE_START.search(text[max(0, match.start() - 4) : match.start()])
            yield _Found(name, words, match.group(), len(spelt) - len(words), bool(opening))


def _from_word(text: str, number: int) -> str:
    """Return a text from a word on, counted from 0, without the marks and the possessive at its end."""
    start = next(islice((match.start() for match in _WORD.finditer(text)), number, None), 0)
    return _TAIL.sub("", text[start:])


def spans(text: str) -> tuple[str, ...]:
    """Return the keys of all runs of up to six words: what a question may name, however it is written."""
    return tuple(dict.fromkeys(_spans(_keys(text))))


def _keys(text: str) -> list[str]:
    """Return the words without case, accents and possessive."""
    if text.isascii():
        plain = text
    else:
        plain = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return [word.removesuffix("'s").removesuffix("’s") for word in _WORD.findall(plain.lower())]


def _from_first_name(words: list[str]) -> list[str]:
    """Return the words of a name without what a sentence begins with: "In 1694 the Bank" is "Bank"."""
    while words and (words[0] in STOP_WORDS or words[0].isdigit()):
        words = words[1:]
    return words


def _spans(words: Sequence[str]) -> Iterator[str]:
    for start, first in enumerate(words):
        for end in range(start + 1, min(start + LONGEST, len(words)) + 1):
            if first not in _SMALL and words[end - 1] not in _SMALL and (span := key(" ".join(words[start:end]))):
                yield span
