"""Translate filters into an SQL condition that the database applies before the search.

No part of a filter is copied into the condition: the field is looked up, a number is formatted from an integer, and a
text is quoted.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from tenure.algorithms.text.dates import DateRange, parse_date_range
from tenure.contracts.evidence.filters import Filter, FilterValue
from tenure.knowledge.store.errors import InvalidSearch
from tenure.knowledge.store.schema import FILTER_COLUMNS, FilterColumn
from tenure.knowledge.store.store import quote_literal

_MAX_VALUES = 1000

T = TypeVar("T")


def build_condition(filters: Sequence[Filter]) -> str:
    """Return the conjunction of all filters as SQL; empty without filters.

    Raises:
        InvalidSearch: a field is unknown, a value has the wrong type, or a filter has no criterion.
    """
    return " AND ".join(part for spec in filters for part in _build_parts(spec))


def _build_parts(spec: Filter) -> Iterator[str]:
    field = FILTER_COLUMNS.get(spec.field)
    if field is None:
        raise _refuse(spec, f"unknown field; available: {', '.join(FILTER_COLUMNS)}")
    if spec.equals is None and spec.any_of is None and spec.min is None and spec.max is None:
        raise _refuse(spec, "give equals, any_of, min or max")
    yield from {"text": _build_text_parts, "number": _build_number_parts, "date": _build_date_parts}[field.kind](
        spec, field
    )


def _build_text_parts(spec: Filter, field: FilterColumn) -> Iterator[str]:
    def to_sql(value: FilterValue) -> str:
        return quote_literal(_require(spec, value, "a text", value if isinstance(value, str) else None))

    return _build_comparisons(spec, field, to_sql)


def _build_number_parts(spec: Filter, field: FilterColumn) -> Iterator[str]:
    def to_sql(value: FilterValue) -> str:
        # In Python `True` is an integer; a column holds 64 bits.
        is_integer = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
        return str(_require(spec, value, "a whole number", value if is_integer else None))

    return _build_comparisons(spec, field, to_sql)


def _build_comparisons(spec: Filter, field: FilterColumn, to_sql: Callable[[FilterValue], str]) -> Iterator[str]:
    if spec.equals is not None:
        yield f"{field.column} = {to_sql(spec.equals)}"
    if spec.any_of is not None:
        yield f"{field.column} IN ({', '.join(to_sql(value) for value in _list_values(spec))})"
    if spec.min is not None:
        yield f"{field.column} >= {to_sql(spec.min)}"
    if spec.max is not None:
        yield f"{field.column} <= {to_sql(spec.max)}"


def _build_date_parts(spec: Filter, field: FilterColumn) -> Iterator[str]:
    def to_period(value: FilterValue) -> DateRange:
        period = parse_date_range(value) if isinstance(value, str) else None
        return _require(spec, value, "a date such as 2001, 2001-03 or 2001-03-12", period)

    def in_period(value: FilterValue) -> str:
        first, last = to_period(value)
        return f"({field.column} >= {quote_literal(first)} AND {field.column} <= {quote_literal(last)})"

    if spec.equals is not None:
        yield in_period(spec.equals)
    if spec.any_of is not None:
        yield "(" + " OR ".join(in_period(value) for value in _list_values(spec)) + ")"
    if spec.min is not None:
        yield f"{field.column} >= {quote_literal(to_period(spec.min).first)}"
    if spec.max is not None:
        # An unknown date is an empty string, which sorts before every date.
        yield f"({field.column} <> '' AND {field.column} <= {quote_literal(to_period(spec.max).last)})"


def _refuse(spec: Filter, reason: str) -> InvalidSearch:
    return InvalidSearch(f"invalid filter on {spec.field[:60]!r}: {reason}")


def _list_values(spec: Filter) -> tuple[FilterValue, ...]:
    values = spec.any_of or ()
    if not 0 < len(values) <= _MAX_VALUES:
        raise _refuse(spec, f"any_of lists {len(values)} values; it may list 1 to {_MAX_VALUES}")
    return values


def _require(spec: Filter, value: FilterValue, expected: str, parsed: T | None) -> T:
    if parsed is None:
        raise _refuse(spec, f"{str(value)[:60]!r} is not {expected}")
    return parsed
