"""Define units of measurement with exact factors to base units, and decimal and binary prefixes.

A unit is identified by its symbol; `kilometres` becomes `km`. All factors are exact by definition, so conversions are
lossless. Units of variable size, such as a month, are not defined.

Pint would replace little: it reads `a` as year and `at` as technical atmosphere, it loads its definitions from a file,
which workflows may not do, and loading takes seconds.
"""

from collections.abc import Iterable
from fractions import Fraction
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
    **{"f": "femto", "p": "pico", "n": "nano", "µ": "micro", "m": "milli", "c": "centi", "d": "deci", "h": "hecto"},
    **{"k": "kilo", "M": "mega", "G": "giga", "T": "tera", "P": "peta"},
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


def compute_dimension(powers: Iterable[tuple[str, int]]) -> Dimension:
    """Return the dimension of a product of powers of base units."""
    summed: dict[str, int] = {}
    for base, power in powers:
        summed[base] = summed.get(base, 0) + power
    return tuple(sorted((base, power) for base, power in summed.items() if power))


def _list_units() -> tuple[dict[str, Unit], dict[str, Unit]]:
    """Return all units with their prefixes, by symbol and by name; a unit comes before one with a prefix (`min`)."""
    symbols, names = dict(_SCALE_NAMES), dict(_SCALE_NAMES)
    with_prefix: list[tuple[dict[str, Unit], str, Unit]] = []
    for line in _UNITS.strip().splitlines():
        symbol, factor, powers, prefixes, listed = (cell.strip() for cell in line.split("|"))
        numerator, _, denominator = factor.partition("/")
        bases = ((power.rstrip("-0123456789"), power) for power in powers.split())
        dimension = compute_dimension((base, int(power[len(base) :] or 1)) for base, power in bases)
        unit = Unit(symbol, Fraction(numerator) / Fraction(denominator or 1), dimension)
        own_names = [*listed.split(), *([symbol] if len(symbol) > 2 else [])]
        symbols |= dict.fromkeys((symbol, *listed.split()), unit)
        names |= dict.fromkeys(own_names, unit)
        powers_of_ten = _SI if "si" in prefixes else {}
        factors = {prefix: Fraction(10) ** power for prefix, power in powers_of_ten.items()}
        factors |= {prefix: Fraction(1024) ** n for prefix, n in _BINARY.items() if "bin" in prefixes}
        for prefix, by in factors.items():
            prefixed = Unit(prefix.replace("u", "µ") + symbol, unit.factor * by, dimension)
            with_prefix.append((symbols, prefix + symbol, prefixed))
            if word := _SI_NAMES.get(prefix):
                with_prefix += [(names, word + name, prefixed) for name in own_names]
    for table, name, unit in with_prefix:
        table.setdefault(name, unit)
    return symbols, names


_BY_SYMBOL, _BY_NAME = _list_units()


def find_unit(name: str) -> Unit | None:
    """Return the unit with a symbol or name; None if it does not exist.

    Symbols are case-sensitive. Names ignore case and may be in the plural or have a prefix word.
    """
    lower = name.lower()
    forms = (lower, lower.removesuffix("s"), lower.removesuffix("es"))
    # A large K is a common, unambiguous spelling of kilobytes.
    symbol = "k" + name[1:] if name in ("KB", "Kbit") else name
    return _BY_SYMBOL.get(symbol) or next((_BY_NAME[form] for form in forms if form in _BY_NAME), None)


def list_base_units(dimension: Dimension) -> tuple[tuple[str, int], ...]:
    """Return the default units of a dimension."""
    return tuple(sorted(dimension, key=lambda power: (power[1] < 0, _BASES.index(power[0]))))
