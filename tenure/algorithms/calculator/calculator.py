"""Calculate untrusted expressions: exact arithmetic with units, percentages and dates.

Expressions have their own grammar and are never executed as code. A recursive-descent parser reads them once and
computes the value. Length, nesting and size of numbers are limited, and an operation whose result would be too large is
refused before it is computed, so that every expression takes milliseconds.
"""

from datetime import date
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from typing import Final, NamedTuple

from tenure.algorithms.calculator.functions import CalculatorValue
from tenure.algorithms.calculator.parser import ExpressionParser
from tenure.algorithms.calculator.quantities import (
    MAX_DIGITS,
    CalculationError,
    Quantity,
    convert_to_units,
    format_units,
)
from tenure.algorithms.calculator.tokens import tokenize

MAX_EXPRESSION_LENGTH: Final = 1_000  # 499 divisions, the most that fit, take 32 ms.
_MAX_ROUNDED_DIGITS: Final = 15  # Digits that a float shows without an error of its own: 1/3 is 0.333333333333333.
_MAX_EXACT_DIGITS: Final = 40
"""Maximum digits of an exact number that is shown completely."""
_MAX_FRACTION_DIGITS: Final = 9
"""Maximum digits of numerator and denominator of a number shown as a fraction."""


class Calculation(NamedTuple):
    """Expression with its result."""

    expression: str
    result: str
    """Value with its unit."""
    is_exact: bool
    """Whether the result is exact as written."""

    @property
    def text(self) -> str:
        """Expression and result as one line."""
        return f"{self.expression} {'=' if self.is_exact else '≈'} {self.result}"


def calculate(expression: str) -> Calculation:
    """Calculate an expression and format the result."""
    value = evaluate(expression)
    line = _normalize_line(expression)
    if isinstance(value, date):
        return Calculation(line, value.isoformat(), is_exact=True)
    return Calculation(line, *_format_quantity(value))


def evaluate(expression: str) -> CalculatorValue:
    """Return the value of an expression of at most 1,000 characters, with its units.

    Raises:
        CalculationError: it is too long, is not an expression, or has no value.
    """
    if len(expression) > MAX_EXPRESSION_LENGTH:
        raise CalculationError(f"an expression has at most {MAX_EXPRESSION_LENGTH:,} characters")
    return ExpressionParser(list(tokenize(_normalize_line(expression)))).parse()


def _normalize_line(expression: str) -> str:
    return " ".join(expression.split()).removesuffix("=").rstrip()


def _format_quantity(value: Quantity) -> tuple[str, bool]:
    """Return a quantity as text, and whether the text is exact."""
    number = convert_to_units(value)
    text, exact = _format_exact(number) if value.is_exact else (_format_rounded(number), False)
    return f"{text} {format_units(value.units)}".rstrip(), exact


def _format_exact(number: Fraction) -> tuple[str, bool]:
    """Return an exact number as text, rounded if it is too long, and whether the text is exact."""
    above, below = number.numerator, number.denominator
    context = _build_context(_MAX_EXACT_DIGITS)
    quotient = context.divide(Decimal(above), Decimal(below))
    if not context.flags[Inexact] and abs(quotient.adjusted()) < _MAX_EXACT_DIGITS:
        return f"{quotient:f}", True
    if max(abs(above), below) < 10**_MAX_FRACTION_DIGITS:
        return f"{_format_rounded(number)} (exactly {above}/{below})", False
    return _format_rounded(number), False


def _format_rounded(number: Fraction) -> str:
    context = _build_context(_MAX_ROUNDED_DIGITS)
    quotient = context.divide(Decimal(number.numerator), Decimal(number.denominator)).normalize(context)
    return f"{quotient:f}" if -7 < quotient.adjusted() < 21 else f"{quotient:E}".replace("E+", "e").replace("E", "e")


def _build_context(digits: int) -> Context:
    return Context(prec=digits, Emax=10 * MAX_DIGITS, Emin=-10 * MAX_DIGITS, traps=[])
