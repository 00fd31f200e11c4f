"""Define units of measurement with exact factors to base units, and decimal and binary prefixes.

A unit is identified by its symbol; `kilometres` becomes `km`. All factors are exact by definition, so conversions are
lossless. Units of variable size, such as a month, are not defined.

Pint would replace little: it reads `a` as year and `at` as technical atmosphere, it loads its definitions from a file,
which workflows may not do, and loading takes seconds.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

Dimension = tuple[tuple[str, int], ...]
"""Powers of base units, sorted by name."""


class Unit(NamedTuple):
    """Unit of measurement."""

    symbol: str
    factor: Fraction
    """Number of base units."""
    dimension: Dimension
    offset: Fraction = Fraction(0)
    """Zero point in base units; only temperature scales have one."""


_BASES: Final = ("m", "kg", "s", "A", "K", "mol", "cd", "bit", "USD", "EUR", "GBP", "JPY", "CHF", "CNY", "INR")

_UNITS: Final = """
m    | 1                  | m          | si | metre meter
g    | 1/1000             | kg         | si | gram gramme
s    | 1                  | s          | si | sec second
A    | 1                  | A          | si | amp ampere
K    | 1                  | K          | si | kelvin
mol  | 1                  | mol        | si | mole
cd   | 1                  | cd         | si | candela
bit  | 1                  | bit        | si bin |
B    | 8                  | bit        | si bin | byte
Hz   | 1                  | s-1        | si | hertz
N    | 1                  | kg m s-2   | si | newton
Pa   | 1                  | kg m-1 s-2 | si | pascal
J    | 1                  | kg m2 s-2  | si | joule
W    | 1                  | kg m2 s-3  | si | watt
V    | 1                  | kg m2 s-3 A-1 | si | volt
ohm  | 1                  | kg m2 s-3 A-2 | si | Ω
L    | 1/1000             | m3         | si | l litre liter
t    | 1000               | kg         | si | tonne ton_metric
Wh   | 3600               | kg m2 s-2  | si | watthour
eV   | 1602176634e-28     | kg m2 s-2  | si | electronvolt
cal  | 4.184              | kg m2 s-2  | si | calorie
bar  | 100000             | kg m-1 s-2 | si |
min  | 60                 | s          |    | minute
h    | 3600               | s          |    | hr hour
day  | 86400              | s          |    | d
week | 604800             | s          |    | wk
year | 31557600           | s          |    | yr
in   | 0.0254             | m          |    | inch inches
ft   | 0.3048             | m          |    | foot feet
yd   | 0.9144             | m          |    | yard
mi   | 1609.344           | m          |    | mile
nmi  | 1852               | m          |    |
au   | 149597870700       | m          |    |
ly   | 9460730472580800   | m          |    | lightyear
ha   | 10000              | m2         |    | hectare
acre | 4046.8564224       | m2         |    |
gal  | 0.003785411784     | m3         |    | gallon
pt   | 0.000473176473     | m3         |    | pint
lb   | 0.45359237         | kg         |    | pound lbs
oz   | 0.028349523125     | kg         |    | ounce
stone | 6.35029318        | kg         |    |
mph  | 0.44704            | m s-1      |    |
kph  | 1000/3600          | m s-1      |    | kmh
kn   | 1852/3600          | m s-1      |    | knot
lbf  | 4.4482216152605    | kg m s-2   |    |
atm  | 101325             | kg m-1 s-2 |    | atmosphere
psi  | 4.4482216152605/0.00064516 | kg m-1 s-2 | |
mmHg | 133.322387415      | kg m-1 s-2 |    |
BTU  | 1055.05585262      | kg m2 s-2  |    | btu
hp   | 745.69987158227022 | kg m2 s-3  |    | horsepower
rpm  | 1/60               | s-1        |    |
USD  | 1                  | USD        |    | $ dollar
EUR  | 1                  | EUR        |    | € euro
GBP  | 1                  | GBP        |    | £
JPY  | 1                  | JPY        |    | ¥ yen
CHF  | 1                  | CHF        |    |
CNY  | 1                  | CNY        |    | yuan
INR  | 1                  | INR        |    | ₹ rupee
%    | 1/100              |            |    |
"""

_SI: Final = {
    **{"f": -15, "p": -12, "n": -9, "µ": -6, "u": -6, "m": -3, "c": -2, "d": -1, "h": 2},
    **{"k": 3, "M": 6, "G": 9, "T": 12, "P": 15},
}
_SI_NAMES: Final = {
    **{"femto": "f", "pico": "p", "nano": "n", "micro": "µ", "milli": "m", "centi": "c", "deci": "d", "hecto": "h"},
    **{"kilo": "k", "mega": "M", "giga": "G", "tera": "T", "peta": "P"},
}
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5}

_TEMPERATURE_SCALES: Final = (
    Unit("degC", Fraction(1), (("K", 1),), Fraction("273.15")),
    Unit("degF", Fraction(5, 9), (("K", 1),), Fraction("459.67") * Fraction(5, 9)),
)
_SCALE_NAMES: Final = {
    **dict.fromkeys(("degC", "°C", "celsius", "degree_celsius"), _TEMPERATURE_SCALES[0]),
    **dict.fromkeys(("degF", "°F", "fahrenheit", "degree_fahrenheit"), _TEMPERATURE_SCALES[1]),
}


class _UnitRow(NamedTuple):
    """Unit with its allowed prefixes and alternative names."""

    unit: Unit
    prefixes: frozenset[str]
    names: tuple[str, ...]


def _parse_row(line: str) -> _UnitRow:
    symbol, factor, powers, prefixes, names = (cell.strip() for cell in line.split("|"))
    whole, _, part = factor.partition("/")
    unit = Unit(symbol, Fraction(whole) / Fraction(part or 1), compute_dimension(map(_parse_power, powers.split())))
    return _UnitRow(unit, frozenset(prefixes.split()), tuple(names.split()))


def _parse_power(text: str) -> tuple[str, int]:
    base = text.rstrip("-0123456789")
    return base, int(text[len(base) :] or 1)


def compute_dimension(powers: Iterable[tuple[str, int]]) -> Dimension:
    """Return the dimension of a product of powers of base units."""
    summed: dict[str, int] = {}
    for base, power in powers:
        summed[base] = summed.get(base, 0) + power
    return tuple(sorted((base, power) for base, power in summed.items() if power))


_ROWS: Final = tuple(_parse_row(line) for line in _UNITS.strip().splitlines())
_BY_SYMBOL: Final[Mapping[str, _UnitRow]] = {row.unit.symbol: row for row in _ROWS}
_BY_NAME: Final[Mapping[str, _UnitRow]] = {name: row for row in _ROWS for name in row.names}


@lru_cache(maxsize=1024)
def find_unit(name: str) -> Unit | None:
    """Return the unit with a symbol or name; None if it does not exist.

    Symbols are case-sensitive. Names ignore case and may be in the plural or have a prefix word.
    """
    if name in _SCALE_NAMES or name.lower() in _SCALE_NAMES:
        return _SCALE_NAMES.get(name) or _SCALE_NAMES[name.lower()]
    return _find_by_symbol(name) or _find_by_name(name.lower())


def _find_by_symbol(name: str) -> Unit | None:
    if row := _BY_SYMBOL.get(name) or _BY_NAME.get(name):
        return row.unit
    for length in (2, 1):
        prefix, row = name[:length], _BY_SYMBOL.get(name[length:])
        if row and prefix in _BINARY and "bin" in row.prefixes:
            return _apply_prefix(row.unit, prefix, Fraction(1024) ** _BINARY[prefix])
        if row and prefix in _SI and "si" in row.prefixes:
            return _apply_prefix(row.unit, prefix, Fraction(10) ** _SI[prefix])
    # A large K is a common, unambiguous spelling of kilobytes.
    return _find_by_symbol("k" + name[1:]) if name in ("KB", "Kbit") else None


def _find_by_name(name: str) -> Unit | None:
    for form in (name, name.removesuffix("s"), name.removesuffix("es")):
        if row := _BY_NAME.get(form) or (_BY_SYMBOL.get(form) if len(form) > 2 else None):
            return row.unit
        for words, prefix in _SI_NAMES.items():
            rest = form.removeprefix(words)
            row = _BY_NAME.get(rest) or (_BY_SYMBOL.get(rest) if len(rest) > 2 else None)
            if rest != form and row and "si" in row.prefixes:
                return _apply_prefix(row.unit, prefix, Fraction(10) ** _SI[prefix])
    return None


def _apply_prefix(unit: Unit, prefix: str, by: Fraction) -> Unit:
    symbol = ("µ" if prefix == "u" else prefix) + unit.symbol
    return Unit(symbol, unit.factor * by, unit.dimension)


def list_base_units(of: Dimension) -> tuple[tuple[str, int], ...]:
    """Return the default units of a dimension."""
    return tuple(sorted(of, key=lambda power: (power[1] < 0, _BASES.index(power[0]))))
