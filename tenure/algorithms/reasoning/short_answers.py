"""Answers in a few words: which date, figure or name of a text a question asks for.

Such an answer can be compared with what other texts say, so that sources can vote. A question that wants more than a
particular has no answer of this kind.
"""

import re
from collections.abc import Sequence
from typing import Final

from tenure.algorithms.reasoning.arguments import NOTHING, Argument, Statement, Step, nearness, statements, weakest
from tenure.algorithms.text.entities import written
from tenure.algorithms.text.passage import Encoder, Passage
from tenure.algorithms.text.sentences import stems

COVERED: Final = 0.6
"""Share of the question's words that a sentence and its document's title need to answer it."""
_LOOKED_AT = 2_000

_WHEN = re.compile(r"\b(?:when|(?:which|what)\s+(?:year|date|day|month))\b", re.IGNORECASE)
_HOW_MUCH = re.compile(
    r"\bhow\s+(?:many|much|long|old|often|large|big|fast|far|high|deep|tall)\b|"
    r"\bwhat\s+(?:is|was|are|were)\s+the\s+(?:number|share|percentage|size|cost|price|population)\b",
    re.IGNORECASE,
)
_WHO = re.compile(r"\b(?:who|whom|whose)\b", re.IGNORECASE)
_DATE = re.compile(
    r"\b(?:(?:\d{1,2}(?:st|nd|rd|th)?(?:\s+of)?\s+)?(?:January|February|March|April|May|June|July|August|September|October|"
    r"November|December)(?:\s+\d{1,2})?,?\s+)?(?:1[0-9]|20)\d\d\b"
)
_FIGURE = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:\s*%|\s+[^\W\d_]+)?")
_PERSON = re.compile(r"^[A-Z][^\W\d_]*[a-z][^\d]*$")


def wanted(question: str) -> bool:
    """Tell whether a question asks for a date, a figure or a person."""
    return any(pattern.search(question[:_LOOKED_AT]) for pattern in (_WHEN, _HOW_MUCH, _WHO))


def answered(question: str, passages: Sequence[Passage], encode: Encoder) -> Argument:
    """Return the statement nearest to a question that holds the particular it asks for."""
    asked = frozenset(stems(question))
    names = _names(question)
    said = [
        (one, answer)
        for one in statements(passages)
        if _about(one, passages[one.passage - 1].title, asked, names) and (answer := _particular(question, one.text))
    ]
    near, _ = nearness(question, [one.text for one, _ in said], encode)
    if not said:
        return NOTHING
    best = max(range(len(said)), key=lambda n: (near[n], -n))
    one, answer = said[best]
    return Argument((), Step("answer", one.text, one.passage), answer, weakest([near[best]]))


def _names(question: str) -> frozenset[str]:
    """Return the stems of names and numbers in a question; an answer has to be about them."""
    named = " ".join(written(question).values())
    return frozenset(stems(named)) | {stem for stem in stems(question) if stem.isdigit()}


def _about(one: Statement, title: str, asked: frozenset[str], names: frozenset[str]) -> bool:
    said = frozenset(stems(f"{title} {one.text}"))
    return names <= said and len(asked & said) >= COVERED * len(asked)


def _particular(question: str, text: str) -> str:
    """Return the particular of a text that a question asks for and does not hold itself."""
    asked = question[:_LOOKED_AT]
    if _WHEN.search(asked):
        found = [match.group() for match in _DATE.finditer(text)]
    elif _HOW_MUCH.search(asked):
        found = [match.group() for match in _FIGURE.finditer(text)]
    else:
        found = [name for name in written(text).values() if _WHO.search(asked) and _PERSON.match(name)]
    known = set(stems(asked))
    return next((" ".join(one.split()) for one in found if set(stems(one)) - known), "")
