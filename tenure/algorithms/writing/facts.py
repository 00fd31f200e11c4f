"""Facts: statements of passages that can be told one by one, of the kind that is wanted, the nearest first.

The classical twin of extracting: sentences that need none before them, weighed by what they share with a question.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from tenure.algorithms.text.details import figures
from tenure.algorithms.text.entities import written
from tenure.algorithms.text.excerpts import points_back, presentable
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.algorithms.text.sentences import fingerprint, sentences, stems
from tenure.algorithms.text.term_lookup import defines
from tenure.contracts.research.tools import FactKind

NEAR: Final = 0.5
"""Share of the best statement's weight that another one needs."""
_WORDS: Final = 0.5
"""Weight of shared words against likeness."""
_DATE: Final = re.compile(
    r"\b(?:1[0-9]|20)\d{2}(?:s\b|-\d{2}(?:-\d{2})?)?|\b\d{1,2}(?:st|nd|rd|th)? century\b|\b(?:January|February|March|"
    r"April|June|July|August|September|October|November|December)\b|\bMay \d",
)
_YEAR: Final = re.compile(r"(?<![\d.,$€£])\b(?:1[0-9]|20)\d{2}\b(?![.,]?\d|\s*(?:%|[a-z]{1,3}\b))")


class Fact(NamedTuple):
    """A statement of a passage."""

    passage: int
    """Position of the passage, from 1."""
    text: str
    """The statement, to the letter."""


def _has_figure(sentence: str) -> bool:
    """Tell whether a sentence has a quantity: a number that is no year."""
    return bool(figures(_DATE.sub(" ", _YEAR.sub(" ", sentence))))


_KINDS: Final[Mapping[FactKind, Callable[[str], bool]]] = {
    "any": lambda sentence: True,
    "figures": _has_figure,
    "dates": lambda sentence: bool(_DATE.search(sentence)),
    "names": lambda sentence: bool(written(sentence)),
    "definitions": defines,
}


def facts(question: str, kind: FactKind, passages: Sequence[Passage], encode: Encoder, most: int) -> list[Fact]:
    """Return statements of one kind on a question, the nearest first.

    Args:
        question: what they are to be about.
        kind: which statements.
        passages: where they may stand.
        encode: sentence encoder.
        most: statements at the most.
    """
    found = _statements(kind, passages)
    if not found:
        return []
    asked = set(stems(question))
    near = encode([fact.text for fact in found]) @ encode([question])[0]
    shared = [len(asked.intersection(stems(fact.text))) / max(len(asked), 1) for fact in found]
    weights = [float(one) + _WORDS * words for one, words in zip(near, shared, strict=True)]
    order = sorted(range(len(found)), key=lambda n: -weights[n])
    return [found[n] for n in order if weights[n] >= NEAR * weights[order[0]]][:most]


def _statements(kind: FactKind, passages: Sequence[Passage]) -> list[Fact]:
    """Return the statements of one kind that stand alone, each once."""
    wanted = _KINDS[kind]
    found: dict[str, Fact] = {}
    for number, passage in enumerate(passages, 1):
        for one in sentences(passage.text) if passage.kind == "prose" else ():
            if presentable(one) and not points_back(one.text) and wanted(one.text):
                found.setdefault(fingerprint(one.text), Fact(number, one.text))
    return list(found.values())
