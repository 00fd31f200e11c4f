"""The calculator: exact arithmetic with units, percentages and dates, from text that nobody has to trust.

An expression has a grammar of its own; nothing in it is ever code. It is read once, by descent, and computed while
it is read. How long it is, how deep it nests and how large its numbers grow is bounded, and each operation is
refused before it is done where it would be larger, so that every expression is over within milliseconds.
"""

from datetime import date
from decimal import Context, Decimal
from fractions import Fraction
from typing import Final, NamedTuple

from tenure.algorithms.calculator.functions import Value
from tenure.algorithms.calculator.parser import Reader
from tenure.algorithms.calculator.quantities import DIGITS, Quantity, Refused, in_units, named
from tenure.algorithms.calculator.tokens import tokens

LONGEST: Final = 1_000
"""Characters of an expression."""
_SHOWN_DIGITS: Final = 15
"""Digits of a number that has no exact value, or one too long to read."""
_READABLE: Final = 40
"""Digits of an exact number that are all shown."""
_FRACTION_DIGITS: Final = 9
"""Digits above and below the bar of a fraction that is shown as one."""


class Calculation(NamedTuple):
    """An expression and what it is worth."""

    expression: str
    """The expression, in one line."""
    result: str
    """Its value, with its unit."""
    exact: bool
    """Whether it is exact as it is written."""

    @property
    def text(self) -> str:
        """The calculation as one line."""
        return f"{self.expression} {'=' if self.exact else '≈'} {self.result}"


def calculate(expression: str) -> Calculation:
    """Return what an expression is worth, as people write it.

    Raises:
        Refused: it cannot be calculated; the message says why.
    """
    value = evaluate(expression)
    line = _line(expression)
    if isinstance(value, date):
        return Calculation(line, value.isoformat(), exact=True)
    return Calculation(line, *_written(value))


def evaluate(expression: str) -> Value:
    """Return what an expression is worth.

    Raises:
        Refused: it cannot be calculated; the message says why.
    """
    if len(expression) > LONGEST:
        raise Refused(f"an expression has at most {LONGEST:,} characters")
    return Reader(list(tokens(_line(expression)))).value()


def _line(expression: str) -> str:
    return " ".join(expression.split()).removesuffix("=").rstrip()


def _written(value: Quantity) -> tuple[str, bool]:
    """Return a quantity as people write it, and whether that is all of it."""
    number = in_units(value)
    text, exact = _digits(number) if value.exact else (_rounded(number), False)
    whole = " ".join(part for part in (text, named(value.shown)) if part)
    return whole, exact


def _digits(number: Fraction) -> tuple[str, bool]:
    """Return an exact number, shortened where it is too long to read."""
    above, below = number.numerator, number.denominator
    places = _places(below)
    if places is not None and len(str(abs(above))) + places <= _READABLE:
        return _pointed(above * 10**places // below, places), True
    if max(abs(above), below) < 10**_FRACTION_DIGITS:
        return f"{_rounded(number)} (exactly {above}/{below})", False
    return _rounded(number), False


def _pointed(number: int, places: int) -> str:
    """Return a whole number with a point before its last digits."""
    digits = str(abs(number)).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return f"-{text}" if number < 0 else text


def _places(denominator: int) -> int | None:
    """Return how many decimal places a fraction of some denominator has; None for endless ones."""
    twos = (denominator & -denominator).bit_length() - 1
    rest, fives = denominator >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 else None


def _rounded(number: Fraction) -> str:
    context = Context(prec=_SHOWN_DIGITS, Emax=10 * DIGITS, Emin=-10 * DIGITS)
    found = context.divide(Decimal(number.numerator), Decimal(number.denominator)).normalize(context)
    return f"{found:f}" if -7 < found.adjusted() < 21 else f"{found:E}".replace("E+", "e").replace("E", "e")
