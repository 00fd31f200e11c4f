"""Exact quantities with units and dimensional analysis, with a limit on the size of numbers.

Numbers are fractions. The size of a result is estimated before each operation, and a result with too many digits is
refused, so that the time of every operation is bounded. Irrational results, such as the square root of 2, are computed
to 50 digits and marked as inexact. Every function raises `CalculationError` for what cannot be calculated.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, Overflow
from fractions import Fraction
from math import log2, prod
from typing import Final

from tenure.algorithms.calculator.units import Dimension, compute_dimension, find_unit, list_base_units

MAX_DIGITS: Final = 2_000
"""Maximum digits of numerator and denominator."""
PRECISION: Final = 50
"""Digits of inexact numbers."""
_MAX_BITS: Final = int(MAX_DIGITS * log2(10))
_CONTEXT: Final = Context(prec=PRECISION + 10, rounding=ROUND_HALF_EVEN, Emax=10 * MAX_DIGITS, Emin=-10 * MAX_DIGITS)
_TOO_LARGE: Final = f"a number in it would have more than {MAX_DIGITS:,} digits"
_MAX_UNIT_POWER: Final = 12  # m^12 is the dimension of a product of four volumes.
_DIFFERENCE_UNITS: Final = {"degC": "K", "degF": "K"}
"""Units of temperature differences, by temperature scale."""

UnitPowers = tuple[tuple[str, int], ...]
"""Product of units: symbols with their powers."""


class CalculationError(ValueError):
    """Expression that cannot be calculated; the message is for its author."""


@dataclass(frozen=True)
class Quantity:
    """Number with a unit."""

    value: Fraction
    """Value in base units."""
    units: UnitPowers = ()
    """Units in which it is written."""
    is_exact: bool = True

    @property
    def dimension(self) -> Dimension:
        """Dimension, as powers of base units."""
        return compute_dimension(
            (base, power * times) for symbol, times in self.units for base, power in _get_dimension(symbol)
        )


def _get_dimension(symbol: str) -> Dimension:
    unit = find_unit(symbol)
    assert unit  # symbols come from units that were found
    return unit.dimension


def build_quantity(number: Fraction, units: UnitPowers) -> Quantity:
    """Return a number of units as a quantity in base units: 20 degrees Celsius are 293.15 K."""
    size, zero = _compute_scale(units)
    scaled = multiply(Quantity(number), Quantity(size))
    return Quantity(add(scaled, Quantity(zero)).value, units)


def convert_to_units(quantity: Quantity) -> Fraction:
    """Return the number of a quantity in its own units."""
    size, zero = _compute_scale(quantity.units)
    return (quantity.value - zero) / size


def _compute_scale(units: UnitPowers) -> tuple[Fraction, Fraction]:
    """Return the factor to base units and the offset of a product of units."""
    factors = [(unit, power) for symbol, power in units if (unit := find_unit(symbol))]
    size = prod((unit.factor**power for unit, power in factors), start=Fraction(1))
    return size, factors[0][0].offset if len(factors) == 1 else Fraction(0)


def format_units(units: UnitPowers) -> str:
    """Return units as text."""
    above = [_format_power(symbol, times) for symbol, times in units if times > 0]
    below = [_format_power(symbol, -times if above else times) for symbol, times in units if times < 0]
    return "/".join([" ".join(above), *below]) if above else " ".join(below)


def _format_power(symbol: str, times: int) -> str:
    return symbol if times == 1 else f"{symbol}^{times}"


def check_size(numerator: int, denominator: int = 1) -> None:
    """Refuse a number by the bits of its numerator and denominator."""
    if max(numerator, denominator) > _MAX_BITS:
        raise CalculationError(_TOO_LARGE)


def _count_bits(number: Fraction) -> tuple[int, int]:
    return number.numerator.bit_length(), number.denominator.bit_length()


def add(a: Quantity, b: Quantity, sign: int = 1) -> Quantity:
    """Return a + sign·b; a CalculationError if their dimensions differ or the result is too large."""
    if a.dimension != b.dimension:
        raise CalculationError(f"{_describe_kind(a)} and {_describe_kind(b)} cannot be added, subtracted or compared")
    (above_a, below_a), (above_b, below_b) = _count_bits(a.value), _count_bits(b.value)
    check_size(max(above_a + below_b, above_b + below_a) + 1, below_a + below_b)
    units = combine_units(a.units) if a.dimension else a.units if a.units == b.units else ()
    return Quantity(a.value + sign * b.value, units, a.is_exact and b.is_exact)


def _describe_kind(quantity: Quantity) -> str:
    return f"a quantity in {format_units(quantity.units)}" if quantity.dimension else "a plain number"


def multiply(a: Quantity, b: Quantity) -> Quantity:
    """Return the product."""
    (above_a, below_a), (above_b, below_b) = _count_bits(a.value), _count_bits(b.value)
    check_size(above_a + above_b, below_a + below_b)
    return Quantity(a.value * b.value, _simplify_units(a.units, b.units), a.is_exact and b.is_exact)


def divide(a: Quantity, b: Quantity) -> Quantity:
    """Return the quotient."""
    if not b.value:
        raise CalculationError("it divides by zero")
    inverse = tuple((symbol, -power) for symbol, power in b.units)
    return multiply(a, Quantity(1 / b.value, inverse, b.is_exact))


def _simplify_units(a: UnitPowers, b: UnitPowers) -> UnitPowers:
    """Return the units of a product in their simplest form."""
    units = combine_units((*a, *b))
    dimension = Quantity(Fraction(1), units).dimension
    if len(units) <= len(dimension):
        return units
    return next(
        (((symbol, 1),) for symbol, _ in units if _get_dimension(symbol) == dimension), list_base_units(dimension)
    )


def combine_units(powers: Iterable[tuple[str, int]]) -> UnitPowers:
    """Return the sum of unit powers, without percent and with temperature scales replaced by kelvin."""
    summed: dict[str, int] = {}
    for symbol, times in powers:
        name = _DIFFERENCE_UNITS.get(symbol, symbol)
        summed[name] = summed.get(name, 0) + times
    if any(abs(times) > _MAX_UNIT_POWER for times in summed.values()):
        raise CalculationError(f"a unit in it would have a power above {_MAX_UNIT_POWER}")
    return tuple((symbol, times) for symbol, times in summed.items() if times and symbol != "%")


def raise_to_power(base: Quantity, exponent: Quantity) -> Quantity:
    """Return a power; it is exact if the exponent is an exact integer or the root is rational."""
    if exponent.dimension:
        raise CalculationError(f"an exponent must be a plain number, not {_describe_kind(exponent)}")
    if exponent.value.denominator == 1:
        return _raise_to_integer(base, exponent.value.numerator, exponent.is_exact)
    if base.value < 0:
        raise CalculationError("a power of a negative number with a fractional exponent has no real value")
    rooted = extract_root(base, exponent.value.denominator) if exponent.value.denominator <= 64 else None
    if rooted and rooted.is_exact and exponent.is_exact:
        return _raise_to_integer(rooted, exponent.value.numerator, exact=True)
    if base.dimension:
        raise CalculationError(f"{_describe_kind(base)} has no such power")
    if not base.value and exponent.value < 0:
        raise CalculationError("it divides by zero")
    if not base.value:
        return Quantity(Fraction(0))
    return compute_inexact(
        lambda c: c.exp(c.multiply(convert_to_decimal(exponent.value), c.ln(convert_to_decimal(base.value))))
    )


def _raise_to_integer(base: Quantity, exponent: int, exact: bool) -> Quantity:
    if exponent < 0 and not base.value:
        raise CalculationError("it divides by zero")
    units = combine_units((symbol, p * exponent) for symbol, p in base.units)
    above, below = _count_bits(base.value)
    if base.value not in (-1, 0, 1):
        # A number of n bits is at least 2^(n-1), so its power has at least this many bits.
        check_size((above - 1) * abs(exponent), (below - 1) * abs(exponent))
    raised = base.value**exponent
    check_size(*_count_bits(raised))
    return Quantity(raised, units, base.is_exact and exact)


def extract_root(base: Quantity, degree: int) -> Quantity:
    """Return a root; exact if it is rational."""
    if not 1 <= degree <= 64:
        raise CalculationError("the degree of a root is a whole number from 1 to 64")
    if base.value < 0:
        raise CalculationError("a root of a negative number has no real value")
    units = _extract_unit_root(base, degree)
    above, below = (_extract_integer_root(n, degree) for n in (base.value.numerator, base.value.denominator))
    if above is not None and below is not None:
        return Quantity(Fraction(above, below), units, base.is_exact)
    root = compute_inexact(lambda c: c.power(convert_to_decimal(base.value), c.divide(Decimal(1), Decimal(degree))))
    return Quantity(root.value, units, is_exact=False)


def _extract_unit_root(base: Quantity, degree: int) -> UnitPowers:
    for units in (base.units, list_base_units(base.dimension)):
        if all(power % degree == 0 for _, power in units):
            return tuple((symbol, power // degree) for symbol, power in units)
    raise CalculationError(f"{_describe_kind(base)} has no such root")


def _extract_integer_root(number: int, degree: int) -> int | None:
    """Return the integer root of a number; None if it is not an integer."""
    low, high = 0, 1 << (number.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**degree <= number else (low, middle - 1)
    return low if low**degree == number else None


def convert_to_decimal(number: Fraction) -> Decimal:
    """Return a fraction as a decimal with the working precision."""
    return _CONTEXT.divide(Decimal(number.numerator), Decimal(number.denominator))


def compute_inexact(compute: Callable[[Context], Decimal]) -> Quantity:
    """Return the result of a decimal computation as an inexact plain number."""
    try:
        number = compute(_CONTEXT.copy())
    except Overflow as error:
        raise CalculationError(_TOO_LARGE) from error
    if abs(number.adjusted()) + PRECISION > MAX_DIGITS:
        raise CalculationError(_TOO_LARGE)
    return Quantity(Fraction(number), (), is_exact=False)
