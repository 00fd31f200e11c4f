"""Tests of date parsing."""

from datetime import date, timedelta

import pytest
from babel.dates import format_date
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.text.dates import DateRange, normalize_date, parse_date_range
from tenure.algorithms.text.languages.detection import LANGUAGES


@pytest.mark.parametrize(
    ("written", "first", "last"),
    [
        ("2001-03-12", "2001-03-12", "2001-03-12"),
        ("2001-03-12T10:00:00Z", "2001-03-12", "2001-03-12"),
        (" 2001/3/2 ", "2001-03-02", "2001-03-02"),
        ("2001-02", "2001-02-01", "2001-02-28"),
        ("2004.02", "2004-02-01", "2004-02-29"),
        ("2001", "2001-01-01", "2001-12-31"),
        ("12-Mar-2001", "2001-03-12", "2001-03-12"),
        ("12 March 2001", "2001-03-12", "2001-03-12"),
        ("Mon, 12 Mar 2001 10:00:00 +0000", "2001-03-12", "2001-03-12"),
        ("March 12, 2001", "2001-03-12", "2001-03-12"),
        ("Sept. 3rd 2001", "2001-09-03", "2001-09-03"),
        ("March 2001", "2001-03-01", "2001-03-31"),
        ("december, 2001", "2001-12-01", "2001-12-31"),
        ("Sonntag, 12. März 2001", "2001-03-12", "2001-03-12"),
        ("12.03.2001", "2001-03-12", "2001-03-12"),
        ("1er août 2001", "2001-08-01", "2001-08-01"),
        ("12 de março de 2001", "2001-03-12", "2001-03-12"),
        ("12 marca 2001 r.", "2001-03-12", "2001-03-12"),
        ("2001年3月12日", "2001-03-12", "2001-03-12"),
        ("2001년 3월", "2001-03-01", "2001-03-31"),
        ("2001. március 12.", "2001-03-12", "2001-03-12"),
        ("marraskuu 2001", "2001-11-01", "2001-11-30"),
    ],
)
def test_written_dates_become_ranges(written: str, first: str, last: str) -> None:
    """Years, months and days in the usual forms become the first and the last day that they cover."""
    assert parse_date_range(written) == DateRange(first, last)
    assert normalize_date(written) == first


@pytest.mark.parametrize(
    "written",
    [
        "",
        "soon",
        "03/04/2001",
        "2001-13-01",
        "31 Feb 2001",
        "12 Foo 2001",
        "20010312",
        "0000",
        "2001-03/12",
        "12.5",
        "listopad 2001",
        "Marathon 2001",
        "13.13.2001",
        "2001 m. kovo 3 d.",
    ],
)
def test_invalid_and_ambiguous_dates_are_rejected(written: str) -> None:
    """Other text, impossible days and ambiguous dates return nothing."""
    assert parse_date_range(written) is None
    assert normalize_date(written) == ""


@given(
    st.dates(min_value=date(1000, 1, 1)), st.sampled_from(["%Y-%m-%d", "%d %B %Y", "%d-%b-%Y", "%B %d, %Y", "%Y/%m/%d"])
)
def test_unambiguous_dates_round_trip(day: date, form: str) -> None:
    """Every day in an unambiguous form is parsed as that day."""
    assert normalize_date(day.strftime(form)) == day.isoformat()


@given(st.text())
def test_date_parser_handles_any_text(text: str) -> None:
    """No text raises an exception."""
    found = parse_date_range(text)

    assert found is None or found.first <= found.last


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_a_date_of_another_language_is_right_or_rejected(language: str) -> None:
    """In no language is a date read as another one, whatever the form."""
    days = [date(2024, 1, 3) + timedelta(days=9 * n) for n in range(40)]
    written = {(day, form): format_date(day, form, locale=language) for day in days for form in ("long", "full")}

    assert {text: normalize_date(text) for (day, _), text in written.items()} == {
        text: normalize_date(text) and day.isoformat() for (day, _), text in written.items()
    }
