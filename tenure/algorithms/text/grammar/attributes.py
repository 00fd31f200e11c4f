"""Split a question for several attributes of one thing ("What are the size, the age and the cost of X?")."""

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


def _conjugate(noun: str, *, is_past: bool) -> str:
    """Return the form of "to be" that agrees with a noun."""
    if is_agreeing(noun, plural=True) and not is_agreeing(noun, plural=False):
        return "were" if is_past else "are"
    return "was" if is_past else "is"
