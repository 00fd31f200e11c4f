"""Split a question for several attributes ("What are the size and the age of X?") or cases ("… in X and in Y?")."""

import re
from typing import Final

from tenure.algorithms.text.grammar.masking import mask_text
from tenure.algorithms.text.grammar.noun_phrases import is_agreeing

MAX_ATTRIBUTES: Final = 6
"""Maximum attributes that are asked for separately."""

_NOUN = r"the\s+[a-z][\w-]*(?:\s+[a-z][\w-]*)?"
_ATTRIBUTES = re.compile(
    rf"^(?:what|which)\s+(?P<verb>is|are|was|were)\s+(?P<items>{_NOUN}(?:\s*,\s*{_NOUN})*,?\s+and\s+{_NOUN})\s+(?P<rest>(?:of|for|in)\s[^,;?]+)\?*$",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+")
_CASE = r"(?:(?!\b(?:and|or|who|which|that|to)\b)[^,;:?])+?"
_CASES = re.compile(
    r"^(?P<stem>(?:(?:what|how|why|when|where)\s+(?:is|are|was|were|do|does|did|has|have|can|should|changed|happened)"
    r"|explain|describe|summari[sz]e)\b[^,;:?]*?\s)"
    rf"(?P<cases>(?P<word>for|in|of|from|by|on|with|at|about|under)\s+{_CASE}"
    rf"(?:\s*,\s*(?P=word)\s+{_CASE})*,?\s+and\s+(?P=word)\s+{_CASE})[?.]*$",
    re.IGNORECASE,
)
"""Pattern of cases that each repeat their preposition; one after "which" or "who" may ask for what they share."""
_RELATED = re.compile(
    r"\b(?:both|differ\w*|compar\w*|contrast|common|same|similar\w*|relat\w*|than|total|sum)\b", re.IGNORECASE
)
"""Pattern of words that relate the cases of a question to each other."""


def split_attributes(question: str) -> tuple[str, ...]:
    """Split a question whose attributes each have an article; any other question is returned whole."""
    match = _ATTRIBUTES.match(mask_text(question))
    if match is None:
        return (question,)
    items = _SEPARATOR.split(question[slice(*match.span("items"))])
    rest = question[slice(*match.span("rest"))]
    if len(items) > MAX_ATTRIBUTES:
        return (question,)
    is_past = match["verb"].lower() in ("was", "were")
    return tuple(f"What {_conjugate(item, is_past=is_past)} {item} {rest}?" for item in items)


def split_cases(question: str) -> tuple[str, ...]:
    """Split a question on several cases that each repeat a preposition; any other question is returned whole."""
    masked = mask_text(question)
    match = None if _RELATED.search(masked) else _CASES.match(masked)
    if match is None:
        return (question,)
    stem = question[slice(*match.span("stem"))]
    cases = _SEPARATOR.split(question[slice(*match.span("cases"))])
    end = "." if question.rstrip().endswith(".") else "?"
    return tuple(f"{stem}{case.strip()}{end}" for case in cases) if len(cases) <= MAX_ATTRIBUTES else (question,)


def _conjugate(noun: str, *, is_past: bool) -> str:
    """Return the form of "to be" that agrees with a noun."""
    if is_agreeing(noun, plural=True) and not is_agreeing(noun, plural=False):
        return "were" if is_past else "are"
    return "was" if is_past else "is"
