"""Dates as documents write them, made comparable: ISO 8601 text sorts by time.

A document may say only a year or a month. Such a date stands for its first day where documents are
sorted, and for all of its days where somebody asks for them. What can be read in two ways, as
03/04/2001 can, is not guessed at.
"""

import calendar
import re
from datetime import date
from typing import NamedTuple

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_MONTH = r"(?P<month>[a-z]{3,9})\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"{_YEAR}(?:(?P<between>[-/.])(?P<month>\d{{1,2}})(?:(?P=between)(?P<day>\d{{1,2}}))?)?(?=$|[T\s,;])",
        rf"(?:[a-z]{{3,9}},?\s+)?{_DAY}[-\s.]+{_MONTH}[-\s,]+{_YEAR}\b",
        rf"(?:{_MONTH}\s+{_DAY},?\s+|{_MONTH.replace('month', 'alone')},?\s+){_YEAR}\b",
    )
)


class Period(NamedTuple):
    """The days a date may mean, both included, in ISO 8601."""

    first: str
    last: str


def period(text: str) -> Period | None:
    """Return the days that a written date stands for; None where it is none, or can be read in two ways."""
    for form in _FORMS:
        if found := form.match(text.strip()):
            parts = found.groupdict()
            return _days(int(parts["year"]), _number(parts["month"] or parts.get("alone")), _number(parts.get("day")))
    return None


def iso_date(text: str) -> str:
    """Return the first day that a written date stands for, in ISO 8601; empty where it is no date."""
    found = period(text)
    return found.first if found else ""


def _number(written: str | None) -> int | None:
    """Return a day or month as a number; None where there is none, 0 for a word that is no month."""
    if written is None:
        return None
    return int(written) if written.isdigit() else _MONTHS.get(written[:3].lower(), 0)


def _days(year: int, month: int | None, day: int | None) -> Period | None:
    try:
        first = date(year, 1 if month is None else month, 1 if day is None else day)
    except ValueError:
        return None
    if day is not None:
        last = first
    elif month is not None:
        last = first.replace(day=calendar.monthrange(year, month)[1])
    else:
        last = first.replace(month=12, day=31)
    return Period(first.isoformat(), last.isoformat())
