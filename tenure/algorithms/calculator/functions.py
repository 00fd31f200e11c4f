"""Functions of the calculator, for quantities and dates.

The size of a result is checked before it is computed, as for operators.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import reduce
from typing import Final, NamedTuple

from tenure.algorithms.calculator.quantities import (
    CalculationError,
    Quantity,
    add,
    build_quantity,
    check_size,
    compute_inexact,
    convert_to_decimal,
    convert_to_units,
    divide,
    extract_root,
    multiply,
    raise_to_power,
)

MAX_ARGUMENTS: Final = 200
"""Maximum arguments of a variadic function."""
_MAX_INTEGER: Final = 100_000
"""Maximum argument of factorials and other integer functions."""

CalculatorValue = Quantity | date


class CalculatorFunction(NamedTuple):
    """Function of quantities."""

    min_arguments: int
    max_arguments: int
    compute: Callable[[Sequence[Quantity]], Quantity]


class DateFunction(NamedTuple):
    """Function with dates as arguments or as value."""

    arguments: tuple[type[Quantity] | type[date], ...]
    compute: Callable[..., CalculatorValue]


def _sum(numbers: Sequence[Quantity]) -> Quantity:
    return reduce(add, numbers)


def _mean(numbers: Sequence[Quantity]) -> Quantity:
    return divide(_sum(numbers), Quantity(Fraction(len(numbers))))


def _median(numbers: Sequence[Quantity]) -> Quantity:
    ordered = _sort_quantities(numbers)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else _mean(ordered[middle - 1 : middle + 1])


def _sort_quantities(numbers: Sequence[Quantity]) -> list[Quantity]:
    for other in numbers[1:]:
        add(numbers[0], other, -1)  # refuses what cannot be compared
    return sorted(numbers, key=lambda number: number.value)


def _variance(numbers: Sequence[Quantity]) -> Quantity:
    middle = _mean(numbers)
    squares = [multiply(deviation, deviation) for deviation in (add(number, middle, -1) for number in numbers)]
    return divide(_sum(squares), Quantity(Fraction(len(numbers) - 1)))


def _round(numbers: Sequence[Quantity]) -> Quantity:
    """Round half away from zero, in the unit in which the number is written."""
    places = _to_integer(numbers[1], "digits of `round`", 50) if len(numbers) > 1 else 0
    return _apply_step(numbers[0], lambda n: math.floor(abs(n) + Fraction(1, 2)) * (1 if n >= 0 else -1), places)


def _apply_step(quantity: Quantity, step: Callable[[Fraction], int], places: int = 0) -> Quantity:
    grown = convert_to_units(quantity) * 10**places
    return replace(build_quantity(Fraction(step(grown), 10**places), quantity.units), is_exact=quantity.is_exact)


def _to_plain_number(quantity: Quantity, what: str) -> Fraction:
    if quantity.dimension:
        raise CalculationError(f"{what} must be a plain number")
    return quantity.value


def _to_integer(quantity: Quantity, what: str, maximum: int = _MAX_INTEGER) -> int:
    number = _to_plain_number(quantity, what)
    if number.denominator != 1 or not 0 <= number <= maximum:
        raise CalculationError(f"{what}: a whole number from 0 to {maximum:,} is needed")
    return number.numerator


def _exp(numbers: Sequence[Quantity]) -> Quantity:
    exponent = convert_to_decimal(_to_plain_number(numbers[0], "the argument of `exp`"))
    return compute_inexact(lambda c: c.exp(exponent)) if exponent else Quantity(Fraction(1))


def _ln(numbers: Sequence[Quantity]) -> Quantity:
    number = _to_positive(numbers[0])
    return compute_inexact(lambda c: c.ln(convert_to_decimal(number))) if number != 1 else Quantity(Fraction(0))


def _to_positive(quantity: Quantity) -> Fraction:
    number = _to_plain_number(quantity, "the argument of a logarithm")
    if number <= 0:
        raise CalculationError("a logarithm needs a positive number")
    return number


def _log(numbers: Sequence[Quantity]) -> Quantity:
    """Return a logarithm, by default to base 10; exact if it is an integer."""
    base = numbers[1] if len(numbers) > 1 else Quantity(Fraction(10))
    number, to = _to_positive(numbers[0]), _to_positive(base)
    if to == 1:
        raise CalculationError("a logarithm to base 1 does not exist")
    logarithm = compute_inexact(lambda c: c.divide(c.ln(convert_to_decimal(number)), c.ln(convert_to_decimal(to))))
    nearest = Quantity(Fraction(round(logarithm.value)))
    if raise_to_power(base, nearest).value == number:
        return replace(nearest, is_exact=numbers[0].is_exact and base.is_exact)
    return logarithm


def _factorial(numbers: Sequence[Quantity]) -> Quantity:
    number = _to_integer(numbers[0], "the argument of a factorial")
    check_size(_compute_log2_factorial(number))
    return Quantity(Fraction(math.factorial(number)))


def _compute_log2_factorial(number: int) -> int:
    return int(math.lgamma(number + 1) / math.log(2))


def _comb(numbers: Sequence[Quantity]) -> Quantity:
    n, k = (_to_integer(number, "an argument of `comb`") for number in numbers)
    if k <= n:
        check_size(_compute_log2_factorial(n) - _compute_log2_factorial(k) - _compute_log2_factorial(n - k) - 1)
    return Quantity(Fraction(math.comb(n, k)))


def _perm(numbers: Sequence[Quantity]) -> Quantity:
    n, k = (_to_integer(number, "an argument of `perm`") for number in numbers)
    if k <= n:
        check_size(_compute_log2_factorial(n) - _compute_log2_factorial(n - k) - 1)
    return Quantity(Fraction(math.perm(n, k)))


def _to_integers(numbers: Sequence[Quantity], name: str) -> list[int]:
    integers = [_to_plain_number(argument, f"an argument of `{name}`") for argument in numbers]
    if any(number.denominator != 1 for number in integers):
        raise CalculationError(f"`{name}` takes whole numbers")
    return [number.numerator for number in integers]


def _gcd(numbers: Sequence[Quantity]) -> Quantity:
    return Quantity(Fraction(math.gcd(*_to_integers(numbers, "gcd"))))


def _lcm(numbers: Sequence[Quantity]) -> Quantity:
    integers = _to_integers(numbers, "lcm")
    check_size(sum(number.bit_length() for number in integers))
    return Quantity(Fraction(math.lcm(*integers)))


def divide_to_integer(a: Quantity, b: Quantity) -> Quantity:
    """Return the integer quotient of two quantities."""
    add(a, b)  # refuses what cannot be compared
    return _apply_step(divide(replace(a, units=()), replace(b, units=())), math.floor)


def _percent(numbers: Sequence[Quantity]) -> Quantity:
    part, base = numbers
    add(part, base)  # refuses what cannot be compared
    return replace(divide(part, base), units=(("%", 1),))


FUNCTIONS: Final[Mapping[str, CalculatorFunction]] = {
    "sum": CalculatorFunction(1, MAX_ARGUMENTS, _sum),
    "product": CalculatorFunction(1, MAX_ARGUMENTS, lambda numbers: reduce(multiply, numbers)),
    "mean": CalculatorFunction(1, MAX_ARGUMENTS, _mean),
    "average": CalculatorFunction(1, MAX_ARGUMENTS, _mean),
    "median": CalculatorFunction(1, MAX_ARGUMENTS, _median),
    "min": CalculatorFunction(1, MAX_ARGUMENTS, lambda numbers: _sort_quantities(numbers)[0]),
    "max": CalculatorFunction(1, MAX_ARGUMENTS, lambda numbers: _sort_quantities(numbers)[-1]),
    "count": CalculatorFunction(1, MAX_ARGUMENTS, lambda numbers: Quantity(Fraction(len(numbers)))),
    "variance": CalculatorFunction(2, MAX_ARGUMENTS, _variance),
    "stdev": CalculatorFunction(2, MAX_ARGUMENTS, lambda numbers: extract_root(_variance(numbers), 2)),
    "round": CalculatorFunction(1, 2, _round),
    "floor": CalculatorFunction(1, 1, lambda numbers: _apply_step(numbers[0], math.floor)),
    "ceil": CalculatorFunction(1, 1, lambda numbers: _apply_step(numbers[0], math.ceil)),
    "abs": CalculatorFunction(1, 1, lambda numbers: replace(numbers[0], value=abs(numbers[0].value))),
    "sqrt": CalculatorFunction(1, 1, lambda numbers: extract_root(numbers[0], 2)),
    "root": CalculatorFunction(
        2, 2, lambda numbers: extract_root(numbers[0], _to_integer(numbers[1], "the degree of a root"))
    ),
    "exp": CalculatorFunction(1, 1, _exp),
    "ln": CalculatorFunction(1, 1, _ln),
    "log": CalculatorFunction(1, 2, _log),
    "factorial": CalculatorFunction(1, 1, _factorial),
    "comb": CalculatorFunction(2, 2, _comb),
    "perm": CalculatorFunction(2, 2, _perm),
    "gcd": CalculatorFunction(1, MAX_ARGUMENTS, _gcd),
    "lcm": CalculatorFunction(1, MAX_ARGUMENTS, _lcm),
    "mod": CalculatorFunction(2, 2, lambda ns: add(ns[0], multiply(ns[1], divide_to_integer(ns[0], ns[1])), -1)),
    "percent": CalculatorFunction(2, 2, _percent),
    "change": CalculatorFunction(2, 2, lambda numbers: _percent((add(numbers[1], numbers[0], -1), numbers[0]))),
}
"""Functions of quantities; `percent(a, b)` is a/b, and `change(a, b)` is (b − a)/a, both in percent."""


def _date(year: Quantity, month: Quantity, day: Quantity) -> date:
    parts = [_to_integer(number, "year, month and day of a date", 9999) for number in (year, month, day)]
    try:
        return date(*parts)
    except ValueError as error:
        raise CalculationError(f"invalid date: {error}") from error


def _years(a: date, b: date) -> Quantity:
    """Return the completed years from one date to another, like an age."""
    first, last = min(a, b), max(a, b)
    completed = last.year - first.year - ((last.month, last.day) < (first.month, first.day))
    return Quantity(Fraction(completed if a <= b else -completed))


DATE_FUNCTIONS: Final[Mapping[str, DateFunction]] = {
    "date": DateFunction((Quantity, Quantity, Quantity), _date),
    "days": DateFunction((date, date), lambda a, b: Quantity(Fraction((b - a).days))),
    "years": DateFunction((date, date), _years),
    "year": DateFunction((date,), lambda day: Quantity(Fraction(day.year))),
    "weekday": DateFunction((date,), lambda day: Quantity(Fraction(day.isoweekday()))),
}
"""Functions of dates: `date(year, month, day)`, `days` and `years` between two dates, `year`, `weekday` (Monday is 1).
"""
