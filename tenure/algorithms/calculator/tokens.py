"""Split calculator expressions into tokens: numbers, dates, names and marks."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tenure.algorithms.calculator.quantities import CalculationError


class Token(NamedTuple):
    """Token of an expression."""

    kind: str
    """`number`, `date`, `name`, `mark` or `end`."""
    text: str
    """Text as written; empty for the `end` token."""


# "2024-03-01", "12,000.5", "1_000", "1e-3", "€", "°C", "m2", "//".
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<date>\d{4}-\d{2}-\d{2}(?!\d))"
    r"|(?P<number>\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|(?:\d[\d_]*(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+(?!\w))?)"
    r"|(?P<name>[$€£¥₹Ω]|°?[^\W\d_]\w*)"
    r"|(?P<mark>\*\*|//|[-+*/^()!%,]))"
)
_EQUIVALENT_CHARACTERS: Final = str.maketrans(
    {"×": "*", "·": "*", "⋅": "*", "÷": "/", "−": "-", "–": "-", "→": " to ", "μ": "µ", "²": "^2", "³": "^3"}
)


def tokenize(line: str) -> Iterator[Token]:
    """Yield the tokens of a line, the last one of kind `end`."""
    text = line.translate(_EQUIVALENT_CHARACTERS)
    position, before, calls = 0, Token("end", ""), list[bool]()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise CalculationError(f"{text[position:].lstrip()[0]!r} is not allowed in an expression")
        kind = match.lastgroup or "end"
        token = Token(kind, match[kind])
        if token.text == "(":
            calls.append(before.kind == "name")
        elif token.text == ")" and calls:
            calls.pop()
        elif "," in token.text and token.kind == "number" and any(calls):
            bare = token.text.replace(",", "")
            raise CalculationError(f"{token.text} is ambiguous: write {bare}, or a space after each comma")
        yield token
        position, before = match.end(), token
    yield Token("end", "")
