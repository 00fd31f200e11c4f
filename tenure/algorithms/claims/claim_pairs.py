"""Pairs of statements of different sources that may disagree, and which of them plainly do (003, contradictions).

Comparing all statements with each other would grow with the square of their number. Only statements that share
several words few others have are compared, and of those the most alike are kept.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, Literal, NamedTuple

from tenure.algorithms.text.details import Figure, figures, names
from tenure.algorithms.text.excerpts import points_back, presentable
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.algorithms.text.polarity import denials, opposed
from tenure.algorithms.text.sentences import STOP_WORDS, fingerprint, sentences, stems

Severity = Literal["low", "medium", "high"]

SHARED: Final = 3
"""Words that two statements need to share before they are compared."""
COMMON: Final = 12
"""Statements that hold a word from which it says nothing about what a statement is about."""
LIKE: Final = 0.6
"""Likeness that a pair needs."""
MOST: Final = 24
"""Pairs at the most."""
PLAIN: Final = 0.75
"""Likeness from which two statements may be held against each other by their words alone."""
ODD_WORDS: Final = 2
"""Words beside the point of disagreement in which such statements may differ, on both sides together."""
CLOSE: Final = 0.1
"""Relative difference up to which two figures differ little."""
_NAMED_NUMBER = re.compile(r"\b(?:[A-Z][\w-]*|version)\s+v?\d[\d.]*\b|\bv\d[\d.]*\b|\b\d+(?:\.\d+){2,}\b")
"""A number that belongs to a name: Python 3.8, PEP 8, version 2, 3.11.2."""


class Pair(NamedTuple):
    """Two statements on one subject; each is a passage cut down to its words."""

    a: Passage
    b: Passage
    likeness: float


class Disagreeing(NamedTuple):
    """What two statements disagree in."""

    severity: Severity
    about: str


@dataclass(frozen=True)
class _Statement:
    passage: Passage
    content: frozenset[str]


def pairs(passages: Sequence[Passage], encode: Encoder, most: int = MOST) -> list[Pair]:
    """Return pairs of statements of different sources that speak of the same, the most alike first."""
    found = list(_statements(passages))
    near = _candidates(found, most)
    used = sorted({n for pair in near for n in pair})
    if not used:
        return []
    vectors = dict(zip(used, encode([found[n].passage.text for n in used]), strict=True))
    scored = [Pair(found[i].passage, found[j].passage, float(vectors[i] @ vectors[j])) for i, j in near]
    return sorted((pair for pair in scored if pair.likeness >= LIKE), key=lambda pair: -pair.likeness)[:most]


def _statements(passages: Sequence[Passage]) -> Iterator[_Statement]:
    seen: set[tuple[str, str]] = set()
    for passage in passages:
        for one in sentences(passage.text) if passage.kind == "prose" else ():
            mark = (passage.source, fingerprint(one.text))
            if mark in seen or not presentable(one) or points_back(one.text):
                continue
            seen.add(mark)
            start = passage.start + one.start
            cut = replace(passage, text=one.text, start=start, end=start + len(one.text))
            yield _Statement(cut, frozenset(stems(one.text)))


def _candidates(found: Sequence[_Statement], most: int) -> list[tuple[int, int]]:
    """Return the pairs that share the most telling words, by an index of words."""
    holders: dict[str, list[int]] = defaultdict(list)
    for n, statement in enumerate(found):
        for stem in statement.content:
            holders[stem].append(n)
    shared: Counter[tuple[int, int]] = Counter()
    weight: dict[tuple[int, int], float] = defaultdict(float)
    for stem in sorted(holders):
        if 2 <= len(holders[stem]) <= COMMON:
            for i, j in combinations(holders[stem], 2):
                if found[i].passage.source != found[j].passage.source:
                    shared[i, j] += 1
                    weight[i, j] += math.log(len(found) / len(holders[stem]) + 1)
    enough = [pair for pair, count in shared.items() if count >= SHARED]
    return sorted(enough, key=lambda pair: (-weight[pair], pair))[: 4 * most]


def disagreeing(a: str, b: str, likeness: float) -> Disagreeing | None:
    """Return what two statements plainly disagree in, by their words; None where that cannot be seen.

    They have to be nearly the same statement: the same names, and almost no word beside the point of difference.
    """
    if likeness < PLAIN or not _same_names(a, b):
        return None
    left, right = _bare(a), _bare(b)
    odd = left ^ right
    against = opposed(a, b)
    if against and len(odd - {stem for word in against for stem in stems(word)}) <= ODD_WORDS:
        return Disagreeing("high", f"“{against[0]}” against “{against[1]}”")
    if len(odd) > ODD_WORDS:
        return None
    if denials(a) % 2 != denials(b) % 2:
        return Disagreeing("high", "one says what the other denies")
    return _by_figures(_quantities(a), _quantities(b))


def _same_names(a: str, b: str) -> bool:
    mine, theirs = ({name.lower() for name in names(text)} | set(_NAMED_NUMBER.findall(text)) for text in (a, b))
    return mine == theirs


def _bare(text: str) -> set[str]:
    return {stem for stem in stems(text) if not stem.isdigit()}


def _quantities(text: str) -> Mapping[str, frozenset[Figure]]:
    """Return the numbers of a text by the word after them, without those that belong to a name."""
    found: dict[str, set[Figure]] = defaultdict(set)
    for match in re.finditer(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)\s*(%|[^\W\d_]+)?", _NAMED_NUMBER.sub(" ", text)):
        unit = match.group(2) or ""
        found[" ".join(stems(unit)) or unit].update(figures(match.group(1)))
    return {unit: frozenset(values) for unit, values in found.items()}


def _by_figures(a: Mapping[str, frozenset[Figure]], b: Mapping[str, frozenset[Figure]]) -> Disagreeing | None:
    """Compare the numbers of two statements that count the same things once each."""
    if a.keys() != b.keys() or STOP_WORDS.intersection(a):  # "2 to 3 hours", "4 of 5" are more than a number
        return None
    for unit in sorted(a):
        if len(a[unit]) == len(b[unit]) == 1 and a[unit] != b[unit]:
            (mine,), (theirs,) = a[unit], b[unit]
            high = max(abs(mine.value), abs(theirs.value))
            close = abs(mine.value - theirs.value) <= CLOSE * high and not _year(mine.value)
            return Disagreeing("low" if close else "medium", f"{mine.value:g} against {theirs.value:g}")
    return None


def _year(value: float) -> bool:
    return 1000 <= value <= 2100 and value == int(value)
