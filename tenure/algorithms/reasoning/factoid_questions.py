"""Recognize questions that ask for a date, a number, a person or a place, and texts that state such a detail."""

import re

from tenure.algorithms.text.entities import extract_entity_spellings

_MAX_QUESTION_CHARACTERS = 2_000

# "When was it built?", "In which year …".
_WHEN = re.compile(r"\b(?:when|(?:which|what)\s+(?:year|date|day|month))\b", re.IGNORECASE)
# "How many", "How tall", "What is the population".
_HOW_MUCH = re.compile(
    r"\bhow\s+(?:many|much|long|old|often|large|big|fast|far|high|deep|tall)\b|"
    r"\bwhat\s+(?:is|was|are|were)\s+the\s+(?:number|share|percentage|size|cost|price|population)\b",
    re.IGNORECASE,
)
_WHO = re.compile(r"\b(?:who|whom|whose)\b", re.IGNORECASE)
# "12-Mar-1998", "3rd of March 1998", "March 1998", "1998".
_DATE = re.compile(
    r"\b\d{1,2}-(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)-(?:1[0-9]|20)\d\d\b|"
    r"\b(?:(?:\d{1,2}(?:st|nd|rd|th)?(?:\s+of)?\s+)?(?:January|February|March|April|May|June|July|August|September|October|"
    r"November|December)(?:\s+\d{1,2})?,?\s+)?(?:1[0-9]|20)\d\d\b"
)
_FIGURE = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:\s*%|\s+[^\W\d_]+)?")  # "12,000", "3.5 %", "40 litres".
_EXPLANATION = re.compile(r"\s*(?:how|why)\b", re.IGNORECASE)  # "How does it work", "Why".


def is_factoid_question(question: str) -> bool:
    """Return whether a question asks for a date, a number or a person."""
    return any(pattern.search(question[:_MAX_QUESTION_CHARACTERS]) for pattern in (_WHEN, _HOW_MUCH, _WHO))


def is_number_question(question: str) -> bool:
    """Return whether a question asks for a number or a date."""
    text = question[:_MAX_QUESTION_CHARACTERS]
    return not _is_explanation(text) and bool(_HOW_MUCH.search(text) or _WHEN.search(text))


def has_detail(question: str, text: str) -> bool:
    """Return whether a text has a date, a number or a name, as the question asks for it, that the question has not.

    A question that does not begin with "how" or "why" is taken to ask for a name.
    """
    start = question[:_MAX_QUESTION_CHARACTERS]
    if _is_explanation(start):
        return False
    if detail := _DATE if _WHEN.search(start) else _FIGURE if _HOW_MUCH.search(start) else None:
        return bool(detail.search(text))
    return bool(extract_entity_spellings(text).keys() - extract_entity_spellings(start).keys())


def _is_explanation(question: str) -> bool:
    """Return whether a question asks how or why: "How do I limit how often a message is sent?"."""
    return bool(_EXPLANATION.match(question)) and not _HOW_MUCH.match(question.lstrip())
