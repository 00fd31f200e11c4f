"""Particulars: the numbers, dates and names of a statement, and which of them another text does not have.

A statement may leave things out; what it states exactly has to stand in its source. "The 1970s" is borne out by
1975 and 12 by "twelve"; a capital letter at the beginning of a sentence makes no name.
"""

import calendar
import math
import re
from collections.abc import Iterable
from typing import NamedTuple

from tenure.algorithms.text.sentences import STOP_WORDS, fingerprint, foreign, stems, words

_FIGURE = re.compile(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(s\b|['’]s\b)?")
_ISO_MONTH = re.compile(r"\b\d{4}-(0[1-9]|1[0-2])\b")
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>()\"”]*[\w/]", re.IGNORECASE)
_QUOTED = re.compile(r"[“„\"«]([^“”„\"«»]+)[”“\"»]")
_LEAST_QUOTED = 2
"""Blanks between words in quotation marks from which they are a quotation."""
_FRACTION = re.compile(r"\d+,\d{1,2}")
_SCALES = (1.0, 1e3, 1e6, 1e9)
"""Units a number may be told in: 1.5 km are 1,500 m, and 2 million are 2,000,000."""
_DOTTED = re.compile(r"\d+(?:\.\d+){2,}")
_WRITTEN = {
    word: float(value)
    for value, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen twenty""".split()
    )
} | {
    **{word: 10.0 * tens for tens, word in enumerate("thirty forty fifty sixty seventy eighty ninety".split(), 3)},
    **{"hundred": 100.0, "thousand": 1000.0, "million": 1e6, "billion": 1e9, "dozen": 12.0, "twice": 2.0},
    **{
        word: float(value)
        for value, word in enumerate("third fourth fifth sixth seventh eighth ninth tenth".split(), 3)
    },
}
_LOOSE = frozenset(("one", "hundred", "thousand", "million", "billion"))
"""Number words that need not be meant as one."""
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)(?<!^[\"“‘(])\b[A-Z][\w'’-]+")
_MONTHS = frozenset(name.lower() for name in calendar.month_name if name and name != "May")


class Figure(NamedTuple):
    """A number of a text."""

    value: float
    """Its value."""
    decade: bool = False
    """Whether it stands for ten years, as "the 1970s" does."""


def figures(text: str, *, written: bool = True) -> frozenset[Figure]:
    """Return the numbers of a text, those written as words included unless told otherwise."""
    found = {_figure(match) for match in _FIGURE.finditer(_DOTTED.sub(" ", text))}
    if written:
        found |= {Figure(_WRITTEN[word]) for word in words(text) if word in _WRITTEN and word not in _LOOSE}
    return frozenset(found)


def _figure(match: re.Match[str]) -> Figure:
    digits = match.group(1)
    # Two digits after a comma are a fraction, as most of Europe writes it; three are thousands.
    value = float(digits.replace(",", ".") if _FRACTION.fullmatch(digits) else digits.replace(",", ""))
    return Figure(value, bool(match.group(2)) and value >= 1000 and value % 10 == 0)


def unfound(text: str, source: str) -> frozenset[Figure]:
    """Return the numbers of a text that its source does not have."""
    there = figures(source) | {Figure(value) for word, value in _WRITTEN.items() if word in words(source)}
    return frozenset(figure for figure in figures(text) if not any(_meets(figure, other) for other in there))


def _meets(a: Figure, b: Figure) -> bool:
    if a.decade and not b.decade:
        return a.value <= b.value < a.value + 10
    if b.decade and b.value <= a.value < b.value + 10:
        return True
    return any(math.isclose(a.value * scale, b.value) or math.isclose(a.value, b.value * scale) for scale in _SCALES)


def names(text: str) -> tuple[str, ...]:
    """Return the capitalised words of a text that do not only begin a sentence."""
    found = (match.group() for match in _NAME.finditer(text))
    return tuple(dict.fromkeys(name for name in found if name.lower() not in STOP_WORDS))


def unnamed(text: str, source: str) -> tuple[str, ...]:
    """Return the names of a text that its source does not mention, in whatever case it writes them.

    In a language other than English a capital letter may mean nothing, and names may be spelt in another way.
    """
    if foreign(text):
        return ()
    said = set(stems(source)) | set(words(source))
    return tuple(name for name in names(text) if not said & {name.lower(), *stems(name), *_parts(name)})


def _parts(name: str) -> Iterable[str]:
    """Return what a name consists of where marks join it: "Constantinople's", "Anglo-Saxon"."""
    return (part.lower() for part in re.split(r"['’-]", name) if len(part) > 1)


def unsourced(claim: str, source: str) -> tuple[str, ...]:
    """Return what a claim states exactly and its source does not have: numbers, dates, names, addresses, quotations."""
    lost = sorted(f"{figure.value:g}" for figure in unfound(claim, source))
    dotted = [version for version in dict.fromkeys(_DOTTED.findall(claim)) if version not in source]
    said = {*words(source), *(calendar.month_name[int(n)].lower() for n in _ISO_MONTH.findall(source))}
    months = [word for word in dict.fromkeys(words(claim)) if word in _MONTHS and not {word, word[:3]} & said]
    named = [name for name in unnamed(claim, source) if name.lower() not in _MONTHS]
    addresses = [address for address in dict.fromkeys(_ADDRESS.findall(claim)) if address not in source]
    return (*lost, *dotted, *(month.capitalize() for month in months), *named, *addresses, *_misquoted(claim, source))


def _misquoted(claim: str, source: str) -> list[str]:
    """Return what stands in quotation marks in a claim and not in its source; a word or two may only be a term."""
    there = f" {fingerprint(source)} "
    quoted = (match.group(1) for match in _QUOTED.finditer(claim))
    return [text for text in quoted if text.count(" ") >= _LEAST_QUOTED and f" {fingerprint(text)} " not in there]
