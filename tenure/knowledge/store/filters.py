"""Filters as a condition in SQL, which the database applies before it searches.

Nothing of a filter reaches the condition as it is: a field is looked up, a number is printed from a
number, and a text is quoted.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from tenure.algorithms.text.dates import Period, period
from tenure.contracts.evidence.filters import Filter, Scalar
from tenure.knowledge.store.errors import InvalidFilter
from tenure.knowledge.store.schema import FILTERABLE, Field
from tenure.knowledge.store.store import literal

_MOST_VALUES = 1000

T = TypeVar("T")


def condition(filters: Sequence[Filter]) -> str:
    """Return the condition that all filters together are, empty for none.

    Raises:
        InvalidFilter: a field is unknown, a value is of the wrong kind, or nothing is asked of the field.
    """
    return " AND ".join(part for one in filters for part in _parts(one))


def _parts(one: Filter) -> Iterator[str]:
    field = FILTERABLE.get(one.field)
    if field is None:
        raise InvalidFilter(one.field, f"there is no such field; there are {', '.join(FILTERABLE)}")
    if one.equals is None and one.any_of is None and one.min is None and one.max is None:
        raise InvalidFilter(one.field, "give equals, any_of, min or max")
    yield from {"text": _text_parts, "number": _number_parts, "date": _date_parts}[field.kind](one, field)


def _text_parts(one: Filter, field: Field) -> Iterator[str]:
    def written(value: Scalar) -> str:
        return literal(_checked(one, value, "a text", value if isinstance(value, str) else None))

    return _compared(one, field, written)


def _number_parts(one: Filter, field: Field) -> Iterator[str]:
    def written(value: Scalar) -> str:
        # `True` is an integer in Python only; a column holds 64 bits.
        whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
        return str(_checked(one, value, "a whole number", value if whole else None))

    return _compared(one, field, written)


def _compared(one: Filter, field: Field, written: Callable[[Scalar], str]) -> Iterator[str]:
    if one.equals is not None:
        yield f"{field.column} = {written(one.equals)}"
    if one.any_of is not None:
        yield f"{field.column} IN ({', '.join(written(value) for value in _listed(one))})"
    if one.min is not None:
        yield f"{field.column} >= {written(one.min)}"
    if one.max is not None:
        yield f"{field.column} <= {written(one.max)}"


def _date_parts(one: Filter, field: Field) -> Iterator[str]:
    def days(value: Scalar) -> Period:
        found = period(value) if isinstance(value, str) else None
        return _checked(one, value, "a date such as 2001, 2001-03 or 2001-03-12", found)

    def within(value: Scalar) -> str:
        first, last = days(value)
        return f"({field.column} >= {literal(first)} AND {field.column} <= {literal(last)})"

    if one.equals is not None:
        yield within(one.equals)
    if one.any_of is not None:
        yield "(" + " OR ".join(within(value) for value in _listed(one)) + ")"
    if one.min is not None:
        yield f"{field.column} >= {literal(days(one.min).first)}"
    if one.max is not None:
        # The empty text of an unknown date comes before every date.
        yield f"({field.column} <> '' AND {field.column} <= {literal(days(one.max).last)})"


def _listed(one: Filter) -> tuple[Scalar, ...]:
    values = one.any_of or ()
    if not 0 < len(values) <= _MOST_VALUES:
        raise InvalidFilter(one.field, f"any_of lists {len(values)} values; it may list 1 to {_MOST_VALUES}")
    return values


def _checked(one: Filter, value: Scalar, wanted: str, read: T | None) -> T:
    if read is None:
        raise InvalidFilter(one.field, f"{str(value)[:60]!r} is not {wanted}")
    return read
