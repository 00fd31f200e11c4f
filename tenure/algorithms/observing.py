"""What a tool has found, told in short: each passage with its number, its title and its sentences on the subject.

A thought has to read many observations, so each is cut to what it is about; whole passages are for those who write.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tenure.algorithms.passages import Passage
from tenure.algorithms.question import shorten
from tenure.algorithms.text import Sentence, sentences, stems

LEAST = 160
"""Characters that a passage gets; where there is no room for so many of each, the last ones are left out."""
_TITLE = 80


class Numbered(NamedTuple):
    """A passage with the number that a model knows it by."""

    number: int
    """The number."""
    passage: Passage
    """The passage."""


def told(found: Sequence[Numbered], about: str, most: int) -> str:
    """Return passages in short, a paragraph for each, within so many characters.

    Args:
        found: the passages, best first.
        about: what they were looked for.
        most: characters at the most.
    """
    shown = found[: max(1, most // (LEAST + 1))]
    paragraphs: list[str] = []
    left = most
    for place, one in enumerate(shown):
        share = left // (len(shown) - place) - 1
        paragraphs.append(_paragraph(one, about, share))
        left -= len(paragraphs[-1]) + 1
    return "\n".join(paragraphs)[:most]


def _paragraph(one: Numbered, about: str, most: int) -> str:
    opening = f"[{one.number}] {shorten(one.passage.title, _TITLE)}: "
    return shorten(opening + _said(one.passage.text, about, most - len(opening)), most)


def _said(text: str, about: str, most: int) -> str:
    """Return the sentences of a text that share most words with a subject, in their order."""
    found = sentences(text)
    wanted = set(stems(about))
    kept: list[Sentence] = []
    for sentence in sorted(found, key=lambda one: (-len(wanted.intersection(stems(one.text))), one.start)):
        if sum(len(one.text) + 1 for one in kept) + len(sentence.text) <= most:
            kept.append(sentence)
    joined = " ".join(one.text for one in sorted(kept, key=lambda one: one.start))
    return joined or " ".join(text.split())
