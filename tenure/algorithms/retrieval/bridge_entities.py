"""Bridges: names that passages bring up and a question lacks, with what is still to be asked about them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tenure.algorithms.text.entities import key
from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.sentences import STOP_WORDS, sentences, stems

_NAME = re.compile(r"\b[A-Z][\w'’-]+(?:\s+(?:(?:of|the|de|van|von|and)\s+)?[A-Z][\w'’-]+){0,3}")
_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")
MAX_NAME = 80
"""Characters of a name at the most."""
_SINGLE = 0.5
"""What a single capitalised word counts, which may only begin a sentence."""


class Bridge(NamedTuple):
    """A name that leads on."""

    name: str
    """The name as it stands in a passage."""
    query: str
    """The name with the words of the question that its sentence leaves open, with the question where it leaves none."""


class _Seen(NamedTuple):
    name: str
    weight: float
    covered: frozenset[str]


def bridges(question: str, passages: Sequence[Passage], made: Iterable[str] = ()) -> list[Bridge]:
    """Return names that passages have and the question has not, best first.

    A name counts by the share of the question's words in its sentence and in its document's title, the better
    the passage the more; a title counts by the whole passage. What its sentence says is answered, and what it does
    not say is left to be asked.

    Args:
        question: what is to be answered.
        passages: what was found, best first.
        made: queries made before, whose names lead nowhere new.
    """
    asked = frozenset(stems(question))
    known = asked | {stem for query in made for stem in stems(query)}
    best: dict[str, _Seen] = {}
    for rank, passage in enumerate(passages, 1):
        for name, covered in _named(asked, passage):
            weight = len(covered) / rank**0.5 * (1.0 if " " in name else _SINGLE)
            identity = key(name)
            if weight > best.get(identity, _Seen("", 0.0, frozenset())).weight and set(stems(name)) - known:
                best[identity] = _Seen(name, weight, covered)
    ordered = sorted(best.values(), key=lambda seen: (-seen.weight, seen.name))
    return [Bridge(seen.name, _query(question, seen)) for seen in ordered]


def _named(asked: frozenset[str], passage: Passage) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the names of a passage with the words of the question that are said along with them."""
    title = frozenset(stems(passage.title))
    if passage.title and len(passage.title) <= MAX_NAME:
        yield passage.title, asked & (title | set(stems(passage.text)))
    for sentence in sentences(passage.text):
        covered = asked & (title | set(stems(sentence.text)))
        for found in _NAME.finditer(sentence.text):
            name = _from_first_name(found.group())
            if name and len(name) <= MAX_NAME:
                yield name, covered


def _from_first_name(text: str) -> str:
    """Return a name without what only begins the sentence: "In the Bank" is "Bank"."""
    words = text.split()
    while words and words[0].lower() in STOP_WORDS:
        words = words[1:]
    return " ".join(words)


def _query(question: str, seen: _Seen) -> str:
    """Return a name with the words of a question that its sentence leaves open, with all where it leaves none."""
    closed = seen.covered | set(stems(seen.name))
    left = [word for word in _WORD.findall(question) if set(stems(word)) - closed]
    return " ".join([seen.name, *left]) if left else f"{seen.name}: {question}"
