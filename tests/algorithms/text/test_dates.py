"""Dates as documents write them."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.text.dates import Period, iso_date, period


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
    ],
)
def test_a_written_date_stands_for_days(written: str, first: str, last: str) -> None:
    """Years, months and days in the usual ways of writing become the first and the last day they mean."""
    assert period(written) == Period(first, last)
    assert iso_date(written) == first


@pytest.mark.parametrize(
    "written",
    ["", "soon", "03/04/2001", "2001-13-01", "31 Feb 2001", "12 Foo 2001", "20010312", "0000", "2001-03/12", "12.5"],
)
def test_what_is_no_date_is_not_guessed_at(written: str) -> None:
    """Nonsense, impossible days and dates that can be read in two ways give nothing."""
    assert period(written) is None
    assert iso_date(written) == ""


@given(
    st.dates(min_value=date(1000, 1, 1)), st.sampled_from(["%Y-%m-%d", "%d %B %Y", "%d-%b-%Y", "%B %d, %Y", "%Y/%m/%d"])
)
def test_every_day_is_read_back(day: date, form: str) -> None:
    """Whatever day is written in an unambiguous way is read as that day."""
    assert iso_date(day.strftime(form)) == day.isoformat()


@given(st.text())
def test_any_text_is_answered(text: str) -> None:
    """No text breaks the reading of dates."""
    found = period(text)

    assert found is None or found.first <= found.last
