"""Parse and evaluate calculator expressions by recursive descent.

conversion = sum, [ ("to" | "as" | "in"), units ]
sum        = product, { ("+" | "-"), product }
product    = sign, { ("*" | "/" | "//" | "of"), sign }
sign       = { "+" | "-" }, power
power      = amount, [ ("^" | "**"), sign ]
amount     = atom, { "!" | "%" | scale | unit, [ ("^" | "**"), whole number ] }
atom       = number | date | currency, number | constant | unit | function, "(", arguments, ")" | "(", sum, ")"
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from typing import Final

from tenure.algorithms.calculator.functions import DATE_FUNCTIONS, FUNCTIONS, CalculatorValue, divide_to_integer
from tenure.algorithms.calculator.quantities import (
    MAX_DIGITS,
    CalculationError,
    Quantity,
    UnitPowers,
    add,
    build_quantity,
    combine_units,
    divide,
    format_units,
    multiply,
    raise_to_power,
)
from tenure.algorithms.calculator.tokens import Token
from tenure.algorithms.calculator.units import find_unit

MAX_DEPTH: Final = 40
"""Maximum nesting depth of brackets, functions and exponents."""
_CURRENCIES: Final = frozenset("$€£¥₹")
_CONVERSION_WORDS: Final = frozenset(("to", "as"))
_UNIT_POWER: Final = re.compile(r"(\D+)([23])")  # "m2" and "cm3" without a sign of power.
_SCALES: Final[Mapping[str, int]] = {"dozen": 12, "hundred": 100, "thousand": 10**3} | {
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
_CONSTANTS: Final[Mapping[str, Quantity]] = {
    "pi": Quantity(Fraction("3.14159265358979323846264338327950288419716939937510"), is_exact=False),
    "e": Quantity(Fraction("2.71828182845904523536028747135266249775724709369995"), is_exact=False),
}
_DAY_SECONDS: Final = 86_400


class ExpressionParser:
    """Parser that computes the value while it reads the tokens."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        """Create a parser for a list of tokens that ends with an `end` token."""
        self._tokens = tokens
        self._position = 0
        self._depth = 0

    def parse(self) -> CalculatorValue:
        """Return the value of the whole expression."""
        value = self._parse_sum()
        if self._is_conversion():
            self._position += 1
            value = _convert(value, self._parse_units())
        if self._current.kind != "end":
            raise CalculationError(f"{self._current.text!r} is unexpected")
        return value

    @property
    def _current(self) -> Token:
        return self._tokens[self._position]

    @property
    def _next(self) -> Token:
        return self._tokens[min(self._position + 1, len(self._tokens) - 1)]

    def _accept(self, *texts: str) -> str:
        """Consume and return the current token if it is one of `texts`; otherwise return an empty text."""
        text = self._current.text
        if text not in texts or self._current.kind not in ("mark", "name"):
            return ""
        self._position += 1
        return text

    def _expect_closing(self) -> None:
        if not self._accept(")"):
            raise CalculationError("')' is missing" + (f" before {self._current.text!r}" if self._current.text else ""))

    def _is_conversion(self) -> bool:
        """Return whether a conversion follows; `in` without a unit after it is an inch."""
        named_unit = self._next.kind == "name" and self._next.text not in _CONVERSION_WORDS
        return self._current.text in _CONVERSION_WORDS or (self._current.text == "in" and named_unit)

    def _parse_sum(self) -> CalculatorValue:
        value = self._parse_product()
        while mark := self._accept("+", "-"):
            value = _add_values(value, self._parse_product(), 1 if mark == "+" else -1)
        return value

    def _parse_product(self) -> CalculatorValue:
        value = self._parse_sign()
        while mark := self._accept("*", "/", "//", "of"):
            left, right = _to_factor(value), _to_factor(self._parse_sign())
            value = {"/": divide, "//": divide_to_integer}.get(mark, multiply)(left, right)
        return value

    def _parse_sign(self) -> CalculatorValue:
        negative = False
        while mark := self._accept("+", "-"):
            negative ^= mark == "-"
        value = self._parse_power()
        if negative:
            number = _to_quantity(value)
            return replace(number, value=-number.value)
        return value

    def _parse_power(self) -> CalculatorValue:
        value = self._parse_amount()
        if not self._accept("^", "**"):
            return value
        with self._nest():
            return raise_to_power(_to_quantity(value), _to_quantity(self._parse_sign()))

    @contextmanager
    def _nest(self) -> Iterator[None]:
        if self._depth == MAX_DEPTH:
            raise CalculationError(f"it nests more than {MAX_DEPTH} levels deep")
        self._depth += 1
        yield
        self._depth -= 1

    def _parse_amount(self) -> CalculatorValue:
        value = self._parse_atom()
        while True:
            if self._accept("!"):
                value = FUNCTIONS["factorial"].compute([_to_quantity(value)])
            elif self._accept("%"):
                value = multiply(_to_quantity(value), Quantity(Fraction(1, 100)))
                value = replace(value, units=(("%", 1),)) if not value.dimension else value
            elif self._current.kind == "name" and self._current.text != "of" and not self._is_conversion():
                value = self._parse_suffix(_to_quantity(value))
            else:
                return value

    def _parse_suffix(self, number: Quantity) -> Quantity:
        """Return a number times the following scale word, such as million, or unit."""
        if scale := _SCALES.get(self._current.text):
            self._position += 1
            return multiply(number, Quantity(Fraction(scale)))
        units = self._parse_unit()
        if _has_offset(units):
            if number.units:
                raise CalculationError("a temperature scale must follow a plain number; write K for differences")
            return replace(build_quantity(number.value, units), is_exact=number.is_exact)
        return multiply(number, build_quantity(Fraction(1), units))

    def _parse_unit(self) -> UnitPowers:
        name = self._current.text
        squared = _UNIT_POWER.fullmatch(name)
        unit, exponent = find_unit(name), 1
        if unit is None and squared:
            unit, exponent = find_unit(squared[1]), int(squared[2])
        if unit is None:
            raise CalculationError(f"{name!r} is neither a unit nor a function")
        self._position += 1
        if exponent == 1 and self._accept("^", "**"):
            exponent = self._parse_exponent()
        return ((unit.symbol, exponent),)

    def _parse_exponent(self) -> int:
        negative = bool(self._accept("-"))
        digits = self._current.text
        if not (digits.isdecimal() and len(digits) == 1):
            raise CalculationError("the power of a unit must be one digit")
        self._position += 1
        return -int(digits) if negative else int(digits)

    def _parse_units(self) -> UnitPowers:
        """Parse the target units of a conversion."""
        if self._accept("%"):
            return (("%", 1),)
        powers, sign, last = list[tuple[str, int]](), 1, False
        while not last:
            if self._current.kind != "name":
                raise CalculationError("a unit is missing after the conversion")
            powers += [(symbol, sign * exponent) for symbol, exponent in self._parse_unit()]
            mark = self._accept("*", "/")
            sign = -1 if mark == "/" else 1
            last = not mark and self._current.kind != "name"
        # A temperature scale keeps its offset only if it is the only unit.
        return combine_units(powers) if len(powers) > 1 else tuple(powers)

    def _parse_atom(self) -> CalculatorValue:
        token = self._current
        self._position += 1
        if token.kind == "number":
            return _parse_number(token.text)
        if token.kind == "date":
            try:
                return date.fromisoformat(token.text)
            except ValueError as error:
                raise CalculationError(f"{token.text} is not a valid date") from error
        if token.text == "(" and token.kind == "mark":
            return self._parse_brackets()
        if token.kind == "name":
            return self._parse_name(token.text)
        raise CalculationError(
            f"a number is missing before {token.text!r}" if token.text else "a number is missing at the end"
        )

    def _parse_brackets(self) -> CalculatorValue:
        with self._nest():
            value = self._parse_sum()
            self._expect_closing()
        return value

    def _parse_name(self, name: str) -> CalculatorValue:
        """Return the value of a name at the start of an amount: function, constant, scale, currency or unit."""
        if self._current.text == "(":
            return self._parse_call(name)
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name in _SCALES:
            return Quantity(Fraction(_SCALES[name]))
        self._position -= 1
        units = self._parse_unit()
        if name in _CURRENCIES and self._current.kind == "number":
            self._position += 1
            return build_quantity(_parse_number(self._tokens[self._position - 1].text).value, units)
        if _has_offset(units):
            raise CalculationError(f"a temperature in {name} needs its number before it; write K for differences")
        return build_quantity(Fraction(1), units)

    def _parse_call(self, name: str) -> CalculatorValue:
        if name not in FUNCTIONS and name not in DATE_FUNCTIONS:
            available = ", ".join(sorted((*FUNCTIONS, *DATE_FUNCTIONS)))
            raise CalculationError(f"unknown function {name!r}; available are {available}")
        with self._nest():
            self._position += 1
            arguments = [] if self._current.text == ")" else [self._parse_sum()]
            while self._accept(","):
                arguments.append(self._parse_sum())
            self._expect_closing()
        return _call_function(name, arguments)


def _call_function(name: str, arguments: Sequence[CalculatorValue]) -> CalculatorValue:
    if name in DATE_FUNCTIONS:
        types, compute_date = DATE_FUNCTIONS[name]
        if len(arguments) != len(types) or not all(map(isinstance, arguments, types)):
            kinds = ", ".join("a date" if kind is date else "a number" for kind in types)
            raise CalculationError(f"`{name}` takes {kinds}")
        return compute_date(*arguments)
    least, most, compute = FUNCTIONS[name]
    if not least <= len(arguments) <= most:
        many = f"{least} to {most}" if most > least else f"{least}"
        raise CalculationError(f"`{name}` takes {many} argument(s), not {len(arguments)}")
    return compute([_to_quantity(argument) for argument in arguments])


def _has_offset(units: UnitPowers) -> bool:
    return any((unit := find_unit(symbol)) is not None and bool(unit.offset) for symbol, _ in units)


def _parse_number(text: str) -> Quantity:
    digits, _, exponent = text.replace(",", "").replace("_", "").lower().partition("e")
    if len(exponent) > 5 or len(digits) + abs(int(exponent or 0)) > MAX_DIGITS:
        raise CalculationError(f"{text} has more than {MAX_DIGITS:,} digits")
    return Quantity(Fraction(digits) * Fraction(10) ** int(exponent or 0))


def _to_quantity(value: CalculatorValue) -> Quantity:
    if isinstance(value, date):
        raise CalculationError("a date can only have days added or subtracted, or another date subtracted")
    return value


def _to_factor(value: CalculatorValue) -> Quantity:
    number = _to_quantity(value)
    if _has_offset(number.units):
        raise CalculationError("a temperature on a scale cannot be multiplied or divided: convert it to K first")
    return number


def _add_values(a: CalculatorValue, b: CalculatorValue, sign: int) -> CalculatorValue:
    """Add or subtract quantities, a date and days, or two dates."""
    if isinstance(a, date) and isinstance(b, date) and sign == -1:
        return build_quantity(Fraction((a - b).days), (("day", 1),))
    if isinstance(a, date):
        return _shift_date(a, _to_quantity(b), sign)
    number = _to_quantity(b)
    if sign == 1 and _has_offset(a.units) and _has_offset(number.units):
        raise CalculationError("two temperatures cannot be added: write K for a temperature difference")
    return add(a, number, sign)


def _shift_date(day: date, by: Quantity, sign: int) -> date:
    days = by.value / _DAY_SECONDS
    if by.dimension != (("s", 1),) or days.denominator != 1:
        raise CalculationError("a date is moved by whole days, as in `2024-03-01 + 10 days`")
    try:
        return day + timedelta(days=sign * days.numerator)
    except OverflowError as error:
        raise CalculationError("dates are limited to the years 1 to 9999") from error


def _convert(value: CalculatorValue, units: UnitPowers) -> Quantity:
    number = _to_quantity(value)
    if Quantity(Fraction(1), units).dimension != number.dimension:
        source = format_units(number.units) if number.dimension else "a plain number"
        raise CalculationError(f"{source} cannot be converted to {format_units(units)}")
    return replace(number, units=units)
