"""The reader of the calculator: takes an expression token by token and computes it on the way, by descent.

conversion = sum, [ ("to" | "as" | "in"), units ]
sum        = product, { ("+" | "-"), product }
product    = sign, { ("*" | "/" | "//" | "of"), sign }
sign       = { "+" | "-" }, power
power      = amount, [ ("^" | "**"), sign ]
amount     = atom, { "!" | "%" | scale | unit, [ ("^" | "**"), whole number ] }
atom       = number | date | currency, number | constant | unit | function, "(", arguments, ")" | "(", sum, ")"
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from typing import Final

from tenure.algorithms.calculator.functions import DATE_FUNCTIONS, FUNCTIONS, Value, divided
from tenure.algorithms.calculator.quantities import (
    DIGITS,
    Quantity,
    Refused,
    Shown,
    combined,
    measured,
    named,
    over,
    plus,
    power,
    times,
)
from tenure.algorithms.calculator.tokens import Token
from tenure.algorithms.calculator.units import unit

DEEPEST: Final = 40
"""Brackets, functions and exponents within each other."""
_CURRENCIES: Final = frozenset("$€£¥₹")
_CONVERTS: Final = frozenset(("to", "as"))
_UNIT_POWER: Final = re.compile(r"(\D+)([23])")
_SCALES: Final[Mapping[str, int]] = {
    **{"dozen": 12, "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12},
}
_CONSTANTS: Final[Mapping[str, Quantity]] = {
    "pi": Quantity(Fraction("3.14159265358979323846264338327950288419716939937510"), exact=False),
    "e": Quantity(Fraction("2.71828182845904523536028747135266249775724709369995"), exact=False),
}
_DAY: Final = 86_400


class Reader:
    """Reads tokens once, and computes what they mean."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        """Read `tokens`."""
        self._tokens = tokens
        self._place = 0
        self._depth = 0

    def value(self) -> Value:
        """Return what all of it is worth.

        Raises:
            Refused: it cannot be calculated; the message says why.
        """
        value = self._sum()
        if self._converts():
            self._place += 1
            value = _converted(value, self._units())
        if self._now.kind != "end":
            raise Refused(f"{self._now.text!r} is not expected there")
        return value

    @property
    def _now(self) -> Token:
        return self._tokens[self._place]

    @property
    def _after(self) -> Token:
        return self._tokens[min(self._place + 1, len(self._tokens) - 1)]

    def _taken(self, *texts: str) -> str:
        """Return the present token and go on, where it is one of some; else an empty text."""
        text = self._now.text
        if text not in texts or self._now.kind not in ("mark", "name"):
            return ""
        self._place += 1
        return text

    def _expect(self, text: str) -> None:
        if not self._taken(text):
            raise Refused(f"{text!r} is missing" + (f" before {self._now.text!r}" if self._now.text else ""))

    def _converts(self) -> bool:
        """Tell whether a conversion follows; `in` is an inch where no unit comes after it."""
        named_unit = self._after.kind == "name" and self._after.text not in _CONVERTS
        return self._now.text in _CONVERTS or (self._now.text == "in" and named_unit)

    def _sum(self) -> Value:
        value = self._product()
        while mark := self._taken("+", "-"):
            value = _added(value, self._product(), 1 if mark == "+" else -1)
        return value

    def _product(self) -> Value:
        value = self._sign()
        while mark := self._taken("*", "/", "//", "of"):
            left, right = _factor(value), _factor(self._sign())
            value = {"/": over, "//": divided}.get(mark, times)(left, right)
        return value

    def _sign(self) -> Value:
        negative = False
        while mark := self._taken("+", "-"):
            negative ^= mark == "-"
        value = self._power()
        if negative:
            number = _number(value)
            return replace(number, value=-number.value)
        return value

    def _power(self) -> Value:
        value = self._amount()
        if not self._taken("^", "**"):
            return value
        with_depth = self._deeper()
        raised = power(_number(value), _number(self._sign()))
        self._depth = with_depth
        return raised

    def _deeper(self) -> int:
        """Go one level down; return the level to come back to.

        Raises:
            Refused: it is too deep.
        """
        if self._depth == DEEPEST:
            raise Refused(f"it nests more than {DEEPEST} levels deep")
        self._depth += 1
        return self._depth - 1

    def _amount(self) -> Value:
        value = self._atom()
        while True:
            if self._taken("!"):
                value = FUNCTIONS["factorial"].of([_number(value)])
            elif self._taken("%"):
                value = times(_number(value), Quantity(Fraction(1, 100)))
                value = replace(value, shown=(("%", 1),)) if not value.dimension else value
            elif self._now.kind == "name" and self._now.text != "of" and not self._converts():
                value = self._measured(_number(value))
            else:
                return value

    def _measured(self, number: Quantity) -> Quantity:
        """Return a number with the word after it: a scale such as million, or a unit."""
        if scale := _SCALES.get(self._now.text):
            self._place += 1
            return times(number, Quantity(Fraction(scale)))
        shown = self._unit()
        if _has_zero(shown):
            if number.shown:
                raise Refused("a temperature scale stands after a plain number; write K for differences")
            return replace(measured(number.value, shown), exact=number.exact)
        return times(number, measured(Fraction(1), shown))

    def _unit(self) -> Shown:
        """Read one unit with its power."""
        name = self._now.text
        squared = _UNIT_POWER.fullmatch(name)
        found, exponent = unit(name), 1
        if found is None and squared:
            found, exponent = unit(squared[1]), int(squared[2])
        if found is None:
            raise Refused(f"{name!r} is no unit and no function")
        self._place += 1
        if exponent == 1 and self._now.text in ("^", "**"):
            self._place += 1
            exponent = self._exponent()
        return ((found.symbol, exponent),)

    def _exponent(self) -> int:
        """Read the power of a unit."""
        negative = bool(self._taken("-"))
        digits = self._now.text
        if not (digits.isdecimal() and len(digits) == 1):
            raise Refused("the power of a unit is one digit")
        self._place += 1
        return -int(digits) if negative else int(digits)

    def _units(self) -> Shown:
        """Read the units that something is converted to."""
        if self._taken("%"):
            return (("%", 1),)
        shown, sign, last = list[tuple[str, int]](), 1, False
        while not last:
            if self._now.kind != "name":
                raise Refused("a unit is missing after the conversion")
            shown += [(symbol, sign * exponent) for symbol, exponent in self._unit()]
            mark = self._taken("*", "/")
            sign = -1 if mark == "/" else 1
            last = not mark and self._now.kind != "name"
        # A temperature scale keeps its zero only where it stands alone.
        return combined(shown) if len(shown) > 1 else tuple(shown)

    def _atom(self) -> Value:
        token = self._now
        self._place += 1
        if token.kind == "number":
            return _literal(token.text)
        if token.kind == "date":
            return _dated(token.text)
        if token.text == "(" and token.kind == "mark":
            return self._bracketed()
        if token.kind == "name":
            return self._named(token.text)
        raise Refused(f"a number is missing before {token.text!r}" if token.text else "a number is missing at the end")

    def _bracketed(self) -> Value:
        level = self._deeper()
        value = self._sum()
        self._expect(")")
        self._depth = level
        return value

    def _named(self, name: str) -> Value:
        """Return what a name at the beginning of an amount means."""
        if self._now.text == "(":
            return self._called(name)
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if name in _SCALES:
            return Quantity(Fraction(_SCALES[name]))
        if name in _CURRENCIES and self._now.kind == "number":
            self._place += 1
            return times(_literal(self._tokens[self._place - 1].text), _of_unit(name))
        self._place -= 1
        shown = self._unit()
        if _has_zero(shown):
            raise Refused(f"a temperature in {name} needs its number before it; write K for differences")
        return measured(Fraction(1), shown)

    def _called(self, name: str) -> Value:
        """Return the value of a function."""
        if name not in FUNCTIONS and name not in DATE_FUNCTIONS:
            there = ", ".join(sorted((*FUNCTIONS, *DATE_FUNCTIONS)))
            raise Refused(f"there is no function {name!r}; there are {there}")
        level = self._deeper()
        self._place += 1
        arguments = [] if self._now.text == ")" else [self._sum()]
        while self._taken(","):
            arguments.append(self._sum())
        self._expect(")")
        self._depth = level
        return _applied(name, arguments)


def _applied(name: str, arguments: Sequence[Value]) -> Value:
    if name in DATE_FUNCTIONS:
        wanted, of = DATE_FUNCTIONS[name]
        if len(arguments) != len(wanted) or not all(map(isinstance, arguments, wanted)):
            kinds = ", ".join("a date" if kind is date else "a number" for kind in wanted)
            raise Refused(f"`{name}` takes {kinds}")
        return of(*arguments)
    function = FUNCTIONS[name]
    if not function.least <= len(arguments) <= function.most:
        many = f"{function.least} to {function.most}" if function.most > function.least else f"{function.least}"
        raise Refused(f"`{name}` takes {many} argument(s), not {len(arguments)}")
    return function.of([_number(argument) for argument in arguments])


def _of_unit(name: str) -> Quantity:
    found = unit(name)
    assert found  # every sign of a currency is one
    return measured(Fraction(1), ((found.symbol, 1),))


def _has_zero(shown: Shown) -> bool:
    return any((found := unit(symbol)) is not None and bool(found.zero) for symbol, _ in shown)


def _literal(text: str) -> Quantity:
    """Return a number as it is written.

    Raises:
        Refused: it has too many digits.
    """
    digits, _, exponent = text.replace(",", "").replace("_", "").lower().partition("e")
    if len(exponent) > 5 or len(digits) + abs(int(exponent or 0)) > DIGITS:
        raise Refused(f"{text} has more than {DIGITS:,} digits")
    return Quantity(Fraction(digits) * Fraction(10) ** int(exponent or 0))


def _dated(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise Refused(f"there is no date {text}") from error


def _number(value: Value) -> Quantity:
    if isinstance(value, date):
        raise Refused("a date can only have days added or subtracted, or another date subtracted")
    return value


def _factor(value: Value) -> Quantity:
    number = _number(value)
    if _has_zero(number.shown):
        raise Refused("a temperature on a scale cannot be multiplied or divided: convert it to K first")
    return number


def _added(a: Value, b: Value, sign: int) -> Value:
    """Add or subtract numbers, days to a date, or two dates."""
    if isinstance(a, date) and isinstance(b, date) and sign == -1:
        return measured(Fraction((a - b).days), (("day", 1),))
    if isinstance(a, date):
        return _shifted(a, _number(b), sign)
    number = _number(b)
    if sign == 1 and _has_zero(a.shown) and _has_zero(number.shown):
        raise Refused("two temperatures on scales cannot be added: write K for what one is raised by")
    return plus(a, number, sign)


def _shifted(day: date, by: Quantity, sign: int) -> date:
    days = by.value / _DAY
    if by.dimension != (("s", 1),) or days.denominator != 1:
        raise Refused("a date is moved by whole days, as in `2024-03-01 + 10 days`")
    try:
        return day + timedelta(days=sign * days.numerator)
    except OverflowError as error:
        raise Refused("there are dates of the years 1 to 9999 only") from error


def _converted(value: Value, shown: Shown) -> Quantity:
    """Return a value in other units.

    Raises:
        Refused: it is of another kind.
    """
    number = _number(value)
    if Quantity(Fraction(1), shown).dimension != number.dimension:
        here = named(number.shown) if number.dimension else "a plain number"
        raise Refused(f"{here} cannot be converted to {named(shown)}")
    return replace(number, shown=shown)
