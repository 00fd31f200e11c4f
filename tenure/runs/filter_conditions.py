"""Parse filter conditions: `published>=2020`, `kind=prose`, `suffix=.md,.rst`."""

import re
from collections.abc import Sequence
from datetime import date

from tenure.contracts.evidence.filters import FILTER_FIELDS, Filter, FilterValue
from tenure.runs.errors import InvalidRequest

# "language=en", "date >= 2024-05".
_CONDITION = re.compile(r"\s*([a-z]+)\s*(>=|<=|=)\s*(.+?)\s*", re.DOTALL)
# "2024", "2024-05", "2024-05-31".
_DATE = re.compile(r"\d{4}(?:-\d{2}){0,2}")
_MAX_VALUES = 20


def parse_filters(conditions: Sequence[str]) -> tuple[Filter, ...]:
    """Parse conditions, all of which a passage must meet.

    Raises:
        InvalidRequest: a condition is malformed, names an unknown field, or has a value of the wrong type.
    """
    if len(conditions) > _MAX_VALUES:
        raise InvalidRequest(f"there are {len(conditions)} filters; give at most {_MAX_VALUES}")
    return tuple(_filter(condition) for condition in dict.fromkeys(conditions))


def _filter(condition: str) -> Filter:
    read = _CONDITION.fullmatch(condition)
    if read is None:
        raise InvalidRequest(
            f"the filter {condition[:80]!r} cannot be read: write FIELD=VALUE, FIELD>=VALUE, FIELD<=VALUE "
            "or FIELD=ONE,ANOTHER"
        )
    field, sign, text = read.groups()
    if field not in FILTER_FIELDS:
        raise InvalidRequest(f"there is no field {field!r} to filter by; there are {', '.join(FILTER_FIELDS)}")
    if sign == "=":
        values = tuple(_value(field, value) for value in text.split(",") if value.strip())
        if not values:
            raise InvalidRequest(f"the filter {condition[:80]!r} names no value")
        return Filter(field=field, equals=values[0]) if len(values) == 1 else Filter(field=field, any_of=values)
    value = _value(field, text)
    return Filter(field=field, min=value) if sign == ">=" else Filter(field=field, max=value)


def _value(field: str, text: str) -> FilterValue:
    value = text.strip()
    match FILTER_FIELDS[field]:
        case "number":
            if not re.fullmatch(r"\d{1,9}", value):
                raise InvalidRequest(f"{field} is a whole number, and {value[:60]!r} is none")
            return int(value)
        case "date":
            if not _is_date(value):
                raise InvalidRequest(
                    f"{field} is a date such as 2001, 2001-03 or 2001-03-12, and {value[:60]!r} is none"
                )
    return value


def _is_date(value: str) -> bool:
    """Return whether a text is an existing year, month or day."""
    if not _DATE.fullmatch(value):
        return False
    try:
        date.fromisoformat(value + "-01" * (2 - value.count("-")))
    except ValueError:
        return False
    return True
