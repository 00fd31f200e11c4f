"""What an expression of the calculator is made of: numbers, dates, names and marks, and nothing else."""

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from tenure.algorithms.calculator.quantities import Refused

TokenKind = Literal["number", "date", "name", "mark", "end"]
"""What a token is."""


class Token(NamedTuple):
    """A piece of an expression."""

    kind: TokenKind
    """What it is."""
    text: str
    """How it is written; empty at the end."""


_TOKEN: Final = re.compile(
    r"\s*(?:(?P<date>\d{4}-\d{2}-\d{2}(?!\d))"
    r"|(?P<number>\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|(?:\d[\d_]*(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+(?!\w))?)"
    r"|(?P<name>[$€£¥₹Ω]|°?[^\W\d_]\w*)"
    r"|(?P<mark>\*\*|//|[-+*/^()!%,]))"
)
_SAME: Final = str.maketrans({"×": "*", "·": "*", "⋅": "*", "÷": "/", "−": "-", "–": "-", "→": " to ", "μ": "µ"})
_RAISED: Final = (("²", "^2"), ("³", "^3"))


def tokens(line: str) -> Iterator[Token]:
    """Yield the tokens of a line.

    Raises:
        Refused: it has a character that no expression has, or a comma that can mean two things.
    """
    text = line.translate(_SAME)
    for raised, plain in _RAISED:
        text = text.replace(raised, plain)
    place, before, calls = 0, Token("end", ""), list[bool]()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise Refused(f"{text[place:].lstrip()[0]!r} has no meaning in an expression")
        kind = match.lastgroup or "end"
        token = Token(_kind(kind), match[kind])
        if token.text == "(":
            calls.append(before.kind == "name")
        elif token.text == ")" and calls:
            calls.pop()
        elif "," in token.text and token.kind == "number" and any(calls):
            bare = token.text.replace(",", "")
            raise Refused(f"{token.text} can be one number or several: write {bare}, or a blank after each comma")
        yield token
        place, before = match.end(), token
    yield Token("end", "")


def _kind(group: str) -> TokenKind:
    kinds: dict[str, TokenKind] = {"number": "number", "date": "date", "name": "name", "mark": "mark"}
    return kinds[group]
