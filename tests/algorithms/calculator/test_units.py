"""Tests of units."""

from fractions import Fraction

import pytest

from tenure.algorithms.calculator.units import compute_dimension, find_unit, list_base_units


@pytest.mark.parametrize(
    ("name", "symbol", "factor"),
    [
        ("km", "km", Fraction(1000)),
        ("kilometres", "km", Fraction(1000)),
        ("Kilometers", "km", Fraction(1000)),
        ("mm", "mm", Fraction(1, 1000)),
        ("um", "µm", Fraction(1, 10**6)),
        ("min", "min", Fraction(60)),
        ("minutes", "min", Fraction(60)),
        ("inches", "in", Fraction(254, 10_000)),
        ("feet", "ft", Fraction(3048, 10_000)),
        ("MB", "MB", Fraction(8 * 10**6)),
        ("KB", "kB", Fraction(8000)),
        ("MiB", "MiB", Fraction(8 * 1024**2)),
        ("gigabytes", "GB", Fraction(8 * 10**9)),
        ("kilowatthours", "kWh", Fraction(3_600_000)),
        ("kilopascals", "kPa", Fraction(1000)),
        ("megabits", "Mbit", Fraction(10**6)),
        ("bars", "bar", Fraction(100_000)),
        ("mmHg", "mmHg", Fraction("133.322387415")),
        ("€", "EUR", Fraction(1)),
        ("dollars", "USD", Fraction(1)),
        ("Celsius", "degC", Fraction(1)),
        ("°F", "degF", Fraction(5, 9)),
    ],
)
def test_units_are_found_by_symbols_and_names(name: str, symbol: str, factor: Fraction) -> None:
    """Plurals and prefixes are accepted."""
    found = find_unit(name)

    assert found is not None
    assert (found.symbol, found.factor) == (symbol, factor)


@pytest.mark.parametrize("name", ["month", "kmin", "kmi", "Kig", "xm", "M", "kilo", "kiloinch", "KHz", ""])
def test_unknown_units(name: str) -> None:
    """Units of variable size and invalid prefixes are rejected."""
    assert find_unit(name) is None


def test_dimension_is_a_product_of_powers() -> None:
    """Powers are summed, and cancelled ones are removed."""
    assert compute_dimension([("m", 1), ("s", -1), ("m", 1), ("s", 1)]) == (("m", 2),)


def test_base_units_have_positive_powers_first() -> None:
    """Base units have positive powers first."""
    assert list_base_units((("K", -1), ("kg", 1), ("m", 2))) == (("m", 2), ("kg", 1), ("K", -1))
