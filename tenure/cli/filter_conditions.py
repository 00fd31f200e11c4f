"""Conditions on passages as the command line writes them: `published>=2020`, `kind=prose`, `suffix=.md,.rst`."""

import re
from datetime import date

from tenure.cli.errors import UsageError
from tenure.contracts.evidence.filters import FIELDS, Filter, Scalar

_CONDITION = re.compile(r"\s*([a-z]+)\s*(>=|<=|=)\s*(.+?)\s*", re.DOTALL)
_DATE = re.compile(r"\d{4}(?:-\d{2}){0,2}")
_MOST = 20


def filters_of(conditions: list[str]) -> tuple[Filter, ...]:
    """Read conditions, all of which a passage has to meet.

    Raises:
        UsageError: one cannot be read, names no field there is, or compares it with what it cannot be.
    """
    if len(conditions) > _MOST:
        raise UsageError(f"there are {len(conditions)} filters; give at most {_MOST}")
    return tuple(_filter(condition) for condition in dict.fromkeys(conditions))


def _filter(condition: str) -> Filter:
    read = _CONDITION.fullmatch(condition)
    if read is None:
        raise UsageError(
            f"the filter {condition[:80]!r} cannot be read: write FIELD=VALUE, FIELD>=VALUE, FIELD<=VALUE "
            "or FIELD=ONE,ANOTHER"
        )
    field, sign, written = read.groups()
    if field not in FIELDS:
        raise UsageError(f"there is no field {field!r} to filter by; there are {', '.join(FIELDS)}")
    if sign == "=":
        values = tuple(_value(field, value) for value in written.split(",") if value.strip())
        if not values:
            raise UsageError(f"the filter {condition[:80]!r} names no value")
        return Filter(field=field, equals=values[0]) if len(values) == 1 else Filter(field=field, any_of=values)
    value = _value(field, written)
    return Filter(field=field, min=value) if sign == ">=" else Filter(field=field, max=value)


def _value(field: str, written: str) -> Scalar:
    value = written.strip()
    match FIELDS[field]:
        case "number":
            if not re.fullmatch(r"\d{1,9}", value):
                raise UsageError(f"{field} is a whole number, and {value[:60]!r} is none")
            return int(value)
        case "date":
            if not _is_date(value):
                raise UsageError(f"{field} is a date such as 2001, 2001-03 or 2001-03-12, and {value[:60]!r} is none")
    return value


def _is_date(value: str) -> bool:
    """Tell whether a text is a year, a month or a day that there is."""
    if not _DATE.fullmatch(value):
        return False
    try:
        date.fromisoformat(value + "-01" * (2 - value.count("-")))
    except ValueError:
        return False
    return True
