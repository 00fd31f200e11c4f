"""Functions of the calculator: of numbers with units, and of dates.

What a function would make is bounded before it is made, like every operation on quantities.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import reduce
from typing import Final, NamedTuple

from tenure.algorithms.calculator.quantities import (
    Quantity,
    Refused,
    bounded,
    computed,
    decimal,
    in_units,
    measured,
    over,
    plus,
    power,
    root,
    times,
)

MANY: Final = 200
"""Arguments of a function that takes any number of them."""
_LARGEST: Final = 100_000
"""Number from which factorials and their like are surely too large."""

Value = Quantity | date
"""What an expression is worth."""


class Function(NamedTuple):
    """A function."""

    least: int
    """Arguments it needs."""
    most: int
    """Arguments it takes."""
    of: Callable[[Sequence[Quantity]], Quantity]
    """What it makes of them."""


class DateFunction(NamedTuple):
    """A function whose arguments, or whose value, are dates."""

    arguments: tuple[type[Quantity] | type[date], ...]
    """What it takes."""
    of: Callable[..., Value]
    """What it makes of them."""


def _sum(numbers: Sequence[Quantity]) -> Quantity:
    return reduce(plus, numbers)


def _mean(numbers: Sequence[Quantity]) -> Quantity:
    return over(_sum(numbers), Quantity(Fraction(len(numbers))))


def _median(numbers: Sequence[Quantity]) -> Quantity:
    ordered = _ordered(numbers)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else _mean(ordered[middle - 1 : middle + 1])


def _ordered(numbers: Sequence[Quantity]) -> list[Quantity]:
    for other in numbers[1:]:
        plus(numbers[0], other, -1)  # refuses what cannot be compared
    return sorted(numbers, key=lambda one: one.value)


def _variance(numbers: Sequence[Quantity]) -> Quantity:
    middle = _mean(numbers)
    squares = [times(apart, apart) for apart in (plus(one, middle, -1) for one in numbers)]
    return over(_sum(squares), Quantity(Fraction(len(numbers) - 1)))


def _round(numbers: Sequence[Quantity]) -> Quantity:
    """Round halves away from zero, as people do, in the unit that the number is written in."""
    places = _whole(numbers[1], "digits of `round`", 50) if len(numbers) > 1 else 0
    return _stepwise(numbers[0], _nearest, places)


def _nearest(number: Fraction) -> int:
    away = math.floor(abs(number) + Fraction(1, 2))
    return away if number >= 0 else -away


def _stepwise(one: Quantity, step: Callable[[Fraction], int], places: int = 0) -> Quantity:
    grown = in_units(one) * 10**places
    return replace(measured(Fraction(step(grown), 10**places), one.shown), exact=one.exact)


def _plain(one: Quantity, what: str) -> Fraction:
    """Return a number without unit.

    Raises:
        Refused: it has one.
    """
    if one.dimension:
        raise Refused(f"{what} is a plain number")
    return one.value


def _whole(one: Quantity, what: str, most: int = _LARGEST) -> int:
    """Return a whole number that is not negative.

    Raises:
        Refused: it is none, or too large.
    """
    number = _plain(one, what)
    if number.denominator != 1 or not 0 <= number <= most:
        raise Refused(f"{what}: a whole number from 0 to {most:,} is needed")
    return number.numerator


def _exp(numbers: Sequence[Quantity]) -> Quantity:
    exponent = decimal(_plain(numbers[0], "what `exp` takes"))
    return computed(lambda c: c.exp(exponent)) if exponent else Quantity(Fraction(1))


def _ln(numbers: Sequence[Quantity]) -> Quantity:
    number = _positive(numbers[0])
    return computed(lambda c: c.ln(decimal(number))) if number != 1 else Quantity(Fraction(0))


def _positive(one: Quantity) -> Fraction:
    number = _plain(one, "what a logarithm is taken of")
    if number <= 0:
        raise Refused("there is a logarithm of positive numbers only")
    return number


def _log(numbers: Sequence[Quantity]) -> Quantity:
    """Return a logarithm, to the base 10 unless told otherwise; exact where it is a whole number."""
    base = numbers[1] if len(numbers) > 1 else Quantity(Fraction(10))
    number, to = _positive(numbers[0]), _positive(base)
    if to == 1:
        raise Refused("there is no logarithm to the base 1")
    found = computed(lambda c: c.divide(c.ln(decimal(number)), c.ln(decimal(to))))
    nearest = Quantity(Fraction(round(found.value)))
    if power(base, nearest).value == number:
        return replace(nearest, exact=numbers[0].exact and base.exact)
    return found


def _factorial(numbers: Sequence[Quantity]) -> Quantity:
    number = _whole(numbers[0], "what a factorial is taken of")
    bounded(_log2_factorial(number))
    return Quantity(Fraction(math.factorial(number)))


def _log2_factorial(number: int) -> int:
    return int(math.lgamma(number + 1) / math.log(2))


def _comb(numbers: Sequence[Quantity]) -> Quantity:
    whole, part = (_whole(one, "what is chosen of") for one in numbers)
    if part <= whole:
        bounded(_log2_factorial(whole) - _log2_factorial(part) - _log2_factorial(whole - part) - 1)
    return Quantity(Fraction(math.comb(whole, part)))


def _perm(numbers: Sequence[Quantity]) -> Quantity:
    whole, part = (_whole(one, "what is arranged of") for one in numbers)
    if part <= whole:
        bounded(_log2_factorial(whole) - _log2_factorial(whole - part) - 1)
    return Quantity(Fraction(math.perm(whole, part)))


def _divisors(numbers: Sequence[Quantity], name: str) -> list[int]:
    found = [_plain(one, f"what `{name}` takes") for one in numbers]
    if any(number.denominator != 1 for number in found):
        raise Refused(f"`{name}` takes whole numbers")
    return [number.numerator for number in found]


def _gcd(numbers: Sequence[Quantity]) -> Quantity:
    return Quantity(Fraction(math.gcd(*_divisors(numbers, "gcd"))))


def _lcm(numbers: Sequence[Quantity]) -> Quantity:
    whole = _divisors(numbers, "lcm")
    bounded(sum(number.bit_length() for number in whole))
    return Quantity(Fraction(math.lcm(*whole)))


def divided(a: Quantity, b: Quantity) -> Quantity:
    """Return how often one quantity goes into another as a whole.

    Raises:
        Refused: they are not of one kind, or something is divided by zero.
    """
    plus(a, b)  # refuses what cannot be compared
    return _stepwise(over(replace(a, shown=()), replace(b, shown=())), math.floor)


def _mod(numbers: Sequence[Quantity]) -> Quantity:
    a, b = numbers
    return plus(a, times(b, divided(a, b)), -1)


def _percent(numbers: Sequence[Quantity]) -> Quantity:
    part, whole = numbers
    plus(part, whole)  # refuses what cannot be compared
    return replace(over(part, whole), shown=(("%", 1),))


def _change(numbers: Sequence[Quantity]) -> Quantity:
    before, after = numbers
    return _percent((plus(after, before, -1), before))


FUNCTIONS: Final[Mapping[str, Function]] = {
    "sum": Function(1, MANY, _sum),
    "product": Function(1, MANY, lambda numbers: reduce(times, numbers)),
    "mean": Function(1, MANY, _mean),
    "average": Function(1, MANY, _mean),
    "median": Function(1, MANY, _median),
    "min": Function(1, MANY, lambda numbers: _ordered(numbers)[0]),
    "max": Function(1, MANY, lambda numbers: _ordered(numbers)[-1]),
    "count": Function(1, MANY, lambda numbers: Quantity(Fraction(len(numbers)))),
    "variance": Function(2, MANY, _variance),
    "stdev": Function(2, MANY, lambda numbers: root(_variance(numbers), 2)),
    "round": Function(1, 2, _round),
    "floor": Function(1, 1, lambda numbers: _stepwise(numbers[0], math.floor)),
    "ceil": Function(1, 1, lambda numbers: _stepwise(numbers[0], math.ceil)),
    "abs": Function(1, 1, lambda numbers: replace(numbers[0], value=abs(numbers[0].value))),
    "sqrt": Function(1, 1, lambda numbers: root(numbers[0], 2)),
    "root": Function(2, 2, lambda numbers: root(numbers[0], _whole(numbers[1], "the degree of a root"))),
    "exp": Function(1, 1, _exp),
    "ln": Function(1, 1, _ln),
    "log": Function(1, 2, _log),
    "factorial": Function(1, 1, _factorial),
    "comb": Function(2, 2, _comb),
    "perm": Function(2, 2, _perm),
    "gcd": Function(1, MANY, _gcd),
    "lcm": Function(1, MANY, _lcm),
    "mod": Function(2, 2, _mod),
    "percent": Function(2, 2, _percent),
    "change": Function(2, 2, _change),
}
"""Functions of numbers; `percent` is what the first is of the second, `change` what the second is over the first."""


def _date(year: Quantity, month: Quantity, day: Quantity) -> date:
    parts = [_whole(one, "year, month and day of a date", 9999) for one in (year, month, day)]
    try:
        return date(*parts)
    except ValueError as error:
        raise Refused(f"there is no such date: {error}") from error


def _days(a: date, b: date) -> Quantity:
    return Quantity(Fraction((b - a).days))


def _years(a: date, b: date) -> Quantity:
    """Return the whole years from one date to another, as ages are counted."""
    first, last = min(a, b), max(a, b)
    whole = last.year - first.year - ((last.month, last.day) < (first.month, first.day))
    return Quantity(Fraction(whole if a <= b else -whole))


DATE_FUNCTIONS: Final[Mapping[str, DateFunction]] = {
    "date": DateFunction((Quantity, Quantity, Quantity), _date),
    "days": DateFunction((date, date), _days),
    "years": DateFunction((date, date), _years),
    "year": DateFunction((date,), lambda one: Quantity(Fraction(one.year))),
    "weekday": DateFunction((date,), lambda one: Quantity(Fraction(one.isoweekday()))),
}
"""Functions of dates: `date` of year, month and day; `days` and `years` from one to another; `weekday`, Monday 1."""
