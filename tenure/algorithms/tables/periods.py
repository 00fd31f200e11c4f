"""Find periods in questions: years, quarters, months, days, and the words that relate them to the rows of a table."""

import calendar
import re
from datetime import date, timedelta
from typing import Final, Literal, NamedTuple

from tenure.algorithms.tables.words import MONTHS

PeriodUnit = Literal["year", "quarter", "month", "day"]
"""Unit of time."""

_MONTH = rf"(?:{'|'.join(sorted(MONTHS, key=len, reverse=True))})"
_YEAR = r"(?:19|20)\d\d"
_ORDINALS: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4}
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"

_FORMS: Final = tuple(
    re.compile(rf"(?<![\w§]){form}(?![\w§])")
    for form in (
        rf"(?P<iso>{_YEAR}-\d\d(?:-\d\d)?)",
        rf"(?P<day>{_DAY}) (?:of )?(?P<month>{_MONTH}) (?P<year>{_YEAR})",
        rf"(?P<month>{_MONTH}) (?P<day>{_DAY}) (?P<year>{_YEAR})",
        rf"(?P<month>{_MONTH}) (?:of |in )?(?P<year>{_YEAR})",
        rf"q(?P<quarter>[1-4]) (?:of |in )?(?P<year>{_YEAR})",
        rf"(?P<year>{_YEAR}) q(?P<quarter>[1-4])",
        rf"(?:the )?(?P<ordinal>first|second|third|fourth) quarter (?:of |in )?(?P<year>{_YEAR})",
        rf"(?:the )?(?P<half>first|second) half (?:of |in )?(?P<year>{_YEAR})",
        rf"(?:the year )?(?P<year>{_YEAR})",
        rf"(?<=in )(?P<month>{_MONTH})",
        rf"(?<=during )(?P<month>{_MONTH})",
    )
)
_BEFORE_PERIOD = r"(?:in|during|for|of|on|throughout|within|over|from)"
_RANGE_WORDS = rf"(?:{_BEFORE_PERIOD} |the (?:years|months|period) )*"
_PAIRS: Final = (
    (re.compile(rf"{_RANGE_WORDS}between (?:the years )?§p(\d) and §p(\d)"), True),
    (re.compile(rf"{_RANGE_WORDS}§p(\d) (?:to|until|till|through) §p(\d)"), True),
    (
        re.compile(
            rf"{_RANGE_WORDS}(?:the years )?§p(\d) (?:and|vs|versus|with|or|compared (?:to|with)) "
            rf"(?:{_BEFORE_PERIOD} )?§p(\d)"
        ),
        False,
    ),
)
"""Pairs of periods, and whether they are the ends of a range."""
_BOUNDS: Final = {
    "since": re.compile(r"(?:since|starting (?:in|from)|from(?= §p\d on)) §p\d(?: onwards?| on)?"),
    "after": re.compile(r"after §p\d"),
    "before": re.compile(r"before §p\d"),
    "until": re.compile(r"(?:until|till|up to|through|by the end of) §p\d"),
    "in": re.compile(rf"(?:{_BEFORE_PERIOD} )*(?:the )?§p\d"),
}
"""Words before a single period, in the order in which they are tried."""


class Period(NamedTuple):
    """Days that a written period covers, or a month of every year."""

    unit: PeriodUnit
    """Unit in which it is written; a half year counts as quarters."""
    first: date
    """First day."""
    last: date
    """Last day."""
    name: str
    """Period in words."""
    any_year: bool = False
    """Whether it means the month of every year."""


class PeriodCondition(NamedTuple):
    """Condition on the dates of rows: one of some spans of days."""

    spans: tuple[tuple[date | None, date | None], ...]
    """First and last days; None for no bound."""
    name: str
    """Condition in words."""
    month: int | None = None
    """Month of every year; None for a condition on days."""


class PeriodReading(NamedTuple):
    """Periods of a question."""

    text: str
    """Question without its periods."""
    condition: PeriodCondition | None = None
    """Condition on the rows; None for none."""
    compared: tuple[Period, ...] = ()
    """Periods to compare, in order of time; the condition covers them."""
    problem: str = ""
    """Reason why the periods are not understood; empty if they are."""


MAX_QUESTION_CHARACTERS = 2_000
"""Maximum characters of a question whose periods are read."""


def read_periods(text: str) -> PeriodReading:
    """Find the periods of a normalized question and what they mean for the rows."""
    if len(text) > MAX_QUESTION_CHARACTERS:
        return PeriodReading(text)
    found: list[Period] = []
    marked = text
    for form in _FORMS:
        while match := form.search(marked):
            period = _build_period(match)
            if period is None:
                return PeriodReading(text, problem=f"“{match.group()}” is not a date")
            marked = f"{marked[: match.start()]}§p{len(found)}{marked[match.end() :]}"
            found.append(period)
    return _relate(marked, found) if found else PeriodReading(text)


def _build_period(match: re.Match[str]) -> Period | None:
    parts = match.groupdict()
    name = match.group().removeprefix("the ").removeprefix("year ")
    try:
        if iso := parts.get("iso"):
            year, month, *day = map(int, iso.split("-"))
            return _build_day(year, month, day[0], iso) if day else _build_months(year, month, 1, "month", iso)
        if parts.get("year") is None:
            month = MONTHS[parts["month"]]
            return _build_months(2000, month, 1, "month", name.capitalize())._replace(any_year=True)
        year = int(parts["year"])
        if quarter := parts.get("quarter") or _ORDINALS.get(parts.get("ordinal") or "", 0):
            return _build_months(year, 3 * int(quarter) - 2, 3, "quarter", f"Q{quarter} {year}")
        if half := _ORDINALS.get(parts.get("half") or "", 0):
            return _build_months(year, 6 * half - 5, 6, "quarter", name)
        if parts.get("month"):
            month = MONTHS[parts["month"]]
            if day_text := parts.get("day"):
                return _build_day(year, month, int(re.sub(r"\D", "", day_text)), name.title())
            return _build_months(year, month, 1, "month", f"{calendar.month_name[month]} {year}")
    except ValueError:
        return None
    return _build_months(year, 1, 12, "year", str(year))


def _build_day(year: int, month: int, day: int, name: str) -> Period:
    return Period("day", date(year, month, day), date(year, month, day), name)


def _build_months(year: int, month: int, count: int, unit: PeriodUnit, name: str) -> Period:
    last = month + count - 1
    end = date(year, last, calendar.monthrange(year, last)[1])
    return Period(unit, date(year, month, 1), end, name)


def _relate(text: str, found: list[Period]) -> PeriodReading:
    """Read the words around the periods of a question, which are marked by §p and their number."""
    for pattern, is_range in _PAIRS:
        if match := pattern.search(text):
            a, b = sorted((found[int(match[1])], found[int(match[2])]), key=lambda period: period.first)
            if a.any_year or b.any_year or len(found) > 2:
                break
            spans = ((a.first, b.last),) if is_range else ((a.first, a.last), (b.first, b.last))
            name = f"from {a.name} to {b.name}" if is_range else f"in {a.name} and {b.name}"
            return PeriodReading(_cut(text, match), PeriodCondition(spans, name), (a, b))
    if len(found) > 1:
        return PeriodReading(text, problem="more than one period is named")
    for word, pattern in _BOUNDS.items():
        if match := pattern.search(text):
            return _bound(_cut(text, match), word, found[0])
    return PeriodReading(text, problem="its periods are not understood")


def _bound(rest: str, word: str, period: Period) -> PeriodReading:
    """Return the condition that a word and a period express."""
    if period.any_year:
        if word != "in":
            return PeriodReading(rest, problem=f"“{period.name}” has no year")
        month = period.first.month
        return PeriodReading(rest, PeriodCondition((), f"in {calendar.month_name[month]} of every year", month))
    one_day = timedelta(days=1)
    spans = {
        "since": (period.first, None),
        "after": (period.last + one_day, None),
        "before": (None, period.first - one_day),
        "until": (None, period.last),
        "in": (period.first, period.last),
    }
    return PeriodReading(rest, PeriodCondition((spans[word],), f"{word} {period.name}"))


def _cut(text: str, match: re.Match[str]) -> str:
    return " ".join(f"{text[: match.start()]} {text[match.end() :]}".split())
