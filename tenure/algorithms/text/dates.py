"""Parse dates in the usual written forms of many languages into comparable ISO 8601 dates.

A date may be only a year or a month. It sorts as its first day and matches all of its days in filters. Ambiguous dates
are rejected, such as 03/04/2001, and "listopad", which is October in Croatian and November in Polish.
"""

import calendar
import re
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from tenure.algorithms.text.languages.detection import LANGUAGES

_ENGLISH_MONTHS = {
    name.lower(): number for names in (calendar.month_name, calendar.month_abbr) for number, name in enumerate(names)
} | {"sept": 9}
_MONTH = r"(?P<month>[^\W\d_][^\d\s.,/-]{1,14})\.?"  # "march", "Sept.", "märz".
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|[ºª°])?"  # "3", "3rd", "1er", "1º".
_YEAR = r"(?P<year>\d{4})"
_OF = r"(?:(?:de|del)\s+|d[’'])?"  # The "de" of "3 de março de 2024", the "d'" of "3 d'abril".
# The year of "2024 m. kovo 3 d." and of "2024年3月" is not alone.
_ALONE = r"(?!\s*[年년]|\s+(?:[^\W\d_]+\.?\s+){1,3}\d{1,2}\b)"
# "2024-03-01", "2024.03", "2024"; "Fri, 1 Mar 2024", "1-Mar-2024", "3. März 2024", "3 de março de 2024"; "March 2024",
# "March 1, 2024"; "2024年3月1日", "2024년 3월"; "1.3.2024", in which the day comes first wherever points are written;
# "2024. március 3."
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"{_YEAR}(?:(?P<between>[-/.])(?P<month>\d{{1,2}})(?:(?P=between)(?P<day>\d{{1,2}}))?|{_ALONE})(?=$|[T\s,;])",
        rf"(?:[^\W\d_]{{2,14}}[.,]?\s+)?{_DAY}[-\s.]+{_OF}{_MONTH}[-\s,]+{_OF}{_YEAR}\b",
        rf"(?:{_MONTH}\s+{_DAY},?\s+|{_MONTH.replace('month', 'alone')},?\s+{_OF}){_YEAR}\b",
        rf"{_YEAR}\s?[年년]\s?(?P<month>\d{{1,2}})\s?[月월](?:\s?(?P<day>\d{{1,2}})\s?[日일号])?",
        rf"(?P<day>\d{{1,2}})\.\s?(?P<month>\d{{1,2}})\.\s?{_YEAR}\b",
        rf"{_YEAR}\.\s+{_MONTH}\s+(?P<day>\d{{1,2}})\.",
    )
)


class DateRange(NamedTuple):
    """Days that a date covers, both ends included, in ISO 8601."""

    first: str
    last: str


def parse_date_range(text: str, *, only_english: bool = False) -> DateRange | None:
    """Return the days that a written date covers; None if it is not a date or is ambiguous.

    Args:
        text: the date.
        only_english: whether names of months are English; those of all languages take a second to load.
    """
    for form in _FORMS:
        if match := form.match(text.strip()):
            parts = match.groupdict()
            month = _parse_month(parts["month"] or parts.get("alone"), only_english=only_english)
            day = parts.get("day")
            if found := _build_range(int(parts["year"]), month, int(day) if day else None):
                return found
    return None


def normalize_date(text: str) -> str:
    """Return the first day that a written date covers, in ISO 8601; empty if it is not a date."""
    period = parse_date_range(text)
    return period.first if period else ""


def _parse_month(text: str | None, *, only_english: bool) -> int | None:
    """Return a month as a number; None if it is missing, 0 for a word that is not a month."""
    if text is None or text.isdigit():
        return int(text) if text else None
    name = text.lower()
    return _ENGLISH_MONTHS.get(name, 0) or (0 if only_english else _load_month_names().get(name, 0))


@lru_cache(maxsize=1)
def _load_month_names() -> Mapping[str, int]:
    """Return the months by their names and abbreviations in many languages, those of one number only."""
    # Imported when needed: most dates are numbers or English.
    from babel import Locale

    numbers: dict[str, set[int]] = {}
    for language in sorted(LANGUAGES):
        months = Locale(language).months
        for context in ("format", "stand-alone"):
            for width in ("wide", "abbreviated"):
                for number, name in months[context][width].items():
                    numbers.setdefault(name.lower().rstrip("."), set()).add(number)
    return {name: found.pop() for name, found in numbers.items() if len(found) == 1}


def _build_range(year: int, month: int | None, day: int | None) -> DateRange | None:
    last_month = 12 if month is None else month
    try:
        first = date(year, 1 if month is None else month, 1 if day is None else day)
        last = first.replace(month=last_month, day=day or calendar.monthrange(year, last_month)[1])
    except ValueError:
        return None
    return DateRange(first.isoformat(), last.isoformat())
