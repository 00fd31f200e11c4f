"""Quantities: exact numbers with units, whose size is known before they are computed.

Numbers are fractions. Whatever would have more digits than a number may have is refused by an estimate of its size,
so that no operation takes longer than the largest allowed one. What has no exact value, such as a square root of 2,
is computed to fifty digits and marked as not exact.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, Overflow
from fractions import Fraction
from functools import reduce
from math import isqrt, log2
from typing import Final

from tenure.algorithms.calculator.units import Dimension, base_units, dimension, unit

DIGITS: Final = 2_000
"""Digits that a number may have, above and below the fraction bar."""
PRECISION: Final = 50
"""Digits of a number that has no exact value."""
_BITS: Final = int(DIGITS * log2(10))
_CONTEXT: Final = Context(prec=PRECISION + 10, rounding=ROUND_HALF_EVEN, Emax=10 * DIGITS, Emin=-10 * DIGITS)
_TOO_LARGE: Final = f"a number in it would have more than {DIGITS:,} digits"
_HIGHEST_POWER: Final = 12
"""Power of a unit from which nothing is measured in it."""
_SCALES: Final = {"degC": "K", "degF": "K"}
"""What differences on scales with a zero of their own are measured in."""

Shown = tuple[tuple[str, int], ...]
"""Units in which a quantity is written: symbols with their powers."""


class Refused(ValueError):
    """What cannot be calculated, and why, in words for who wrote it."""


@dataclass(frozen=True)
class Quantity:
    """A number with a unit."""

    value: Fraction
    """How many base units it is."""
    shown: Shown = ()
    """The units it is written in."""
    exact: bool = True
    """Whether the value is exact."""

    @property
    def dimension(self) -> Dimension:
        """What it is measured in."""
        return dimension((base, power * times) for symbol, times in self.shown for base, power in _unit(symbol))


def _unit(symbol: str) -> Dimension:
    found = unit(symbol)
    assert found  # symbols come from units that were found
    return found.dimension


def measured(number: Fraction, shown: Shown) -> Quantity:
    """Return so many of a product of units.

    Raises:
        Refused: it is too large.
    """
    size, zero = _size(shown)
    scaled = times(Quantity(number), Quantity(size))
    return Quantity(plus(scaled, Quantity(zero)).value, shown)


def in_units(one: Quantity) -> Fraction:
    """Return how many of the units it is written in a quantity is."""
    size, zero = _size(one.shown)
    return (one.value - zero) / size


def _size(shown: Shown) -> tuple[Fraction, Fraction]:
    """Return how many base units a product of units is, and where its zero is."""
    found = [(known, power) for symbol, power in shown if (known := unit(symbol))]
    size = reduce(lambda product, one: product * one[0].factor ** one[1], found, Fraction(1))
    return size, found[0][0].zero if len(found) == 1 else Fraction(0)


def named(shown: Shown) -> str:
    """Return units as they are written."""
    above = [_powered(symbol, times) for symbol, times in shown if times > 0]
    below = [_powered(symbol, -times if above else times) for symbol, times in shown if times < 0]
    return "/".join([" ".join(above), *below]) if above else " ".join(below)


def _powered(symbol: str, times: int) -> str:
    return symbol if times == 1 else f"{symbol}^{times}"


def bounded(numerator: int, denominator: int = 1) -> None:
    """Refuse a number by the bits that it would have above and below the bar.

    Raises:
        Refused: it would have more digits than a number may have.
    """
    if max(numerator, denominator) > _BITS:
        raise Refused(_TOO_LARGE)


def _bits(number: Fraction) -> tuple[int, int]:
    return number.numerator.bit_length(), number.denominator.bit_length()


def plus(a: Quantity, b: Quantity, sign: int = 1) -> Quantity:
    """Return a sum, or a difference where the sign is −1.

    Raises:
        Refused: they are not of one kind, or the result is too large.
    """
    if a.dimension != b.dimension:
        raise Refused(f"{_kind(a)} and {_kind(b)} cannot be added, subtracted or compared")
    (above_a, below_a), (above_b, below_b) = _bits(a.value), _bits(b.value)
    bounded(max(above_a + below_b, above_b + below_a) + 1, below_a + below_b)
    shown = combined(a.shown) if a.dimension else a.shown if a.shown == b.shown else ()
    return Quantity(a.value + sign * b.value, shown, a.exact and b.exact)


def _kind(one: Quantity) -> str:
    return f"a quantity in {named(one.shown)}" if one.dimension else "a plain number"


def times(a: Quantity, b: Quantity) -> Quantity:
    """Return a product.

    Raises:
        Refused: it is too large.
    """
    (above_a, below_a), (above_b, below_b) = _bits(a.value), _bits(b.value)
    bounded(above_a + above_b, below_a + below_b)
    return Quantity(a.value * b.value, _product(a.shown, b.shown), a.exact and b.exact)


def over(a: Quantity, b: Quantity) -> Quantity:
    """Return a quotient.

    Raises:
        Refused: it is too large, or something is divided by zero.
    """
    if not b.value:
        raise Refused("it divides by zero")
    inverse = tuple((symbol, -power) for symbol, power in b.shown)
    return times(a, Quantity(1 / b.value, inverse, b.exact))


def _product(a: Shown, b: Shown) -> Shown:
    """Return the units of a product, written as simply as they can be."""
    left = combined((*a, *b))
    whole = Quantity(Fraction(1), left).dimension
    if len(left) <= len(whole):
        return left
    return next((((symbol, 1),) for symbol, _ in left if _unit(symbol) == whole), base_units(whole))


def combined(powers: Iterable[tuple[str, int]]) -> Shown:
    """Return the units of a product or power, each once, without percent and without a zero of its own.

    Raises:
        Refused: a power of one is too high.
    """
    summed: dict[str, int] = {}
    for symbol, times in powers:
        name = _SCALES.get(symbol, symbol)
        summed[name] = summed.get(name, 0) + times
    if any(abs(times) > _HIGHEST_POWER for times in summed.values()):
        raise Refused(f"a unit in it would have a power above {_HIGHEST_POWER}")
    return tuple((symbol, times) for symbol, times in summed.items() if times and symbol != "%")


def power(base: Quantity, exponent: Quantity) -> Quantity:
    """Return a power.

    Raises:
        Refused: it is too large, has no real value, or its units have none.
    """
    if exponent.dimension:
        raise Refused(f"an exponent is a plain number, not {_kind(exponent)}")
    if exponent.value.denominator == 1:
        return _whole_power(base, exponent.value.numerator, exponent.exact)
    if base.value < 0:
        raise Refused("a power of a negative number with a broken exponent has no real value")
    rooted = root(base, exponent.value.denominator) if exponent.value.denominator <= 64 else None
    if rooted and rooted.exact and exponent.exact:
        return _whole_power(rooted, exponent.value.numerator, exact=True)
    if base.dimension:
        raise Refused(f"{_kind(base)} has no such power")
    if not base.value:
        return _inverted_zero() if exponent.value < 0 else Quantity(Fraction(0))
    return computed(lambda c: c.exp(c.multiply(decimal(exponent.value), c.ln(decimal(base.value)))))


def _inverted_zero() -> Quantity:
    raise Refused("it divides by zero")


def _whole_power(base: Quantity, exponent: int, exact: bool) -> Quantity:
    if exponent < 0 and not base.value:
        return _inverted_zero()
    shown = combined((symbol, p * exponent) for symbol, p in base.shown)
    above, below = _bits(base.value)
    if base.value not in (-1, 0, 1):
        # A number of n bits is at least 2^(n-1), and so its power has at least this many.
        bounded((above - 1) * abs(exponent), (below - 1) * abs(exponent))
    raised = base.value**exponent
    bounded(*_bits(raised))
    return Quantity(raised, shown, base.exact and exact)


def root(of: Quantity, degree: int) -> Quantity:
    """Return a root; exact where it is a fraction.

    Raises:
        Refused: it has no real value, or its unit has none.
    """
    if not 1 <= degree <= 64:
        raise Refused("the degree of a root is a whole number from 1 to 64")
    if of.value < 0:
        raise Refused("a root of a negative number has no real value")
    shown = _rooted(of, degree)
    above, below = (_whole_root(n, degree) for n in (of.value.numerator, of.value.denominator))
    if above is not None and below is not None:
        return Quantity(Fraction(above, below), shown, of.exact)
    found = computed(lambda c: c.power(decimal(of.value), c.divide(Decimal(1), Decimal(degree))))
    return Quantity(found.value, shown, exact=False)


def _rooted(of: Quantity, degree: int) -> Shown:
    """Return the units of a root.

    Raises:
        Refused: they are no whole powers of units.
    """
    for shown in (of.shown, base_units(of.dimension)):
        if all(power % degree == 0 for _, power in shown):
            return tuple((symbol, power // degree) for symbol, power in shown)
    raise Refused(f"{_kind(of)} has no such root")


def _whole_root(number: int, degree: int) -> int | None:
    """Return the root of a whole number where that is one."""
    if degree == 2:
        found = isqrt(number)
        return found if found * found == number else None
    low, high = 0, 1 << (number.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**degree <= number else (low, middle - 1)
    return low if low**degree == number else None


def decimal(number: Fraction) -> Decimal:
    """Return a fraction to the digits that are computed with."""
    return _CONTEXT.divide(Decimal(number.numerator), Decimal(number.denominator))


def computed(how: Callable[[Context], Decimal]) -> Quantity:
    """Return what has no exact value, as a plain number.

    Raises:
        Refused: it is too large.
    """
    try:
        found = how(_CONTEXT.copy())
    except Overflow as error:
        raise Refused(_TOO_LARGE) from error
    if abs(found.adjusted()) + PRECISION > DIGITS:
        raise Refused(_TOO_LARGE)
    return Quantity(Fraction(found), (), exact=False)
