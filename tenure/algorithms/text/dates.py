"""Parse dates in the usual written forms into comparable ISO 8601 dates.

A date may be only a year or a month. It sorts as its first day and matches all of its days in filters. Ambiguous dates
such as 03/04/2001 are rejected.
"""

import calendar
import re
from datetime import date
from typing import NamedTuple

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_MONTH = r"(?P<month>[a-z]{3,9})\.?"  # "march", "Sept."; its first three letters decide.
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"  # "3", "3rd".
_YEAR = r"(?P<year>\d{4})"
# "2024-03-01", "2024.03", "2024"; "Fri, 1 Mar 2024", "1-Mar-2024"; "March 1, 2024", "March 2024".
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"{_YEAR}(?:(?P<between>[-/.])(?P<month>\d{{1,2}})(?:(?P=between)(?P<day>\d{{1,2}}))?)?(?=$|[T\s,;])",
        rf"(?:[a-z]{{3,9}},?\s+)?{_DAY}[-\s.]+{_MONTH}[-\s,]+{_YEAR}\b",
        rf"(?:{_MONTH}\s+{_DAY},?\s+|{_MONTH.replace('month', 'alone')},?\s+){_YEAR}\b",
    )
)


class DateRange(NamedTuple):
    """Days that a date covers, both ends included, in ISO 8601."""

    first: str
    last: str


def parse_date_range(text: str) -> DateRange | None:
    """Return the days that a written date covers; None if it is not a date or is ambiguous."""
    for form in _FORMS:
        if match := form.match(text.strip()):
            parts = match.groupdict()
            return _build_range(
                int(parts["year"]), _parse_number(parts["month"] or parts.get("alone")), _parse_number(parts.get("day"))
            )
    return None


def normalize_date(text: str) -> str:
    """Return the first day that a written date covers, in ISO 8601; empty if it is not a date."""
    period = parse_date_range(text)
    return period.first if period else ""


def _parse_number(text: str | None) -> int | None:
    """Return a day or month as a number; None if it is missing, 0 for a word that is not a month."""
    if text is None:
        return None
    return int(text) if text.isdigit() else _MONTHS.get(text[:3].lower(), 0)


def _build_range(year: int, month: int | None, day: int | None) -> DateRange | None:
    last_month = 12 if month is None else month
    try:
        first = date(year, 1 if month is None else month, 1 if day is None else day)
        last = first.replace(month=last_month, day=day or calendar.monthrange(year, last_month)[1])
    except ValueError:
        return None
    return DateRange(first.isoformat(), last.isoformat())
